//! The converters of connectors that name none.

use bulkhead_model::plugin::PluginCatalog;
use bulkhead_pipeline::convert::Role;

use super::WorkerSettings;

/// A worker's own converters aren't all there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct MissingConverters(Vec<String>);

impl WorkerSettings {
    /// To be asked before anything runs: every connector that names no converter would fail.
    pub fn check_converters(&self, installed: &PluginCatalog) -> Result<(), MissingConverters> {
        let versions = &self.converter_versions;
        let converters = [
            (Role::Key, &self.key_converter, &versions.key),
            (Role::Value, &self.value_converter, &versions.value),
            (Role::Header, &self.header_converter, &versions.header),
        ];
        let missing = converters.into_iter().filter_map(|(role, class, version)| {
            let (class, kind) = (class.trim(), role.kind());
            let missing = installed.resolve_version(class, &[kind], version.as_deref()).err()?;
            Some(format!("worker property `{}`: {}", role.key(), missing.explain(kind, class)))
        });
        let missing: Vec<_> = missing.collect();
        if missing.is_empty() { Ok(()) } else { Err(MissingConverters(missing)) }
    }
}
