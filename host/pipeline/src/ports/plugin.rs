//! Instances of plugins.

use std::fmt;
use std::future::Future;

use bulkhead_model::RawConfig;
use bulkhead_model::config::ConfigValue;
use bulkhead_model::offset::{TopicOffset, TopicPartition};
use serde_json::{Map, Value};

use super::kafka::Written;
use crate::batch::{SinkBatch, SourceBatch};

/// Why a call into a plugin failed, and what is to be done about it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PluginError {
    /// The cause may pass: `poll` and `put` are tried again.
    #[error("{0}")]
    Retriable(ErrorInfo),
    /// The instance cannot go on.
    #[error("{0}")]
    Failed(ErrorInfo),
    /// The configuration is wrong.
    #[error("{}", match key { Some(key) => format!("configuration `{key}`: {message}"), None => message.clone() })]
    Config { key: Option<String>, message: String },
    /// One record is bad, not the task.
    #[error("{0}")]
    Data(ErrorInfo),
    /// The sandbox ended the instance; it is gone.
    #[error("{0}")]
    Crashed(Crash),
}

/// What a plugin says of an error of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ErrorInfo {
    /// One line for people.
    pub message: String,
    /// What caused it, outermost first.
    pub causes: Vec<String>,
}

/// The end of an instance that was not asked for: trap, panic, exit, a limit, or dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Crash {
    /// One line, e.g. `task orders-0 used more than 67108864 bytes of memory (asked for 71303168)`.
    pub cause: String,
    /// The cause, then the panic's text, guest frames and last log lines: what the status shows.
    pub trace: String,
}

/// Bounds for one `poll`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PollLimits {
    /// How long the task may wait for records, in milliseconds.
    pub max_wait_ms: u32,
    pub max_records: u32,
    /// A batch over this many bytes fails the task.
    pub max_bytes: u32,
}

/// A source partition, and the offset it is to have; none forgets the partition.
pub type AlteredOffset = (Map<String, Value>, Option<Map<String, Value>>);

/// A connector: plans the work.
pub trait Connector: Send + Sync + 'static {
    /// That of the plugin it is an instance of, as statuses show it (KIP-891).
    fn version(&self) -> Option<&str>;
    /// Verdicts on a configuration; may be called without `start` before.
    fn validate(&self, config: &RawConfig) -> impl Future<Output = Result<Vec<ConfigValue>, PluginError>> + Send;
    fn start(&self, config: &RawConfig) -> impl Future<Output = Result<(), PluginError>> + Send;
    /// At most `max_tasks` configurations.
    fn task_configs(&self, max_tasks: u32) -> impl Future<Output = Result<Vec<RawConfig>, PluginError>> + Send;
    fn stop(&self) -> impl Future<Output = Result<(), PluginError>> + Send;
    /// Source only (KIP-875). True: the connector agrees; false: it has no opinion.
    fn alter_source_offsets(
        &self,
        config: &RawConfig,
        offsets: &[AlteredOffset],
    ) -> impl Future<Output = Result<bool, PluginError>> + Send;
    /// Sink only (KIP-875).
    fn alter_sink_offsets(
        &self,
        config: &RawConfig,
        offsets: &[(TopicPartition, Option<i64>)],
    ) -> impl Future<Output = Result<bool, PluginError>> + Send;
    /// Resolves when the connector asks for its tasks to be configured anew (merged), or has ended: then
    /// with the error. Never resolves otherwise; safe to drop.
    fn wants_reconfiguration(&self) -> impl Future<Output = Result<(), PluginError>> + Send;
}

/// One task of a source.
pub trait SourceTask: Send + Sync + 'static {
    /// As [`Connector::version`].
    fn version(&self) -> Option<&str>;
    fn start(&self, config: &RawConfig) -> impl Future<Output = Result<(), PluginError>> + Send;
    /// The next records; an empty batch if there were none within the wait. The batch has been checked.
    fn poll(&self, limits: PollLimits) -> impl Future<Output = Result<SourceBatch, PluginError>> + Send;
    /// Whether [`Self::committed`] is to be called at all; known after `start`.
    fn wants_deliveries(&self) -> bool;
    /// What became of records, in order of acknowledgement.
    fn committed(&self, deliveries: Vec<SourceDelivery>) -> impl Future<Output = Result<(), PluginError>> + Send;
    /// Source offsets up to some point were committed.
    fn offsets_committed(&self) -> impl Future<Output = Result<(), PluginError>> + Send;
    /// Ends the task: lets a waiting `poll` return, then calls the guest's `stop`, then drops the
    /// instance; past the grace time it is dropped at once. Afterwards every call answers `Crashed`.
    fn stop(&self) -> impl Future<Output = Result<(), PluginError>> + Send;
}

/// One task of a sink. Calls come one at a time.
pub trait SinkTask: Send + Sync + 'static {
    /// As [`Connector::version`].
    fn version(&self) -> Option<&str>;
    fn start(&self, config: &RawConfig) -> impl Future<Output = Result<(), PluginError>> + Send;
    fn open(&self, partitions: &[TopicPartition]) -> impl Future<Output = Result<(), PluginError>> + Send;
    fn close(&self, partitions: &[TopicPartition]) -> impl Future<Output = Result<(), PluginError>> + Send;
    /// Hands over records; answers with those refused. The batch may be empty.
    fn put(&self, batch: &SinkBatch) -> impl Future<Output = Result<Vec<Rejection>, PluginError>> + Send;
    /// Makes records durable and says what may be committed.
    fn pre_commit(&self, offered: &[TopicOffset])
    -> impl Future<Output = Result<Vec<TopicOffset>, PluginError>> + Send;
    /// What the guest asked of the worker since the last look (`sink-context`).
    fn take_control(&self) -> SinkControl;
    fn stop(&self) -> impl Future<Output = Result<(), PluginError>> + Send;
}

/// A record of the batch that the sink refuses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Place in the batch.
    pub index: u32,
    pub message: String,
}

/// Wishes of a sink task, applied after the call in which they were made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SinkControl {
    pub seek: Vec<TopicOffset>,
    pub pause: Vec<TopicPartition>,
    pub resume: Vec<TopicPartition>,
    /// Milliseconds to wait before a retriable `put` is tried again.
    pub retry_after_ms: Option<u32>,
    pub commit_soon: bool,
    /// Records of earlier batches that were found bad after their `put`: batch number, place, reason.
    pub reported: Vec<(u64, Rejection)>,
}

/// What became of a record of an earlier poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceDelivery {
    /// Number of the poll, counting those that returned records from 0.
    pub batch: u64,
    pub index: u32,
    /// None if it was filtered or skipped.
    pub written: Option<Written>,
}

impl fmt::Display for ErrorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        for cause in &self.causes {
            write!(f, "\ncaused by: {cause}")?;
        }
        Ok(())
    }
}

impl fmt::Display for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.trace)
    }
}
