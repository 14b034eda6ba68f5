//! The keys that every connector has, and those that every source or sink has.

use bulkhead_model::config::ConfigKey;
use bulkhead_model::plugin::{CONNECTOR_VERSION, PluginCatalog, PluginDesc, PluginKind};

use super::definitions::{self, Versions};
use super::infos::Entry;
use super::judge::Case;
use super::plugins::{Defaults, classes, resolve_class};

pub(super) const CONNECTOR_CLASS: &str = "connector.class";

/// How many of the keys are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Those of sources and sinks alike.
    Shared,
    /// Also those of the plugin's kind.
    OfKind,
}

/// The definitions alone, without the converters of any worker.
pub(super) fn keys(catalog: &PluginCatalog, plugin: &PluginDesc) -> Vec<ConfigKey> {
    let versions = Versions { connector: latest(catalog, plugin), ..Versions::default() };
    definitions(plugin.kind, &Defaults::default(), versions, Extent::OfKind)
}

fn definitions(kind: PluginKind, defaults: &Defaults, versions: Versions, extent: Extent) -> Vec<ConfigKey> {
    let mut keys = definitions::shared(defaults, versions);
    match (extent, kind) {
        (Extent::OfKind, PluginKind::Source) => keys.extend(definitions::of_sources()),
        (Extent::OfKind, PluginKind::Sink) => keys.extend(definitions::of_sinks()),
        (Extent::Shared, _)
        | (
            Extent::OfKind,
            PluginKind::Transformation | PluginKind::Predicate | PluginKind::Converter | PluginKind::HeaderConverter,
        ) => {}
    }
    keys
}

/// The definitions applied to a configuration.
pub(super) fn entries(case: &Case<'_>, extent: Extent) -> Vec<Entry> {
    let chosen = CONVERTERS.each_ref().map(|converter| case.converter(converter));
    let [key_converter, value_converter, header_converter] =
        [0, 1, 2].map(|place: usize| case.default_version(&CONVERTERS[place], chosen[place]));
    let connector = latest(case.catalog, case.plugin);
    let versions = Versions { connector, key_converter, value_converter, header_converter };
    let definitions = definitions(case.plugin.kind, &case.defaults, versions, extent);
    let mut entries: Vec<_> = definitions.into_iter().map(|key| case.entry(key)).collect();
    for entry in &mut entries {
        look_up(case, entry, &chosen);
    }
    entries
}

/// Compares a class or a version with what is installed.
fn look_up(case: &Case<'_>, entry: &mut Entry, chosen: &[Option<&PluginDesc>]) {
    if entry.name() == CONNECTOR_VERSION {
        case.check_version(entry, Some(case.plugin));
    }
    for (converter, plugin) in CONVERTERS.iter().zip(chosen) {
        if entry.name() == converter.key {
            entry.value.recommended = classes(case.catalog, converter.kind);
            resolve_class(entry, case.catalog, converter.kind);
        } else if entry.name() == converter.version_key {
            case.check_version(entry, *plugin);
        }
    }
}

/// A key that names a converter.
struct ConverterKey {
    key: &'static str,
    version_key: &'static str,
    kind: PluginKind,
    default: fn(&Defaults) -> &str,
    default_version: fn(&Defaults) -> &Option<String>,
}

const CONVERTERS: [ConverterKey; 3] = [
    ConverterKey {
        key: "key.converter",
        version_key: "key.converter.plugin.version",
        kind: PluginKind::Converter,
        default: |defaults| &defaults.key_converter,
        default_version: |defaults| &defaults.versions.key,
    },
    ConverterKey {
        key: "value.converter",
        version_key: "value.converter.plugin.version",
        kind: PluginKind::Converter,
        default: |defaults| &defaults.value_converter,
        default_version: |defaults| &defaults.versions.value,
    },
    ConverterKey {
        key: "header.converter",
        version_key: "header.converter.plugin.version",
        kind: PluginKind::HeaderConverter,
        default: |defaults| &defaults.header_converter,
        default_version: |defaults| &defaults.versions.header,
    },
];

/// What a connector gets that asks for no version.
fn latest(catalog: &PluginCatalog, plugin: &PluginDesc) -> Option<String> {
    catalog.resolve(&plugin.class, &[plugin.kind]).ok()?.version.clone()
}

impl<'a> Case<'a> {
    /// What the worker wants of its own converter; of one that the connector names, the latest.
    fn default_version(&self, converter: &ConverterKey, plugin: Option<&PluginDesc>) -> Option<String> {
        let of_worker =
            (converter.default_version)(&self.defaults).as_ref().filter(|_| self.text(converter.key).is_none());
        of_worker.cloned().or_else(|| plugin?.version.clone())
    }

    fn converter(&self, converter: &ConverterKey) -> Option<&'a PluginDesc> {
        let class = self.text(converter.key).unwrap_or((converter.default)(&self.defaults));
        self.catalog.resolve(class.trim(), &[converter.kind]).ok().map(AsRef::as_ref)
    }

    fn entry(&self, key: ConfigKey) -> Entry {
        let value = key.validate(self.given(&key.name));
        Entry { key: Some(key), value }
    }
}
