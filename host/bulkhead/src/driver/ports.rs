//! What the driver needs of the outside: logs, the group of workers, the other workers. Real ones are in
//! [`crate::distributed`], those of a standalone worker in [`super::memory`], doubles in tests.

use std::fmt;
use std::time::Duration;

use bulkhead_herder::api::{ConfigRecord, Event, Signature, StatusRecord, Token};
use bulkhead_model::ConnectorName;
use tokio::sync::mpsc;

/// A log that the herder appends to and is told of.
///
/// No method waits. What has happened already is returned; everything else comes later as
/// [`News::Event`].
pub trait Log<R>: Send {
    /// Writes records in their order. [`Event::Appended`] follows, and the records come back.
    fn append(&mut self, token: Token, records: Vec<R>) -> Vec<Event>;
    /// [`Event::ReadToEnd`] follows, after all records that are in the log now.
    fn read_to_end(&mut self, token: Token) -> Vec<Event>;
}

/// The config log as a leader writes to it (KIP-618): whoever claimed it last can. No method waits.
pub trait LeaderLog: Send {
    /// [`Event::LogClaimed`] follows.
    fn claim(&mut self, token: Token);
    /// Writes all records or none. [`Event::AppendedAsLeader`] follows, and the records come back by the log.
    fn append(&mut self, token: Token, records: Vec<ConfigRecord>);
    /// Gives the claim up.
    fn forget(&mut self);
}

/// This worker's membership of its group; what becomes of it comes as [`Event::Group`]. No method waits.
pub trait Group: Send {
    fn join(&mut self, protocols: Vec<(&'static str, Vec<u8>)>);
    fn assign(&mut self, generation: i32, assignments: Vec<(String, Vec<u8>)>);
    fn leave(&mut self, reason: String);
    /// A sign of life of the herder: without it the membership is given up.
    fn alive(&mut self);
}

/// Other workers, by their REST interface. [`Event::Forwarded`] follows.
pub trait Peers: Send {
    fn forward_tasks(&mut self, token: Token, tasks: ForwardedTasks);
}

/// What is sent to the leader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardedTasks {
    /// The leader's URL, ending in a slash.
    pub leader: String,
    pub connector: ConnectorName,
    pub body: Vec<u8>,
    pub signature: Option<Signature>,
}

/// What comes from outside.
#[derive(Debug)]
pub enum News {
    Event(Event),
    /// The worker can't go on.
    Fatal(Fatal),
}

/// Why the worker can't go on, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fatal(pub String);

/// What lies around the worker.
pub struct Outside {
    pub config: Box<dyn Log<ConfigRecord>>,
    pub status: Box<dyn Log<StatusRecord>>,
    /// None for a standalone worker.
    pub cluster: Option<Cluster>,
    pub news: mpsc::Receiver<News>,
}

/// What there is beside logs if a worker isn't alone.
pub struct Cluster {
    pub group: Box<dyn Group>,
    pub peers: Box<dyn Peers>,
    /// None if leaders write to the config log as all others do.
    pub leader_log: Option<Box<dyn LeaderLog>>,
    /// How long the herder may take to stop everything and leave.
    pub farewell: Duration,
}

impl fmt::Debug for Outside {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Outside({})", if self.cluster.is_some() { "a cluster" } else { "nothing" })
    }
}
