//! The verdict on a configuration, put together from everyone who has a say.

use bulkhead_model::ConfigPatch;
use bulkhead_model::config::references::references;
use bulkhead_model::config::{ConfigType, ConfigValue, Given, OverridePolicy};
use bulkhead_model::plugin::{CONNECTOR_VERSION, PluginCatalog, PluginDesc, PluginKind, Unresolved};
use bulkhead_model::work::Validation;

use super::infos::{ConfigInfos, Entry};
use super::plugins::Defaults;
use super::{aliases, common, converters, overrides, sandbox, sink, source};

/// A configuration and what is known around it.
pub(super) struct Case<'a> {
    pub(super) catalog: &'a PluginCatalog,
    pub(super) defaults: Defaults,
    pub(super) plugin: &'a PluginDesc,
    pub(super) config: &'a ConfigPatch,
    pub(super) overrides: &'a OverridePolicy,
    pub(super) in_cluster: bool,
}

impl<'a> Case<'a> {
    pub(super) fn given(&self, key: &str) -> Given<'a> {
        Given::of(self.config, key)
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        match self.given(key) {
            Given::Text(text) => Some(text),
            Given::Absent | Given::Null => None,
        }
    }

    /// The class that is meant, in the version that the key of that name asks for; in the latest, if it asks for none.
    pub(super) fn plugin_in_version(
        &self,
        class: &str,
        kind: PluginKind,
        version_key: &str,
    ) -> Result<&'a PluginDesc, Unresolved> {
        self.catalog.resolve_version(class.trim(), &[kind], self.text(version_key)).map(AsRef::as_ref)
    }

    /// Judges a `plugin.version` key against what is installed of a class. If that has the wanted version, it is
    /// what is returned.
    pub(super) fn check_version(&self, entry: &mut Entry, of: Option<&PluginDesc>) -> Option<&'a PluginDesc> {
        let PluginDesc { class, kind, .. } = of?;
        entry.value.recommended = self.catalog.versions(class, &[*kind]);
        match self.plugin_in_version(class, *kind, entry.name()) {
            Ok(plugin) => Some(plugin),
            Err(Unresolved::NoSuchVersion(other)) => {
                let wanted = self.text(entry.name()).unwrap_or_default();
                entry.error(format!("Invalid value {wanted} for configuration {}: {other}", entry.name().to_owned()));
                None
            }
            Err(Unresolved::Unknown | Unresolved::Ambiguous(_)) => None,
        }
    }
}

/// The answer for a connector whose wanted version isn't installed: the plugin can't be asked. Which version a reference
/// stands for is known to the worker alone.
pub(super) fn wrong_version(case: &Case<'_>) -> Option<ConfigInfos> {
    if case.text(CONNECTOR_VERSION).is_some_and(|wanted| references(wanted).next().is_some()) {
        return None;
    }
    let mut entries = common::entries(case, common::Extent::Shared);
    let version = entries.iter().find(|entry| entry.name() == CONNECTOR_VERSION)?;
    let error = version.value.errors.first()?.clone();
    entries.iter_mut().find(|entry| entry.name() == common::CONNECTOR_CLASS)?.error(error);
    Some(answer(case, Vec::new(), entries, Vec::new()))
}

/// The answer for a connector whose plugin has spoken.
pub(super) fn judge(case: &Case<'_>, validation: &Validation) -> ConfigInfos {
    let mut shared = common::entries(case, common::Extent::OfKind);
    shared.retain(|entry| validation.config_def.get(entry.name()).is_none());
    if case.plugin.kind == PluginKind::Sink {
        sink::check_topics(&mut shared, case.config);
    }
    if case.in_cluster {
        source::check_exactly_once(&mut shared, case.config);
    }
    let mut entries = shared;
    entries.extend(aliases::entries(case, &aliases::TRANSFORMS));
    entries.extend(aliases::entries(case, &aliases::PREDICATES));
    entries.extend(own_entries(case, validation));
    let mut undefined = Vec::new();
    for value in &validation.values {
        add_opinion(&mut entries, &mut undefined, value);
    }
    for verdict in &validation.refused_grants {
        find_or_add(&mut entries, &mut undefined, &verdict.name).value.errors.extend(verdict.errors.iter().cloned());
    }
    entries.extend(overrides::refused(case.config, case.plugin.kind, case.overrides));
    let converters = [converters::HEADER, converters::KEY, converters::VALUE];
    let converters = converters.iter().flat_map(|role| converters::entries(case, role)).collect();
    answer(case, undefined, entries, converters)
}

/// The plugin's keys, judged by its definition, and the keys of its sandbox.
fn own_entries(case: &Case<'_>, validation: &Validation) -> Vec<Entry> {
    let own = validation.config_def.keys.iter().filter(|key| !key.internal).cloned();
    let sandbox = sandbox::keys().into_iter().filter(|key| validation.config_def.get(&key.name).is_none());
    let entry = |key: bulkhead_model::config::ConfigKey| {
        let value = key.validate(case.given(&key.name));
        Entry { key: Some(key), value }
    };
    own.chain(sandbox).map(entry).collect()
}

/// Adds what the plugin says of a key. Its errors count only where the worker found none by itself: a plugin
/// that reads its settings finds the same ones, in words of its own.
fn add_opinion(entries: &mut [Entry], undefined: &mut Vec<Entry>, opinion: &ConfigValue) {
    let entry = find_or_add(entries, undefined, &opinion.name);
    if entry.value.errors.is_empty() {
        entry.value.errors.clone_from(&opinion.errors);
    }
    entry.value.visible = opinion.visible;
    if !opinion.recommended.is_empty() {
        entry.value.recommended = opinion.recommended.clone();
    }
    let secret = entry.key.as_ref().is_some_and(|key| key.kind == ConfigType::Password);
    if opinion.value.is_some() && !secret {
        entry.value.value = opinion.value.clone();
    }
}

fn find_or_add<'a>(entries: &'a mut [Entry], undefined: &'a mut Vec<Entry>, name: &str) -> &'a mut Entry {
    if let Some(entry) = entries.iter_mut().find(|entry| entry.name() == name) {
        return entry;
    }
    let position = undefined.iter().position(|entry| entry.name() == name).unwrap_or_else(|| {
        undefined.push(Entry::undefined(name));
        undefined.len() - 1
    });
    &mut undefined[position]
}

/// Of converter keys the count of bad ones is added, of all others the count of messages.
fn answer(
    case: &Case<'_>,
    mut undefined: Vec<Entry>,
    mut entries: Vec<Entry>,
    mut converters: Vec<Entry>,
) -> ConfigInfos {
    for (key, _) in case.config.iter().filter(|(_, value)| value.is_none()) {
        let known = converters.iter_mut().find(|entry| entry.name() == key);
        let entry = match known {
            Some(entry) => entry,
            None => find_or_add(&mut entries, &mut undefined, key),
        };
        entry.error("Null value can not be supplied as the configuration value.");
    }
    let messages = |entries: &[Entry]| entries.iter().map(|entry| entry.value.errors.len()).sum::<usize>();
    let bad_converter_keys = converters.iter().filter(|entry| entry.has_errors()).count();
    let error_count = messages(&undefined) + messages(&entries) + bad_converter_keys;
    let name = case.text(common::CONNECTOR_CLASS).unwrap_or_default();
    undefined.extend(entries);
    undefined.extend(converters);
    ConfigInfos::new(name, error_count, undefined)
}
