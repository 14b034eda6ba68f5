//! `connector`: one instance plans the work of a connector.

use super::slot::{Slot, end, lend};
use super::{Component, Exports, connector};
use crate::bindings::base::bulkhead::connect::config_def::ConfigValue;
use crate::bindings::base::bulkhead::connect::types::{Config, Error as WitError, JsonMap, TopicPartition};
use crate::bindings::connector::exports::bulkhead::connect::connector::{BoundarySupport, EosSupport, Guest};
use crate::config::RawConfig;
use crate::connector::Running;
use crate::source::ExactlyOnce;
use crate::{Result, logging, offsets};

thread_local! {
    static RUNNING: Slot<Box<dyn Running>> = const { Slot::new() };
}

impl<C: Component> Guest for Exports<C> {
    async fn validate(plugin: String, config: Config) -> Result<Vec<ConfigValue>, WitError> {
        logging::init();
        let verdict = connector::<C>(&plugin)?.validate(config.into_iter().collect()).await?;
        Ok(verdict.into_wit())
    }

    async fn start(plugin: String, config: Config) -> Result<(), WitError> {
        logging::init();
        let running = connector::<C>(&plugin)?.start(config.into_iter().collect()).await?;
        RUNNING.with(|slot| slot.put(running));
        Ok(())
    }

    async fn task_configs(max_tasks: u32) -> Result<Vec<Config>, WitError> {
        let configs = lend(&RUNNING, async |running| running.task_configs(max_tasks).await).await?;
        Ok(configs.into_iter().map(RawConfig::into_pairs).collect())
    }

    async fn stop() -> Result<(), WitError> {
        Ok(end(&RUNNING, async |running| running.stop().await).await?)
    }

    fn exactly_once_support(plugin: String, config: Config) -> Result<EosSupport, WitError> {
        logging::init();
        Ok(match connector::<C>(&plugin)?.exactly_once(&config.into_iter().collect()) {
            ExactlyOnce::Supported => EosSupport::Supported,
            ExactlyOnce::Unsupported => EosSupport::Unsupported,
            ExactlyOnce::Unknown => EosSupport::Unknown,
        })
    }

    fn transaction_boundaries(plugin: String, config: Config) -> Result<BoundarySupport, WitError> {
        logging::init();
        let sets = connector::<C>(&plugin)?.sets_transaction_boundaries(&config.into_iter().collect());
        Ok(if sets { BoundarySupport::Supported } else { BoundarySupport::Unsupported })
    }

    async fn alter_source_offsets(
        plugin: String,
        config: Config,
        offsets: Vec<(JsonMap, Option<JsonMap>)>,
    ) -> Result<bool, WitError> {
        logging::init();
        let read = |(partition, offset): (JsonMap, Option<JsonMap>)| {
            Ok((offsets::JsonMap::parse(Some(&partition))?, offsets::JsonMap::parse(offset.as_deref())?))
        };
        let offsets = offsets.into_iter().map(read).collect::<Result<_>>()?;
        let plugin = connector::<C>(&plugin)?;
        Ok(plugin.alter_source_offsets(config.into_iter().collect(), offsets).await?)
    }

    async fn alter_sink_offsets(
        plugin: String,
        config: Config,
        offsets: Vec<(TopicPartition, Option<i64>)>,
    ) -> Result<bool, WitError> {
        logging::init();
        let plugin = connector::<C>(&plugin)?;
        Ok(plugin.alter_sink_offsets(config.into_iter().collect(), offsets).await?)
    }
}
