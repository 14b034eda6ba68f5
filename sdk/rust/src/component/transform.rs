//! `transform`: one instance is a transformation of a task.

use super::slot::{Slot, lend};
use super::{Component, Exports, find};
use crate::bindings::base::bulkhead::connect::types::{Config, Error as WitError, RecordBatch};
use crate::bindings::transform::exports::bulkhead::connect::transform as wit;
use crate::logging;
use crate::transform::TransformDriver;

thread_local! {
    static TRANSFORM: Slot<TransformDriver> = const { Slot::new() };
}

impl<C: Component> wit::Guest for Exports<C> {
    async fn configure(plugin: String, config: Config) -> Result<(), WitError> {
        logging::init();
        let started = find::<C>(&plugin)?.start_transform(config.into_iter().collect()).await?;
        TRANSFORM.with(|slot| slot.put(started));
        Ok(())
    }

    async fn apply(batch: RecordBatch, offset: Vec<i64>) -> Result<wit::Transformed, WitError> {
        Ok(lend(&TRANSFORM, async |started| started.apply(batch, offset).await).await?)
    }
}
