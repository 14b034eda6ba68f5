//! Sources: bring records into Kafka.

mod batch;
pub(crate) mod columns;
mod driver;
mod record;
mod wait;

pub use batch::Batch;
pub use record::Record;
pub use wait::Wait;

pub(crate) use driver::Driver;

use crate::config::{Config, RawConfig};
use crate::connector::Verdict;
use crate::offsets::{JsonMap, Offsets};
use crate::{Result, host};

/// One task of a source: reads its share and hands it over in batches.
///
/// Calls come one at a time, in the order `start`, then `poll` and the others, then `stop`. Whatever the task has to
/// know after a restart it puts into the offsets of its records.
#[allow(async_fn_in_trait)] // a component has one thread, so nobody needs these futures to be Send
pub trait SourceTask: Sized + 'static {
    /// The task's settings.
    type Config: Config;

    /// True if [`committed`](Self::committed) wants to be called.
    const WANTS_DELIVERIES: bool = false;

    /// Begins where the committed offsets say.
    async fn start(config: Self::Config, offsets: &Offsets) -> Result<Self>;

    /// Pushes the next records into `batch`, while it [has room](Batch::has_room). With nothing to hand over, waits by
    /// `wait` and returns. A `retriable` error is tried again by the worker; any other ends the task.
    async fn poll(&mut self, batch: &mut Batch, wait: Wait) -> Result<()>;

    /// Kafka has taken these records.
    async fn committed(&mut self, _deliveries: &[Delivery]) -> Result<()> {
        Ok(())
    }

    /// Offsets up to some point were committed.
    async fn offsets_committed(&mut self) -> Result<()> {
        Ok(())
    }

    /// Ends the task. A `poll` that waited has returned before.
    async fn stop(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A source connector: plans the work of its tasks.
///
/// Needed only by connectors that split their work, or that have a say about offsets or exactly-once; a task alone can be
/// exported as well and is then its connector's only one.
#[allow(async_fn_in_trait)]
pub trait SourceConnector: Sized + 'static {
    /// The settings that users give.
    type Config: Config;

    /// Begins; the place to look at what there is to read.
    async fn start(config: Self::Config) -> Result<Self>;

    /// What each task gets: at most `max_tasks` configurations, each laid over the connector's own.
    async fn task_configs(&mut self, max_tasks: u32) -> Result<Vec<RawConfig>>;

    /// Finds fault with a configuration beyond what the settings' own attributes say.
    async fn validate(_config: &RawConfig, _verdict: &mut Verdict) -> Result<()> {
        Ok(())
    }

    /// Whether records can be written exactly once under this configuration.
    fn exactly_once(_config: &RawConfig) -> ExactlyOnce {
        ExactlyOnce::Unknown
    }

    /// Whether tasks set [transaction boundaries](transaction) of their own under this configuration.
    fn sets_transaction_boundaries(_config: &RawConfig) -> bool {
        false
    }

    /// Somebody is altering offsets while the connector is stopped; an offset of none deletes one. True: fine. False: no
    /// opinion. An error refuses it.
    async fn alter_offsets(_config: &RawConfig, _offsets: &[(JsonMap, JsonMap)]) -> Result<bool> {
        Ok(false)
    }

    /// Ends the connector.
    async fn stop(&mut self) -> Result<()> {
        Ok(())
    }
}

/// Whether a source can write records exactly once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExactlyOnce {
    /// Its offsets say exactly where to go on.
    Supported,
    /// A restart may repeat or lose records.
    Unsupported,
    /// It doesn't say.
    Unknown,
}

/// What became of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Number of its batch, counting polls that returned records from 0.
    pub batch: u64,
    /// Its place in the batch.
    pub index: u32,
    /// Where it was written; none if it was filtered or skipped.
    pub written: Option<Written>,
}

/// A record's place in Kafka.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub struct Written {
    pub topic: String,
    pub partition: i32,
    pub offset: i64,
    pub timestamp: i64,
}

/// Transaction boundaries, for `transaction.boundary=connector`. They apply to the batch of the running `poll`.
pub mod transaction {
    use super::host;

    /// False: boundaries aren't the connector's business, and the other calls do nothing.
    pub fn is_enabled() -> bool {
        host::transactions_enabled()
    }

    /// Commits after the record at this place of the batch, or after the whole batch.
    pub fn commit(after: Option<u32>) {
        host::commit_transaction(after);
    }

    /// Aborts everything since the last boundary, up to and with the record at this place, or the whole batch.
    pub fn abort(up_to: Option<u32>) {
        host::abort_transaction(up_to);
    }
}

/// The connector of a source that is only a task: one task with the connector's own configuration.
#[derive(Debug)]
pub struct OneTask<T>(std::marker::PhantomData<T>);

impl<T: SourceTask> SourceConnector for OneTask<T> {
    type Config = T::Config;

    async fn start(_config: Self::Config) -> Result<Self> {
        Ok(Self(std::marker::PhantomData))
    }

    async fn task_configs(&mut self, _max_tasks: u32) -> Result<Vec<RawConfig>> {
        Ok(vec![RawConfig::new()])
    }
}
