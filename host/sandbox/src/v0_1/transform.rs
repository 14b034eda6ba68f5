//! Transforms and predicates in their sandboxes.

use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_pipeline::batch::Batch;
use bulkhead_pipeline::ports::{BoxFuture, PluginError, PredicateTask, TransformTask, Transformed};

use super::batch;
use super::convert::config as guest_config;
use super::exports::BatchAndOffsets;
use super::lower::Records;
use super::part::PartInstance;
use crate::host::Schemas;
use crate::instance::Op;

/// One transform of a task.
pub(crate) struct SandboxedTransform(Arc<PartInstance>);

/// One predicate of a task.
pub(crate) struct SandboxedPredicate(Arc<PartInstance>);

impl SandboxedTransform {
    pub(crate) async fn configure(
        instance: PartInstance,
        class: String,
        config: &RawConfig,
    ) -> Result<Self, PluginError> {
        let config = guest_config(config);
        let configured = instance.configure(|accessor, exports| {
            Box::pin(async move { exports.transform()?.guest.call_configure(accessor, class, config).await })
        });
        configured.await.map(Self)
    }
}

impl TransformTask for SandboxedTransform {
    fn apply(&self, records: Arc<Batch>, offset: Vec<i64>) -> BoxFuture<Result<Transformed, PluginError>> {
        let count = records.count;
        self.0.ask(
            Op::Apply,
            count,
            |exports| Ok(exports.transform()?.apply),
            move |schemas| lower(schemas, &records, offset),
            move |schemas, answer| batch::transformed(answer, count, schemas),
        )
    }
}

impl SandboxedPredicate {
    pub(crate) async fn configure(
        instance: PartInstance,
        class: String,
        config: &RawConfig,
    ) -> Result<Self, PluginError> {
        let config = guest_config(config);
        let configured = instance.configure(|accessor, exports| {
            Box::pin(async move { exports.predicate()?.guest.call_configure(accessor, class, config).await })
        });
        configured.await.map(Self)
    }
}

impl PredicateTask for SandboxedPredicate {
    fn test(&self, records: Arc<Batch>, offset: Vec<i64>) -> BoxFuture<Result<Vec<Result<bool, String>>, PluginError>> {
        let count = records.count;
        self.0.ask(
            Op::Test,
            count,
            |exports| Ok(exports.predicate()?.test),
            move |schemas| lower(schemas, &records, offset),
            move |_, answer| batch::tested(answer, count),
        )
    }
}

/// The batch as the guest takes it, with the schemas that it hasn't seen.
fn lower(schemas: &mut Schemas, records: &Batch, offset: Vec<i64>) -> Result<BatchAndOffsets, String> {
    let numbering = schemas.show(&records.schemas)?;
    Ok((Records::lower(records, numbering), offset))
}
