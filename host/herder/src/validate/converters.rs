//! The keys of the converters that a configuration names.

use bulkhead_model::config::{ConfigKey, Given};
use bulkhead_model::plugin::{PluginDesc, PluginKind};

use super::infos::Entry;
use super::judge::Case;

/// Key, value or header converter.
pub(super) struct Role {
    pub(super) key: &'static str,
    version_key: &'static str,
    pub(super) kind: PluginKind,
    /// What `converter.type` says.
    name: &'static str,
}

pub(super) const KEY: Role = Role {
    key: "key.converter",
    version_key: "key.converter.plugin.version",
    kind: PluginKind::Converter,
    name: "key",
};
pub(super) const VALUE: Role = Role {
    key: "value.converter",
    version_key: "value.converter.plugin.version",
    kind: PluginKind::Converter,
    name: "value",
};
pub(super) const HEADER: Role = Role {
    key: "header.converter",
    version_key: "header.converter.plugin.version",
    kind: PluginKind::HeaderConverter,
    name: "header",
};

/// Nothing for the worker's own converter: its keys are not the connector's to set.
pub(super) fn entries(case: &Case<'_>, role: &Role) -> Vec<Entry> {
    let named = case.text(role.key);
    let plugin = named.and_then(|class| case.plugin_in_version(class, role.kind, role.version_key).ok());
    plugin.map_or_else(Vec::new, |plugin| entries_of(case, role, plugin))
}

fn entries_of(case: &Case<'_>, role: &Role, plugin: &PluginDesc) -> Vec<Entry> {
    let shown = plugin.config.keys.iter().filter(|key| !key.internal);
    let entry = |key: &ConfigKey| {
        let prefixed = prefixed(key, role);
        let given = match case.given(&prefixed.name) {
            Given::Absent if key.name == "converter.type" => Given::Text(role.name),
            given => given,
        };
        let value = prefixed.validate(given);
        Entry { key: Some(prefixed), value }
    };
    let mut entries: Vec<_> = shown.map(entry).collect();
    // Connect has them in no order of their own; by name, groups come as they do there.
    entries.sort_by(|a, b| a.name().cmp(b.name()));
    entries
}

fn prefixed(key: &ConfigKey, role: &Role) -> ConfigKey {
    let prefix = |name: &str| format!("{}.{name}", role.key);
    ConfigKey {
        name: prefix(&key.name),
        dependents: key.dependents.iter().map(|dependent| prefix(dependent)).collect(),
        ..key.clone()
    }
}
