//! Everything that configurations may name: connectors of `plugin.path`, and what this worker brings.

use std::sync::Arc;

use bulkhead_model::plugin::{PluginCatalog, PluginDesc};
use bulkhead_pipeline::{convert, transform};

/// The catalogue that REST lists and the herder validates against.
pub fn catalog(connectors: &PluginCatalog) -> Arc<PluginCatalog> {
    let connectors = connectors.iter().map(|plugin| PluginDesc::clone(plugin));
    let ours = convert::builtin_plugins().into_iter().chain(transform::builtin_plugins());
    Arc::new(PluginCatalog::new(connectors.chain(ours)))
}
