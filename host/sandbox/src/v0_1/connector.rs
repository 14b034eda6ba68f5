//! A connector in its sandbox.

use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_model::config::ConfigValue;
use bulkhead_model::offset::TopicPartition;
use bulkhead_model::plugin::PluginDesc;
use bulkhead_pipeline::ports::{Connector, PluginError};
use serde_json::{Map, Value};

use super::convert::{answer, config as guest_config};
use super::wit::types;
use crate::instance::{Handle, Op};
use crate::sandbox::Limits;

/// One connector; dropping it drops its instance.
pub struct SandboxedConnector {
    handle: Handle,
    limits: Limits,
    plugin: Arc<PluginDesc>,
}

impl SandboxedConnector {
    pub(crate) fn new(handle: Handle, limits: Limits, plugin: Arc<PluginDesc>) -> Self {
        Self { handle, limits, plugin }
    }
}

impl Connector for SandboxedConnector {
    fn version(&self) -> Option<&str> {
        self.plugin.version.as_deref()
    }

    async fn validate(&self, config: &RawConfig) -> Result<Vec<ConfigValue>, PluginError> {
        let (class, config) = (self.plugin.class.clone(), guest_config(config));
        let said = self.handle.call(Op::Validate, self.limits.call(), |accessor, exports| {
            Box::pin(async move { exports.connector()?.call_validate(accessor, class, config).await })
        });
        let values = answer(said.await?)?;
        Ok(values.into_iter().map(Into::into).collect())
    }

    async fn start(&self, config: &RawConfig) -> Result<(), PluginError> {
        let (class, config) = (self.plugin.class.clone(), guest_config(config));
        let said = self.handle.call(Op::Start, self.limits.call(), |accessor, exports| {
            Box::pin(async move { exports.connector()?.call_start(accessor, class, config).await })
        });
        answer(said.await?)
    }

    async fn task_configs(&self, max_tasks: u32) -> Result<Vec<RawConfig>, PluginError> {
        let said = self.handle.call(Op::TaskConfigs, self.limits.call(), move |accessor, exports| {
            Box::pin(async move { exports.connector()?.call_task_configs(accessor, max_tasks).await })
        });
        let configs = answer(said.await?)?;
        Ok(configs.into_iter().map(RawConfig::from_iter).collect())
    }

    async fn stop(&self) -> Result<(), PluginError> {
        self.handle.stop().await
    }

    async fn alter_source_offsets(
        &self,
        config: &RawConfig,
        offsets: &[(Map<String, Value>, Option<Map<String, Value>>)],
    ) -> Result<bool, PluginError> {
        let (class, config) = (self.plugin.class.clone(), guest_config(config));
        let offsets = offsets.iter().map(|(partition, offset)| (json(partition), offset.as_ref().map(json)));
        let offsets = offsets.collect();
        let said = self.handle.call(Op::AlterOffsets, self.limits.call(), |accessor, exports| {
            Box::pin(async move {
                let guest = exports.connector()?;
                guest.call_alter_source_offsets(accessor, class, config, offsets).await
            })
        });
        answer(said.await?)
    }

    async fn alter_sink_offsets(
        &self,
        config: &RawConfig,
        offsets: &[(TopicPartition, Option<i64>)],
    ) -> Result<bool, PluginError> {
        let (class, config) = (self.plugin.class.clone(), guest_config(config));
        let offsets = offsets.iter().map(|(partition, offset)| (partition.into(), *offset));
        let offsets: Vec<(types::TopicPartition, Option<i64>)> = offsets.collect();
        let said = self.handle.call(Op::AlterOffsets, self.limits.call(), |accessor, exports| {
            Box::pin(async move {
                let guest = exports.connector()?;
                guest.call_alter_sink_offsets(accessor, class, config, offsets).await
            })
        });
        answer(said.await?)
    }

    async fn wants_reconfiguration(&self) -> Result<(), PluginError> {
        self.handle.wants_reconfiguration().await
    }
}

fn json(map: &Map<String, Value>) -> types::JsonMap {
    serde_json::to_string(map).expect("a map with text keys is always JSON")
}
