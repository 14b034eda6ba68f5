//! The herder: decides what this worker runs and answers REST requests.
//!
//! Start at [`Herder::handle`]. **Invariant:** this crate has no async, no clock, no socket and no thread;
//! time arrives as an argument, randomness as an event. It depends on `bulkhead-model` only.
//!
//! A standalone worker runs this same herder: its logs are in memory, everything is assigned to it, and
//! requests are answered once their effect is there ([`Mode::Standalone`]).

pub mod api;
pub mod validate;
mod view;

use api::{Effect, Event, Millis};
use bulkhead_model::WorkerId;
pub use view::ClusterView;

/// How this worker runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Alone; logs in memory.
    Standalone,
}

/// What the herder must know of the worker's configuration.
#[derive(Clone, Debug)]
pub struct Settings {
    pub mode: Mode,
    /// Advertised `host:port`.
    pub worker: WorkerId,
    /// `key.converter`, `value.converter`, `header.converter`: the defaults validation shows.
    pub key_converter: String,
    pub value_converter: String,
    pub header_converter: String,
    /// `topic.tracking.enable`: note which topics connectors use (KIP-558).
    pub topic_tracking: bool,
}

/// See the crate's documentation.
#[derive(Debug)]
pub struct Herder {
    settings: Settings,
}

impl Herder {
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// Takes one event, changes the state and says what is to be done, in order.
    pub fn handle(&mut self, _now: Millis, _event: Event) -> Vec<Effect> {
        Vec::new()
    }

    /// When [`Event::Tick`] is due, if nothing else happens before.
    pub fn next_deadline(&self) -> Option<Millis> {
        None
    }

    /// What the herder is busy with, for answers like "timed out while …".
    pub fn stage(&self) -> String {
        String::new()
    }

    /// What the REST resources that need no turn of the herder answer from.
    pub fn view(&self) -> std::sync::Arc<ClusterView> {
        std::sync::Arc::new(ClusterView::default())
    }
}
