//! A source task in its sandbox.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bulkhead_model::RawConfig;
use bulkhead_model::plugin::PluginDesc;
use bulkhead_pipeline::batch::SourceBatch;
use bulkhead_pipeline::ports::{PluginError, PollLimits, SourceDelivery, SourceTask};
use wasmtime::AsContextMut;

use super::batch;
use super::bindings::exports::bulkhead::connect::source_task;
use super::convert::{answer, at_fault, config as guest_config};
use crate::instance::{Handle, Op};
use crate::sandbox::Limits;

/// What a batch may weigh beyond its keys, values and offsets: the columns of numbers and the pools.
const COLUMN_BYTES: usize = 64 << 20;

/// One source task; dropping it drops its instance.
pub struct SandboxedSource {
    handle: Handle,
    limits: Limits,
    plugin: Arc<PluginDesc>,
    wants_deliveries: AtomicBool,
}

impl SandboxedSource {
    pub(crate) fn new(handle: Handle, limits: Limits, plugin: Arc<PluginDesc>) -> Self {
        Self { handle, limits, plugin, wants_deliveries: AtomicBool::new(false) }
    }
}

impl SourceTask for SandboxedSource {
    fn version(&self) -> Option<&str> {
        self.plugin.version.as_deref()
    }

    async fn start(&self, config: &RawConfig) -> Result<(), PluginError> {
        let (class, config) = (self.plugin.class.clone(), guest_config(config));
        let started = self.handle.call(Op::Start, self.limits.call(), |accessor, exports| {
            Box::pin(async move {
                let guest = exports.source()?;
                let started = guest.call_start(accessor, class, config).await?;
                let wants = match &started {
                    Ok(()) => guest.call_wants_deliveries(accessor).await?,
                    Err(_) => false,
                };
                Ok(answer(started).map(|()| wants))
            })
        });
        let wants = started.await??;
        self.wants_deliveries.store(wants, Ordering::Relaxed);
        Ok(())
    }

    async fn poll(&self, limits: PollLimits) -> Result<SourceBatch, PluginError> {
        let budget = self.limits.poll(&limits);
        let polled = self.handle.call(Op::Poll, budget, move |accessor, exports| {
            Box::pin(async move {
                let max_bytes = limits.max_bytes as usize;
                accessor.with(|mut store| {
                    let handover = max_bytes.saturating_add(COLUMN_BYTES);
                    store.as_context_mut().set_hostcall_fuel(handover);
                });
                let guest = exports.source()?;
                let polled =
                    guest.call_poll(accessor, limits.max_wait_ms, limits.max_records, limits.max_bytes).await?;
                Ok(answer(polled).and_then(|batch| {
                    let taken =
                        accessor.with(|mut store| batch::source_batch(batch, max_bytes, &mut store.get().schemas));
                    taken.map_err(|refused| at_fault(refused.to_string()))
                }))
            })
        });
        polled.await?
    }

    fn wants_deliveries(&self) -> bool {
        self.wants_deliveries.load(Ordering::Relaxed)
    }

    async fn committed(&self, deliveries: Vec<SourceDelivery>) -> Result<(), PluginError> {
        let deliveries: Vec<source_task::Delivery> = deliveries.into_iter().map(Into::into).collect();
        let said = self.handle.call(Op::Committed, self.limits.call(), |accessor, exports| {
            Box::pin(async move { exports.source()?.call_committed(accessor, deliveries).await })
        });
        answer(said.await?)
    }

    async fn offsets_committed(&self) -> Result<(), PluginError> {
        let said = self.handle.call(Op::OffsetsCommitted, self.limits.call(), |accessor, exports| {
            Box::pin(async move { exports.source()?.call_offsets_committed(accessor).await })
        });
        answer(said.await?)
    }

    async fn stop(&self) -> Result<(), PluginError> {
        self.handle.stop().await
    }
}
