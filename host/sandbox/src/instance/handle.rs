//! The way to an instance: calls go into its mailbox, answers come back.

use std::sync::Arc;
use std::time::Duration;

use bulkhead_pipeline::ports::{Crash, PluginError};
use futures::future::{self, BoxFuture};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::DropGuard;
use wasmtime::component::Accessor;

use super::shared::{Ending, Shared};
use super::watch::Op;
use crate::tenant::Tenant;
use crate::v0_1::Exports;

/// A future that borrows the store it runs in.
pub(crate) type InStore<'a, R> = BoxFuture<'a, wasmtime::Result<R>>;

/// What a call does inside the store; its answer has its own way back.
pub(super) type Job = Box<dyn for<'a> FnOnce(&'a Accessor<Tenant>, &'a Exports) -> InStore<'a, ()> + Send>;

/// How long a call may take, in all and computing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
}

pub(super) struct Call {
    pub(super) op: Op,
    pub(super) budget: Budget,
    pub(super) job: Job,
}

pub(super) enum Message {
    Call(Call),
    Stop(oneshot::Sender<Result<(), PluginError>>),
}

/// Dropping it drops the instance.
pub(crate) struct Handle {
    inbox: mpsc::Sender<Message>,
    shared: Arc<Shared>,
    stop_grace: Duration,
    _abandon: DropGuard,
}

impl Handle {
    pub(super) fn new(inbox: mpsc::Sender<Message>, shared: Arc<Shared>, stop_grace: Duration) -> Self {
        let abandon = shared.watch.abandoned.clone().drop_guard();
        Self { inbox, shared, stop_grace, _abandon: abandon }
    }

    pub(crate) fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Has the job done in the instance and waits for its answer.
    pub(crate) async fn call<R: Send + 'static>(
        &self,
        op: Op,
        budget: Budget,
        job: impl for<'a> FnOnce(&'a Accessor<Tenant>, &'a Exports) -> InStore<'a, R> + Send + 'static,
    ) -> Result<R, PluginError> {
        let (answer, reply) = oneshot::channel();
        let job: Job = Box::new(move |accessor, exports| {
            let run = job(accessor, exports);
            Box::pin(async move {
                let _caller_gone = answer.send(run.await?);
                Ok(())
            })
        });
        let call = Message::Call(Call { op, budget, job });
        if self.inbox.send(call).await.is_err() {
            return Err(self.gone().await);
        }
        match reply.await {
            Ok(answer) => Ok(answer),
            Err(_dropped) => Err(self.gone().await),
        }
    }

    /// Ends the instance: politely within the grace time, by dropping its store after it.
    pub(crate) async fn stop(&self) -> Result<(), PluginError> {
        if !self.shared.stop.is_cancelled() {
            self.shared.watch.stop_within(self.stop_grace);
            self.shared.stop.cancel();
        }
        let (answer, reply) = oneshot::channel();
        let said = match self.inbox.send(Message::Stop(answer)).await {
            Ok(()) => reply.await.ok(),
            Err(_gone) => None,
        };
        // Only now is the store dropped and its memory given back.
        match (said, self.shared.ended().await) {
            (Some(said), Ending::Stopped) => said,
            (None, Ending::Stopped) => Ok(()),
            (_, Ending::Crashed(crash)) => Err(PluginError::Crashed(crash)),
        }
    }

    /// Why there is no instance any more.
    async fn gone(&self) -> PluginError {
        PluginError::Crashed(match self.shared.ended().await {
            Ending::Crashed(crash) => crash,
            Ending::Stopped => {
                let cause = format!("{} was stopped", self.shared.name);
                Crash { trace: cause.clone(), cause }
            }
        })
    }

    /// See [`bulkhead_pipeline::ports::Connector::wants_reconfiguration`].
    pub(crate) async fn wants_reconfiguration(&self) -> Result<(), PluginError> {
        tokio::select! {
            () = self.shared.reconfigure.notified() => match self.shared.raised.get() {
                Some(error) => Err(error.clone()),
                None => Ok(()),
            },
            ending = self.shared.ended() => match ending {
                Ending::Crashed(crash) => Err(PluginError::Crashed(crash)),
                Ending::Stopped => future::pending().await,
            },
        }
    }
}
