//! What a plugin says of a configuration, in an instance of its own.

use bulkhead_model::work::{Validation, ValidationError};
use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::ports::{Connector, Plugins};

pub(crate) async fn validate<S: Plugins>(plugins: &S, config: &RawConfig) -> Result<Validation, ValidationError> {
    let catalog = plugins.catalog();
    let class = config.connector_class().unwrap_or_default();
    let Ok(plugin) = catalog.connector(class) else {
        let known: Vec<_> = catalog.iter().map(|plugin| plugin.class.as_str()).collect();
        let message = format!("no connector plugin of class `{class}`; installed are: {}", known.join(", "));
        return Err(ValidationError::UnknownClass(message));
    };
    let refused_grants = plugins.refused_grants(config);
    // What may not be granted isn't, not even for a check.
    let values = if refused_grants.is_empty() { ask(plugins, config).await? } else { Vec::new() };
    Ok(Validation {
        kind: plugin.kind,
        version: plugin.version.clone(),
        config_def: plugin.config.clone(),
        values,
        refused_grants,
    })
}

async fn ask<S: Plugins>(
    plugins: &S,
    config: &RawConfig,
) -> Result<Vec<bulkhead_model::config::ConfigValue>, ValidationError> {
    let failed = |error: bulkhead_pipeline::ports::PluginError| ValidationError::Failed(error.to_string());
    let name = ConnectorName::new(config.get("name").unwrap_or("validation"));
    let instance = plugins.connector(&name, config).await.map_err(failed)?;
    let values = instance.validate(config).await.map_err(failed);
    if let Err(error) = instance.stop().await {
        tracing::debug!(%error, "The instance that validated did not stop by itself.");
    }
    values
}
