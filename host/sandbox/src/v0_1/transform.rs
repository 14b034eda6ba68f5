//! Transforms and predicates in their sandboxes.

use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_pipeline::batch::Batch;
use bulkhead_pipeline::ports::{BoxFuture, PluginError, PredicateTask, TransformTask, Transformed};
use wasmtime::AsContextMut;
use wasmtime::component::Accessor;

use super::batch;
use super::convert::{answer, at_fault, config as guest_config};
use super::lower::Records;
use crate::instance::{Handle, Op};
use crate::sandbox::Limits;
use crate::tenant::Tenant;

/// What an answer may weigh, its columns and pools included.
const MAX_ANSWER: usize = 128 << 20;

/// One transform of a task; dropping it drops its instance.
pub(crate) struct SandboxedTransform(Arc<Part>);

/// One predicate of a task; dropping it drops its instance.
pub(crate) struct SandboxedPredicate(Arc<Part>);

struct Part {
    handle: Handle,
    limits: Limits,
}

impl SandboxedTransform {
    /// Configures an instance that has just been made.
    pub(crate) async fn configure(
        handle: Handle,
        limits: Limits,
        class: String,
        config: &RawConfig,
    ) -> Result<Self, PluginError> {
        let config = guest_config(config);
        let said = handle.call(Op::Configure, limits.call(), |accessor, exports| {
            Box::pin(async move { exports.transform()?.guest.call_configure(accessor, class, config).await })
        });
        answer(said.await?)?;
        Ok(Self(Arc::new(Part { handle, limits })))
    }
}

impl TransformTask for SandboxedTransform {
    fn apply(&self, records: Arc<Batch>, offset: Vec<i64>) -> BoxFuture<Result<Transformed, PluginError>> {
        let part = Arc::clone(&self.0);
        Box::pin(async move {
            let budget = part.limits.batch(records.count);
            let applied = part.handle.call(Op::Apply, budget, move |accessor, exports| {
                Box::pin(async move {
                    let apply = exports.transform()?.apply;
                    let lowered = match lower(accessor, &records) {
                        Ok(lowered) => lowered,
                        Err(error) => return Ok(Err(error)),
                    };
                    let (said,) = apply.call_concurrent(accessor, (lowered, offset)).await?;
                    Ok(answer(said).and_then(|mut transformed| {
                        let schemas = batch::schemas(accessor, &mut transformed.records)?;
                        let taken = batch::transformed(transformed, records.count, schemas);
                        taken.map_err(|refused| at_fault(refused.to_string()))
                    }))
                })
            });
            applied.await?
        })
    }
}

impl SandboxedPredicate {
    /// Configures an instance that has just been made.
    pub(crate) async fn configure(
        handle: Handle,
        limits: Limits,
        class: String,
        config: &RawConfig,
    ) -> Result<Self, PluginError> {
        let config = guest_config(config);
        let said = handle.call(Op::Configure, limits.call(), |accessor, exports| {
            Box::pin(async move { exports.predicate()?.guest.call_configure(accessor, class, config).await })
        });
        answer(said.await?)?;
        Ok(Self(Arc::new(Part { handle, limits })))
    }
}

impl PredicateTask for SandboxedPredicate {
    fn test(&self, records: Arc<Batch>, offset: Vec<i64>) -> BoxFuture<Result<Vec<Result<bool, String>>, PluginError>> {
        let part = Arc::clone(&self.0);
        Box::pin(async move {
            let budget = part.limits.batch(records.count);
            let tested = part.handle.call(Op::Test, budget, move |accessor, exports| {
                Box::pin(async move {
                    let test = exports.predicate()?.test;
                    let lowered = match lower(accessor, &records) {
                        Ok(lowered) => lowered,
                        Err(error) => return Ok(Err(error)),
                    };
                    let (said,) = test.call_concurrent(accessor, (lowered, offset)).await?;
                    Ok(answer(said).and_then(|tested| {
                        batch::tested(tested, records.count).map_err(|refused| at_fault(refused.to_string()))
                    }))
                })
            });
            tested.await?
        })
    }
}

/// The batch as the guest takes it, with the schemas that it hasn't seen.
fn lower(accessor: &Accessor<Tenant>, records: &Batch) -> Result<Records, PluginError> {
    accessor.with(|mut store| {
        store.as_context_mut().set_hostcall_fuel(MAX_ANSWER);
        let numbering = store.get().schemas.show(&records.schemas).map_err(at_fault)?;
        Ok(Records::lower(records, numbering))
    })
}
