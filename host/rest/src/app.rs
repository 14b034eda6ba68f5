//! What every resource has at hand.

use std::sync::Arc;
use std::time::Duration;

use bulkhead_herder::ClusterView;
use bulkhead_herder::api::{Refusal, Reply, Request};
use tokio::time::timeout;

use crate::error::Error;
use crate::forward::Client;
use crate::metrics::Metrics;
use crate::ports::{BoxFuture, HerderHandle, Loggers, PluginFiles, SandboxView, ServerInfo};
use crate::router::Interface;
use crate::settings::TopicTracking;

/// The state of the router; cheap to clone.
#[derive(Clone)]
pub(crate) struct App(Arc<Interface>);

impl App {
    pub(crate) fn new(interface: &Interface) -> Self {
        Self(Arc::new(interface.clone()))
    }

    /// Asks the herder, and waits as long as a request may take.
    pub(crate) async fn ask(&self, request: Request) -> Result<Reply, Error> {
        let answer = timeout(self.0.settings.request_timeout, self.0.herder.request(request)).await;
        Ok(answer.map_err(|_| Error::TimedOut { stage: self.0.herder.stage() })??)
    }

    /// Asks for something that has no result but its success.
    pub(crate) async fn tell(&self, request: Request) -> Result<(), Error> {
        match self.ask(request).await? {
            Reply::Done => Ok(()),
            _ => Err(Error::unexpected()),
        }
    }

    /// Whether the herder takes its turn in time; if not, what keeps it.
    pub(crate) async fn ping(&self) -> Result<(), Unresponsive> {
        match timeout(self.0.settings.health_timeout, self.0.herder.request(Request::Ping)).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(refusal)) => Err(self.unresponsive(refusal.to_string())),
            Err(_) => Err(self.unresponsive(self.0.herder.stage())),
        }
    }

    fn unresponsive(&self, reason: String) -> Unresponsive {
        Unresponsive { starting: self.0.herder.is_starting(), reason }
    }

    pub(crate) fn view(&self) -> Arc<ClusterView> {
        self.0.herder.view()
    }

    pub(crate) fn loggers(&self) -> &dyn Loggers {
        &*self.0.loggers
    }

    pub(crate) fn server(&self) -> &ServerInfo {
        &self.0.server
    }

    /// To other workers.
    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    pub(crate) fn sandbox(&self) -> &Arc<dyn SandboxView> {
        &self.0.sandbox
    }

    pub(crate) fn plugin_files(&self) -> &dyn PluginFiles {
        &*self.0.plugin_files
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.0.metrics
    }

    pub(crate) fn request_timeout(&self) -> Duration {
        self.0.settings.request_timeout
    }

    pub(crate) fn topic_tracking(&self) -> TopicTracking {
        self.0.settings.topic_tracking
    }
}

/// The herder did not answer a ping.
pub(crate) struct Unresponsive {
    pub(crate) starting: bool,
    pub(crate) reason: String,
}

/// [`HerderHandle`] as an object, so that handlers need no type parameter.
pub(crate) trait Herder: Send + Sync {
    fn request(&self, request: Request) -> BoxFuture<'_, Result<Reply, Refusal>>;
    fn view(&self) -> Arc<ClusterView>;
    fn stage(&self) -> String;
    fn is_starting(&self) -> bool;
}

impl<H: HerderHandle> Herder for H {
    fn request(&self, request: Request) -> BoxFuture<'_, Result<Reply, Refusal>> {
        Box::pin(HerderHandle::request(self, request))
    }

    fn view(&self) -> Arc<ClusterView> {
        HerderHandle::view(self)
    }

    fn stage(&self) -> String {
        HerderHandle::stage(self)
    }

    fn is_starting(&self) -> bool {
        HerderHandle::is_starting(self)
    }
}
