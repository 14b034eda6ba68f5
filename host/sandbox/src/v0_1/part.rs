//! What a task has beside itself: an instance that is configured once and then given batches.

use std::sync::Arc;

use bulkhead_pipeline::ports::{BoxFuture, PluginError};
use wasmtime::AsContextMut;
use wasmtime::component::{Accessor, ComponentNamedList, ComponentType, Lift, Lower};

use super::batch::Refused;
use super::convert::{answer, at_fault};
use super::exports::{Exports, Function};
use super::wit::types;
use crate::host::Schemas;
use crate::instance::{Handle, InStore, Op};
use crate::sandbox::Limits;
use crate::tenant::Tenant;

/// What an answer may weigh, its columns and pools included.
const MAX_ANSWER: usize = 128 << 20;

/// An instance for a transform, a predicate or a converter; dropping it drops the instance.
pub(crate) struct PartInstance {
    handle: Handle,
    limits: Limits,
}

impl PartInstance {
    /// Of an instance that has just been made.
    pub(crate) fn new(handle: Handle, limits: Limits) -> Self {
        Self { handle, limits }
    }

    /// To be called once, before everything below.
    pub(super) async fn configure(
        self,
        job: impl for<'a> FnOnce(&'a Accessor<Tenant>, &'a Exports) -> InStore<'a, Result<(), types::Error>>
        + Send
        + 'static,
    ) -> Result<Arc<Self>, PluginError> {
        answer(self.handle.call(Op::Configure, self.limits.call(), job).await?)?;
        Ok(Arc::new(self))
    }

    /// Calls a function with what `lower` makes of a batch of `count`, and has `take` check what it answers.
    pub(super) fn ask<P, A, T>(
        self: &Arc<Self>,
        op: Op,
        count: usize,
        function: impl FnOnce(&Exports) -> wasmtime::Result<Function<P, A>> + Send + 'static,
        lower: impl FnOnce(&mut Schemas) -> Result<P, String> + Send + 'static,
        take: impl FnOnce(&mut Schemas, A) -> Result<T, Refused> + Send + 'static,
    ) -> BoxFuture<Result<T, PluginError>>
    where
        P: ComponentNamedList + Lower + Send + Sync + 'static,
        A: ComponentType + Lift + Send + Sync + 'static,
        T: Send + 'static,
    {
        let this = Arc::clone(self);
        Box::pin(async move {
            let asked = this.handle.call(op, this.limits.batch(count), move |accessor, exports| {
                Box::pin(async move {
                    let function = function(exports)?;
                    let lowered = accessor.with(|mut store| {
                        store.as_context_mut().set_hostcall_fuel(MAX_ANSWER);
                        lower(&mut store.get().schemas)
                    });
                    let parameters = match lowered {
                        Ok(parameters) => parameters,
                        Err(message) => return Ok(Err(at_fault(message))),
                    };
                    let (said,) = function.call_concurrent(accessor, parameters).await?;
                    Ok(answer(said).and_then(|said| {
                        let taken = accessor.with(|mut store| take(&mut store.get().schemas, said));
                        taken.map_err(|refused| at_fault(refused.to_string()))
                    }))
                })
            });
            asked.await?
        })
    }
}
