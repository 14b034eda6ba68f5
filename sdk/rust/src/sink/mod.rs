//! Sinks: take records out of Kafka.

mod batch;
mod driver;
mod rejections;

pub mod context;

pub use batch::{Payload, SinkBatch, SinkRecord, TimestampType};
pub use rejections::Rejections;

pub(crate) use batch::Schemas;
pub(crate) use driver::Driver;

use crate::config::{Config, RawConfig};
use crate::connector::Verdict;
use crate::{Result, TopicOffset, TopicPartition};

/// One task of a sink: takes batches of records and makes them durable somewhere.
///
/// Calls come one at a time, in the order `start`, `open`, then `put` and the others, `close`, `stop`.
#[allow(async_fn_in_trait)] // a component has one thread, so nobody needs these futures to be Send
pub trait SinkTask: Sized + 'static {
    /// The task's settings.
    type Config: Config;

    /// Begins.
    async fn start(config: Self::Config) -> Result<Self>;

    /// Takes these records, and answers with those it refuses. The batch may be empty: a chance to flush. After a
    /// `retriable` error the same batch comes again; any other ends the task.
    async fn put(&mut self, batch: &SinkBatch) -> Result<Rejections>;

    /// Makes what was put durable: offsets are committed next.
    async fn flush(&mut self) -> Result<()> {
        Ok(())
    }

    /// Says up to which offsets the worker may commit, out of those `offered`, which are the positions after the last
    /// `put`. By default all of them, after a [`flush`](Self::flush).
    async fn pre_commit(&mut self, offered: &[TopicOffset]) -> Result<Vec<TopicOffset>> {
        self.flush().await?;
        Ok(offered.to_vec())
    }

    /// Partitions newly assigned to this task.
    async fn open(&mut self, _partitions: &[TopicPartition]) -> Result<()> {
        Ok(())
    }

    /// Partitions taken away, after a last `pre_commit`.
    async fn close(&mut self, _partitions: &[TopicPartition]) -> Result<()> {
        Ok(())
    }

    /// Ends the task.
    async fn stop(&mut self) -> Result<()> {
        Ok(())
    }
}

/// A sink connector: plans the work of its tasks.
///
/// Needed only by connectors whose tasks differ, or that have a say about offsets; a task alone can be exported as well.
#[allow(async_fn_in_trait)]
pub trait SinkConnector: Sized + 'static {
    /// The settings that users give.
    type Config: Config;

    /// Begins.
    async fn start(config: Self::Config) -> Result<Self>;

    /// What each task gets, laid over the connector's own configuration. By default `max_tasks` equal ones.
    async fn task_configs(&mut self, max_tasks: u32) -> Result<Vec<RawConfig>> {
        Ok(vec![RawConfig::new(); max_tasks as usize])
    }

    /// Finds fault with a configuration beyond what the settings' own attributes say.
    async fn validate(_config: &RawConfig, _verdict: &mut Verdict) -> Result<()> {
        Ok(())
    }

    /// Somebody is altering the consumer's offsets while the connector is stopped; an offset of none deletes one. True:
    /// fine. False: no opinion. An error refuses it.
    async fn alter_offsets(_config: &RawConfig, _offsets: &[(TopicPartition, Option<i64>)]) -> Result<bool> {
        Ok(false)
    }

    /// Ends the connector.
    async fn stop(&mut self) -> Result<()> {
        Ok(())
    }
}

/// The connector of a sink that is only a task: as many as allowed, with the connector's own configuration.
#[derive(Debug)]
pub struct EqualTasks<T>(std::marker::PhantomData<T>);

impl<T: SinkTask> SinkConnector for EqualTasks<T> {
    type Config = T::Config;

    async fn start(_config: Self::Config) -> Result<Self> {
        Ok(Self(std::marker::PhantomData))
    }
}
