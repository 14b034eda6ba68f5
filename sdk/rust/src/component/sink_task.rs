//! `sink-task`: one instance runs a task of a sink.

use super::slot::{Slot, end, lend};
use super::{Component, Exports, find};
use crate::bindings::base::bulkhead::connect::types::{Config, Error as WitError, TopicOffset, TopicPartition};
use crate::bindings::sink::exports::bulkhead::connect::sink_task as wit;
use crate::sink::{Driver, Rejections};
use crate::{Result, logging};

thread_local! {
    static TASK: Slot<Driver> = const { Slot::new() };
}

impl<C: Component> wit::Guest for Exports<C> {
    async fn start(plugin: String, config: Config) -> Result<(), WitError> {
        logging::init();
        let task = find::<C>(&plugin)?.start_sink(config.into_iter().collect()).await?;
        TASK.with(|slot| slot.put(task));
        Ok(())
    }

    async fn open(partitions: Vec<TopicPartition>) -> Result<(), WitError> {
        Ok(lend(&TASK, async |task| task.open(&partitions).await).await?)
    }

    async fn close(partitions: Vec<TopicPartition>) -> Result<(), WitError> {
        Ok(lend(&TASK, async |task| task.close(&partitions).await).await?)
    }

    async fn put(batch: wit::SinkBatch) -> Result<Vec<wit::Rejection>, WitError> {
        let rejections = lend(&TASK, async |task| task.put(batch).await).await;
        Ok(rejections.map(Rejections::into_wit)?)
    }

    async fn pre_commit(offered: Vec<TopicOffset>) -> Result<Vec<TopicOffset>, WitError> {
        Ok(lend(&TASK, async |task| task.pre_commit(&offered).await).await?)
    }

    async fn stop() -> Result<(), WitError> {
        Ok(end(&TASK, async |task| task.stop().await).await?)
    }
}
