//! Kafka, as a task sees it.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bytes::Bytes;
use tokio::sync::oneshot;

/// A record on its way to Kafka, borrowed from the batch it came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing<'a> {
    pub topic: &'a str,
    /// None: the producer's partitioner decides.
    pub partition: Option<i32>,
    pub timestamp: Option<i64>,
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub headers: &'a [(&'a str, Option<&'a [u8]>)],
}

/// Where a record was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    pub topic: Arc<str>,
    pub partition: i32,
    pub offset: i64,
    pub timestamp: i64,
}

/// A task's way to Kafka. Clients may be shared between tasks; the session is the task's own.
pub trait Producer: Send + Sync + 'static {
    /// Copies the record into the client's queue. Never waits. `sequence` comes back with the
    /// [`Delivery`]; sequences of one session rise by one.
    fn send(&self, record: &Outgoing<'_>, sequence: u64) -> Result<Sent, ProduceError>;
}

/// What became of [`Producer::send`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sent {
    Queued,
    /// No room: try again after a delivery, or a little later.
    Full,
}

/// Told by the client's own thread what became of each record. Must be quick.
pub trait Delivery: Send + Sync + 'static {
    fn delivered(&self, sequence: u64, outcome: Result<Written, ProduceError>);
    /// Whether `Written` is looked at; without, clients may leave its topic empty and save an allocation.
    fn wants_written(&self) -> bool;
}

/// A record was not written, in spite of the client's own retries.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProduceError {
    /// This record is at fault (too large, invalid), others are not.
    #[error("{0}")]
    Record(String),
    /// The cause may pass.
    #[error("{0}")]
    Retriable(String),
    /// The client is of no more use, or not allowed to write.
    #[error("{0}")]
    Fatal(String),
}

/// A sink task's member of its consumer group. Membership doesn't depend on how often it is asked:
/// heartbeats go on while a guest takes its time.
pub trait Consumer: Send + 'static {
    /// The next thing that happened, or `Idle` after `max_wait`. Safe to drop.
    fn next(&mut self, limits: FetchLimits) -> impl Future<Output = Result<ConsumerEvent, ConsumeError>> + Send;
    fn commit(&mut self, offsets: Vec<TopicOffset>) -> impl Future<Output = Result<(), ConsumeError>> + Send;
    fn seek(&mut self, offsets: &[TopicOffset]) -> impl Future<Output = Result<(), ConsumeError>> + Send;
    fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), ConsumeError>;
    fn resume(&mut self, partitions: &[TopicPartition]) -> Result<(), ConsumeError>;
    /// Leaves the group.
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// Bounds of one fetch.
#[derive(Clone, Copy, Debug)]
pub struct FetchLimits {
    pub max_records: usize,
    pub max_bytes: usize,
    pub max_wait: Duration,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "one for each fetch, mostly of the large kind")]
pub enum ConsumerEvent {
    Records(Consumed),
    Assigned(Vec<TopicPartition>),
    Revoked(Revocation),
    Idle,
}

/// Partitions on their way to another member. Dropping it lets them go; until then (within the
/// client's time-out) offsets may still be committed.
#[derive(Debug)]
pub struct Revocation {
    pub partitions: Vec<TopicPartition>,
    /// Already gone: nothing can be committed any more.
    pub lost: bool,
    /// Closed when this is dropped.
    pub release: Option<oneshot::Sender<()>>,
}

/// Records as they came, by column: `data` holds key, value and header values of one record after the
/// other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Consumed {
    pub topics: Vec<Arc<str>>,
    /// Index into `topics`.
    pub topic: Vec<u32>,
    pub partition: Vec<i32>,
    pub offset: Vec<i64>,
    /// [`crate::batch::NO_TIMESTAMP`] for none.
    pub timestamp: Vec<i64>,
    /// 0 none, 1 create time, 2 log append time.
    pub timestamp_type: Vec<u8>,
    /// -1 for null.
    pub key_len: Vec<i32>,
    /// -1 for null.
    pub value_len: Vec<i32>,
    pub header_count: Vec<u32>,
    pub header_keys: Vec<Arc<str>>,
    pub header_key: Vec<u32>,
    /// -1 for null.
    pub header_len: Vec<i32>,
    pub data: Bytes,
}

impl Consumed {
    pub fn count(&self) -> usize {
        self.offset.len()
    }
}

/// The consumer cannot go on, or a request of it failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConsumeError {
    /// The cause may pass: the broker is away, a rebalance is under way.
    #[error("{0}")]
    Retriable(String),
    #[error("{0}")]
    Fatal(String),
}
