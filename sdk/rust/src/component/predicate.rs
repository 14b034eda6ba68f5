//! `predicate`: one instance is a predicate of a task.

use super::slot::{Slot, lend};
use super::{Component, Exports, find};
use crate::bindings::base::bulkhead::connect::types::{Config, Error as WitError, RecordBatch};
use crate::bindings::predicate::exports::bulkhead::connect::predicate as wit;
use crate::logging;
use crate::transform::PredicateDriver;

thread_local! {
    static PREDICATE: Slot<PredicateDriver> = const { Slot::new() };
}

impl<C: Component> wit::Guest for Exports<C> {
    async fn configure(plugin: String, config: Config) -> Result<(), WitError> {
        logging::init();
        let started = find::<C>(&plugin)?.start_predicate(config.into_iter().collect()).await?;
        PREDICATE.with(|slot| slot.put(started));
        Ok(())
    }

    async fn test(batch: RecordBatch, offset: Vec<i64>) -> Result<wit::Tested, WitError> {
        Ok(lend(&PREDICATE, async |started| started.test(batch, offset).await).await?)
    }
}
