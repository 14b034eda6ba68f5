//! Runs connectors and tasks: takes [`Command`]s of the herder, emits [`Event`]s, decides nothing about
//! what should run.
//!
//! Start at [`Worker::spawn`]. Every connector and every task is one tokio task (`connector`, `task`)
//! that holds the handle of one sandbox; whoever doesn't stop in time is aborted, and its sandbox is
//! dropped with it. **Invariant:** generic over the ports of `bulkhead-pipeline`; neither wasmtime nor
//! librdkafka nor the herder is known here.
//!
//! Configurations come and go with references to secrets (`providers`); what stands for them is put in
//! just before an instance gets to see it, and never leaves this crate in a text for people.

mod actor;
mod connector;
mod missing;
mod offsets;
pub mod properties;
pub mod providers;
mod resolve;
mod running;
mod secrets;
mod settings;
mod task;
mod validate;

use std::sync::Arc;

use bulkhead_model::work::{Command, Event};
use bulkhead_pipeline::ports::{Clients, OffsetStore, Plugins};
use tokio::sync::mpsc;

pub use providers::Providers;
pub use secrets::Secrets;
pub use settings::{Settings, SettingsError};

/// What all instances share.
pub(crate) struct Shared<S, C> {
    pub plugins: Arc<S>,
    pub clients: Arc<C>,
    pub offsets: Arc<dyn OffsetStore>,
    pub settings: Settings,
    pub events: mpsc::UnboundedSender<Event>,
}

/// The way to a worker that runs. When it is dropped, all instances are stopped.
#[derive(Clone, Debug)]
pub struct Worker {
    commands: mpsc::UnboundedSender<Command>,
}

impl Worker {
    /// Starts the worker on the current runtime. The receiver closes when the worker has ended, after
    /// all its instances have.
    pub fn spawn<S: Plugins, C: Clients>(
        plugins: Arc<S>,
        clients: Arc<C>,
        offsets: Arc<dyn OffsetStore>,
        settings: Settings,
    ) -> (Self, mpsc::UnboundedReceiver<Event>) {
        let (commands, inbox) = mpsc::unbounded_channel();
        let (events, outbox) = mpsc::unbounded_channel();
        let shared = Arc::new(Shared { plugins, clients, offsets, settings, events });
        tokio::spawn(actor::Actor::new(shared).run(inbox));
        (Self { commands }, outbox)
    }

    /// Hands over a command. Its outcome comes as an event.
    pub fn send(&self, command: Command) {
        // A worker that has ended has nothing left to run.
        let _ = self.commands.send(command);
    }
}
