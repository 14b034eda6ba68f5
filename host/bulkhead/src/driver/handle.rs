//! The way to the herder, for REST.

use std::sync::Arc;

use bulkhead_herder::ClusterView;
use bulkhead_herder::api::{Refusal, Reply, Request};
use bulkhead_rest::HerderHandle;
use tokio::sync::{mpsc, oneshot, watch};

/// Where a reply goes.
pub(super) type Answer = oneshot::Sender<Result<Reply, Refusal>>;

/// The way to the herder.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(super) inbox: mpsc::Sender<(Request, Answer)>,
    pub(super) published: watch::Receiver<Published>,
}

/// What others may see of the herder between two steps.
#[derive(Clone, Debug)]
pub(super) struct Published {
    pub(super) view: Arc<ClusterView>,
    pub(super) stage: String,
    pub(super) starting: bool,
}

/// See [`super::Driver::start_signal`].
#[derive(Debug)]
pub struct StartSignal(pub(super) watch::Sender<Published>);

impl StartSignal {
    /// From now on `/health` takes the worker for started.
    pub fn up(self) {
        self.0.send_modify(|published| published.starting = false);
    }
}

/// What is said to requests that came too late.
pub(super) fn stopping() -> Refusal {
    Refusal::Failed("the worker is stopping".to_owned())
}

impl Handle {
    /// Waits until the herder's view is such. Never comes back if it doesn't become so and the driver is
    /// gone.
    pub async fn wait_for(&self, mut condition: impl FnMut(&ClusterView) -> bool) {
        let mut published = self.published.clone();
        if published.wait_for(|published| condition(&published.view)).await.is_err() {
            std::future::pending().await
        }
    }
}

impl HerderHandle for Handle {
    async fn request(&self, request: Request) -> Result<Reply, Refusal> {
        let (answer, reply) = oneshot::channel();
        self.inbox.send((request, answer)).await.map_err(|_| stopping())?;
        reply.await.unwrap_or_else(|_| Err(stopping()))
    }

    fn view(&self) -> Arc<ClusterView> {
        self.published.borrow().view.clone()
    }

    fn stage(&self) -> String {
        self.published.borrow().stage.clone()
    }

    fn is_starting(&self) -> bool {
        self.published.borrow().starting
    }
}
