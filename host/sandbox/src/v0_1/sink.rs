//! A sink task in its sandbox.

use std::sync::{Arc, Mutex, PoisonError};

use bulkhead_model::RawConfig;
use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_model::plugin::PluginDesc;
use bulkhead_pipeline::batch::SinkBatch;
use bulkhead_pipeline::ports::{PluginError, Rejection, SinkControl, SinkTask};

use super::convert::{answer, config as guest_config};
use super::put::Known;
use crate::instance::{Handle, Op};
use crate::sandbox::Limits;

/// One sink task; dropping it drops its instance.
pub struct SandboxedSink {
    handle: Handle,
    limits: Limits,
    plugin: Arc<PluginDesc>,
    known: Mutex<Known>,
}

impl SandboxedSink {
    pub(crate) fn new(handle: Handle, limits: Limits, plugin: Arc<PluginDesc>) -> Self {
        Self { handle, limits, plugin, known: Mutex::default() }
    }
}

impl SinkTask for SandboxedSink {
    fn version(&self) -> Option<&str> {
        self.plugin.version.as_deref()
    }

    async fn start(&self, config: &RawConfig) -> Result<(), PluginError> {
        let (class, config) = (self.plugin.class.clone(), guest_config(config));
        let said = self.handle.call(Op::Start, self.limits.call(), |accessor, exports| {
            Box::pin(async move { exports.sink()?.guest.call_start(accessor, class, config).await })
        });
        answer(said.await?)
    }

    async fn open(&self, partitions: &[TopicPartition]) -> Result<(), PluginError> {
        self.handle.shared().sink().assignment.extend_from_slice(partitions);
        let partitions = partitions.iter().map(Into::into).collect();
        let said = self.handle.call(Op::Open, self.limits.call(), |accessor, exports| {
            Box::pin(async move { exports.sink()?.guest.call_open(accessor, partitions).await })
        });
        answer(said.await?)
    }

    async fn close(&self, partitions: &[TopicPartition]) -> Result<(), PluginError> {
        let gone = partitions;
        let partitions = partitions.iter().map(Into::into).collect();
        let said = self.handle.call(Op::Close, self.limits.call(), |accessor, exports| {
            Box::pin(async move { exports.sink()?.guest.call_close(accessor, partitions).await })
        });
        let said = said.await;
        let mut sink = self.handle.shared().sink();
        sink.assignment.retain(|partition| !gone.contains(partition));
        drop(sink);
        answer(said?)
    }

    async fn put(&self, batch: &SinkBatch) -> Result<Vec<Rejection>, PluginError> {
        let lowered = self.known.lock().unwrap_or_else(PoisonError::into_inner).lower(batch);
        let budget = self.limits.put(batch.records.count);
        let said = self.handle.call(Op::Put, budget, |accessor, exports| {
            Box::pin(async move {
                let put = exports.sink()?.put;
                let (said,) = put.call_concurrent(accessor, (lowered,)).await?;
                Ok(said)
            })
        });
        let refused = answer(said.await?)?;
        Ok(refused.into_iter().map(Into::into).collect())
    }

    async fn pre_commit(&self, offered: &[TopicOffset]) -> Result<Vec<TopicOffset>, PluginError> {
        let offered = offered.iter().map(Into::into).collect();
        let said = self.handle.call(Op::PreCommit, self.limits.call(), |accessor, exports| {
            Box::pin(async move { exports.sink()?.guest.call_pre_commit(accessor, offered).await })
        });
        let offsets = answer(said.await?)?;
        Ok(offsets.into_iter().map(Into::into).collect())
    }

    fn take_control(&self) -> SinkControl {
        std::mem::take(&mut self.handle.shared().sink().control)
    }

    async fn stop(&self) -> Result<(), PluginError> {
        self.handle.stop().await
    }
}
