//! What the catalog of plugins contributes: classes, versions, recommendations.

use bulkhead_model::plugin::{PluginCatalog, PluginDesc, PluginKind, Unresolved};

use super::infos::{ConfigKeyInfo, Entry};
use super::{common, sandbox};
use crate::Settings;
use crate::api::Refusal;

/// The converters of a connector that names none; empty where no worker is meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults {
    pub(crate) key_converter: String,
    pub(crate) value_converter: String,
    pub(crate) header_converter: String,
}

impl Defaults {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            key_converter: settings.key_converter.clone(),
            value_converter: settings.value_converter.clone(),
            header_converter: settings.header_converter.clone(),
        }
    }
}

const ALL_KINDS: [PluginKind; 6] = [
    PluginKind::Sink,
    PluginKind::Source,
    PluginKind::Transformation,
    PluginKind::Predicate,
    PluginKind::Converter,
    PluginKind::HeaderConverter,
];

/// The keys of a plugin. A connector's own come first and replace common ones of the same name.
pub(crate) fn plugin_keys(catalog: &PluginCatalog, name: &str) -> Result<Vec<ConfigKeyInfo>, Refusal> {
    let plugin = catalog.resolve(name, &ALL_KINDS).map_err(|unresolved| not_found(name, &unresolved))?;
    let own = plugin.config.keys.iter().filter(|key| !key.internal);
    let mut keys: Vec<_> = own.map(ConfigKeyInfo::from).collect();
    if matches!(plugin.kind, PluginKind::Source | PluginKind::Sink) {
        let shared = common::keys(plugin).into_iter().chain(sandbox::keys());
        let missing: Vec<_> = shared.filter(|key| plugin.config.get(&key.name).is_none()).collect();
        keys.extend(missing.iter().map(ConfigKeyInfo::from));
    }
    Ok(keys)
}

fn not_found(name: &str, unresolved: &Unresolved) -> Refusal {
    match unresolved {
        Unresolved::Unknown => Refusal::NotFound(format!("Unknown plugin {name}.")),
        Unresolved::Ambiguous(classes) => {
            Refusal::NotFound(format!("Plugin {name} may be any of {}; use the full name.", classes.join(", ")))
        }
    }
}

/// Replaces the class an entry names by its full name; the error is on the entry.
pub(super) fn resolve_class<'a>(
    entry: &mut Entry,
    catalog: &'a PluginCatalog,
    kind: PluginKind,
) -> Option<&'a PluginDesc> {
    let class = entry.value.value.clone().filter(|_| !entry.has_errors())?;
    match catalog.resolve(&class, &[kind]) {
        Ok(plugin) => {
            entry.value.value = Some(plugin.class.clone());
            Some(plugin)
        }
        Err(unresolved) => {
            let reason = match unresolved {
                Unresolved::Unknown => "Class could not be found".to_owned(),
                Unresolved::Ambiguous(classes) => format!("Class may be any of {}", classes.join(", ")),
            };
            entry.value.value = None;
            entry.error(format!("Invalid value {class} for configuration {}: {reason}", entry.name().to_owned()));
            None
        }
    }
}

/// The names of all plugins of a kind.
pub(super) fn classes(catalog: &PluginCatalog, kind: PluginKind) -> Vec<String> {
    catalog.iter().filter(|plugin| plugin.kind == kind).map(|plugin| plugin.class.clone()).collect()
}
