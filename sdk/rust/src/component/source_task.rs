//! `source-task`: one instance runs a task of a source.

use std::cell::Cell;

use super::slot::{Slot, end, lend};
use super::{Component, Exports, find};
use crate::bindings::base::bulkhead::connect::types::{Config, Error as WitError};
use crate::bindings::source::exports::bulkhead::connect::source_task as wit;
use crate::source::{Delivery, Driver, Written};
use crate::{Result, logging};

thread_local! {
    static TASK: Slot<Driver> = const { Slot::new() };
    /// Known while a `poll` has the task, too.
    static WANTS_DELIVERIES: Cell<bool> = const { Cell::new(false) };
}

impl<C: Component> wit::Guest for Exports<C> {
    async fn start(plugin: String, config: Config) -> Result<(), WitError> {
        logging::init();
        let task = find::<C>(&plugin)?.start_source(config.into_iter().collect()).await?;
        WANTS_DELIVERIES.set(task.wants_deliveries());
        TASK.with(|slot| slot.put(task));
        Ok(())
    }

    async fn poll(max_wait: u32, max_records: u32, max_bytes: u32) -> Result<wit::SourceBatch, WitError> {
        Ok(lend(&TASK, async |task| task.poll(max_wait, max_records, max_bytes).await).await?)
    }

    async fn committed(deliveries: Vec<wit::Delivery>) -> Result<(), WitError> {
        let deliveries: Vec<Delivery> = deliveries.into_iter().map(Delivery::from).collect();
        Ok(lend(&TASK, async |task| task.committed(&deliveries).await).await?)
    }

    fn wants_deliveries() -> bool {
        WANTS_DELIVERIES.get()
    }

    async fn offsets_committed() -> Result<(), WitError> {
        Ok(lend(&TASK, async |task| task.offsets_committed().await).await?)
    }

    async fn stop() -> Result<(), WitError> {
        Ok(end(&TASK, async |task| task.stop().await).await?)
    }
}

impl From<wit::Delivery> for Delivery {
    fn from(delivery: wit::Delivery) -> Self {
        let written = delivery.written.map(|at| Written {
            topic: at.topic,
            partition: at.partition,
            offset: at.offset,
            timestamp: at.timestamp,
        });
        Self { batch: delivery.batch, index: delivery.index, written }
    }
}
