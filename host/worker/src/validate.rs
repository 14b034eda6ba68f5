//! What a plugin says of a configuration, in an instance of its own.

use std::sync::Arc;

use bulkhead_model::config::ConfigValue;
use bulkhead_model::plugin::{CONNECTORS, PluginDesc};
use bulkhead_model::work::{Validation, ValidationError};
use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::ports::{Connector, PluginError, Plugins};

use crate::Shared;
use crate::missing::missing;

pub(crate) async fn validate<S: Plugins, C>(
    shared: &Shared<S, C>,
    raw: &RawConfig,
) -> Result<Validation, ValidationError> {
    let resolution = shared.look_up(raw).await.map_err(ValidationError::Failed)?;
    let (plugins, config) = (&*shared.plugins, &resolution.apply(raw));
    let catalog = plugins.catalog();
    let plugin = match catalog.connector_of(config) {
        Ok(plugin) => plugin,
        Err(unresolved) => {
            let mut known: Vec<_> = catalog.iter().filter(is_connector).map(|plugin| plugin.class.as_str()).collect();
            known.dedup();
            let missing = missing(config, &unresolved);
            return Err(ValidationError::UnknownClass(format!("{missing}; installed are: {}", known.join(", "))));
        }
    };
    let refused_grants = plugins.refused_grants(config);
    // What may not be granted isn't, not even for a check; and a plugin can't check what has no value.
    let can_be_asked = refused_grants.is_empty() && resolution.problems(raw.iter()).next().is_none();
    let asked = if can_be_asked { ask(plugins, config).await } else { Ok(Vec::new()) };
    let values = asked.map_err(|error| ValidationError::Failed(resolution.mask(&error.to_string()).into_owned()))?;
    Ok(Validation {
        kind: plugin.kind,
        version: plugin.version.clone(),
        config_def: plugin.config.clone(),
        values,
        refused_grants,
        resolution,
    })
}

fn is_connector(plugin: &&Arc<PluginDesc>) -> bool {
    CONNECTORS.contains(&plugin.kind)
}

async fn ask<S: Plugins>(plugins: &S, config: &RawConfig) -> Result<Vec<ConfigValue>, PluginError> {
    let name = ConnectorName::new(config.get("name").unwrap_or("validation"));
    let instance = plugins.connector(&name, config).await?;
    let values = instance.validate(config).await;
    if let Err(error) = instance.stop().await {
        tracing::debug!(%error, "The instance that validated did not stop by itself.");
    }
    values
}
