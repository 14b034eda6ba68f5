//! What the catalog of plugins contributes: classes, versions, recommendations.

use bulkhead_model::plugin::{NoSuchVersion, PluginCatalog, PluginDesc, PluginKind, Unresolved};

use super::infos::{ConfigKeyInfo, Entry};
use super::{common, sandbox};
use crate::api::Refusal;
use crate::{ConverterVersions, Settings};

/// The converters of a connector that names none; empty where no worker is meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults {
    pub(crate) key_converter: String,
    pub(crate) value_converter: String,
    pub(crate) header_converter: String,
    pub(crate) versions: ConverterVersions,
}

impl Defaults {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            key_converter: settings.key_converter.clone(),
            value_converter: settings.value_converter.clone(),
            header_converter: settings.header_converter.clone(),
            versions: settings.converter_versions.clone(),
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

/// The keys of a plugin, in the latest of the wanted versions. A connector's own come first and replace common ones of
/// the same name.
pub(crate) fn plugin_keys(
    catalog: &PluginCatalog,
    name: &str,
    wanted: Option<&str>,
) -> Result<Vec<ConfigKeyInfo>, Refusal> {
    let plugin =
        catalog.resolve_version(name, &ALL_KINDS, wanted).map_err(|unresolved| not_found(name, &unresolved))?;
    let own = plugin.config.keys.iter().filter(|key| !key.internal);
    let mut keys: Vec<_> = own.map(ConfigKeyInfo::from).collect();
    if matches!(plugin.kind, PluginKind::Source | PluginKind::Sink) {
        let shared = common::keys(catalog, plugin).into_iter().chain(sandbox::keys());
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
        Unresolved::NoSuchVersion(NoSuchVersion { wanted, malformed: _, installed }) => Refusal::BadRequest(format!(
            "Plugin {name} not found that matches the version range {wanted}, available versions: [{}]",
            installed.join(", ")
        )),
    }
}

/// Replaces the class an entry names by its full name; the error is on the entry. What is found is the latest version.
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
                Unresolved::NoSuchVersion(other) => other.to_string(),
            };
            entry.value.value = None;
            entry.error(format!("Invalid value {class} for configuration {}: {reason}", entry.name().to_owned()));
            None
        }
    }
}

/// The names of all classes of a kind.
pub(super) fn classes(catalog: &PluginCatalog, kind: PluginKind) -> Vec<String> {
    let mut classes: Vec<_> =
        catalog.iter().filter(|plugin| plugin.kind == kind).map(|plugin| plugin.class.clone()).collect();
    classes.dedup();
    classes
}
