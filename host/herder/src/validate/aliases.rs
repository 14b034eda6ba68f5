//! The sections of transformations and predicates: `transforms.A.…`, `predicates.A.…`.

use bulkhead_model::config::{ConfigKey, ConfigType, DefaultValue, Given, Importance, Typed, Width};
use bulkhead_model::plugin::{PluginDesc, PluginKind};

use super::infos::Entry;
use super::judge::Case;
use super::plugins::{classes, resolve_class};

/// Transformations or predicates.
pub(super) struct Family {
    /// The key that lists the aliases, and the prefix of theirs.
    list: &'static str,
    kind: PluginKind,
    group: &'static str,
    word: &'static str,
}

pub(super) const TRANSFORMS: Family =
    Family { list: "transforms", kind: PluginKind::Transformation, group: "Transforms", word: "Transformation" };
pub(super) const PREDICATES: Family =
    Family { list: "predicates", kind: PluginKind::Predicate, group: "Predicates", word: "Predicate" };

/// One section for each alias, in the order in which they are listed.
pub(super) fn entries(case: &Case<'_>, family: &Family) -> Vec<Entry> {
    aliases(case, family).iter().flat_map(|alias| Section { case, family, alias }.entries()).collect()
}

/// An alias listed twice has one section; that it is listed twice is reported on the list.
fn aliases(case: &Case<'_>, family: &Family) -> Vec<String> {
    let Some(Ok(Typed::List(listed))) = case.text(family.list).map(|text| ConfigType::List.parse(text)) else {
        return Vec::new();
    };
    let mut aliases: Vec<String> = Vec::new();
    for alias in listed {
        if !alias.is_empty() && !aliases.contains(&alias) {
            aliases.push(alias);
        }
    }
    aliases
}

struct Section<'a> {
    case: &'a Case<'a>,
    family: &'a Family,
    alias: &'a str,
}

impl Section<'_> {
    fn entries(&self) -> Vec<Entry> {
        let mut class = self.class();
        let latest = resolve_class(&mut class, self.case.catalog, self.family.kind);
        self.check_negate(&mut class);
        let (version, plugin) = self.version(latest);
        let own = plugin.map_or_else(Vec::new, |plugin| self.own(plugin));
        [class, version].into_iter().chain(own).collect()
    }

    fn class(&self) -> Entry {
        let Family { kind, word, .. } = self.family;
        let documentation = format!("Class of the {} {}.", word.to_lowercase(), self.alias);
        let key = ConfigKey::new("type", ConfigType::Class, DefaultValue::Required, Importance::High, &documentation);
        let display = format!("{word} type for {}", self.alias);
        let mut entry = self.entry(key.with_group("", 0, Width::Long, &display), 0);
        entry.value.recommended = classes(self.case.catalog, *kind);
        entry
    }

    /// The key, and the plugin in the version that it asks for.
    fn version(&self, latest: Option<&PluginDesc>) -> (Entry, Option<&PluginDesc>) {
        let version = latest.and_then(|plugin| plugin.version.as_deref());
        let default = version.map_or(DefaultValue::Null, |version| DefaultValue::Value(version.to_owned()));
        let documentation = format!("Version of the {} {}.", self.family.word.to_lowercase(), self.alias);
        let key = ConfigKey::new("plugin.version", ConfigType::String, default, Importance::High, &documentation);
        let display = format!("{} version for {}", self.family.word, self.alias);
        let mut entry = self.entry(key.with_group("", 1, Width::Long, &display), 1);
        let plugin = self.case.check_version(&mut entry, latest);
        (entry, plugin)
    }

    fn own(&self, plugin: &PluginDesc) -> Vec<Entry> {
        let own = plugin.config.keys.iter().filter(|key| !key.internal).cloned();
        let added = match self.family.kind {
            PluginKind::Transformation => predicate_keys(),
            PluginKind::Predicate
            | PluginKind::Sink
            | PluginKind::Source
            | PluginKind::Converter
            | PluginKind::HeaderConverter => Vec::new(),
        };
        (2..).zip(own.chain(added)).map(|(order, key)| self.entry(key, order)).collect()
    }

    /// A transformation that negates must have something to negate.
    fn check_negate(&self, class: &mut Entry) {
        let given = |key: &str| self.case.given(&self.prefixed(key)) != Given::Absent;
        if self.family.kind == PluginKind::Transformation && given("negate") && !given("predicate") {
            class.error(format!("{} is set, but {} is not", self.prefixed("negate"), self.prefixed("predicate")));
        }
    }

    /// A key of the plugin as a key of the connector.
    fn entry(&self, mut key: ConfigKey, order: i32) -> Entry {
        let outer = format!("{}: {}", self.family.group, self.alias);
        key.group = match key.group.filter(|group| !group.is_empty()) {
            Some(inner) => Some(format!("{outer}: {inner}")),
            None => Some(outer),
        };
        key.order = order;
        key.name = self.prefixed(&key.name);
        key.dependents = key.dependents.iter().map(|dependent| self.prefixed(dependent)).collect();
        let value = key.validate(self.case.given(&key.name));
        Entry { key: Some(key), value }
    }

    fn prefixed(&self, key: &str) -> String {
        format!("{}.{}.{key}", self.family.list, self.alias)
    }
}

/// What every transformation has besides its own keys.
fn predicate_keys() -> Vec<ConfigKey> {
    let key =
        |name, kind, default, documentation| ConfigKey::new(name, kind, default, Importance::Medium, documentation);
    vec![
        key(
            "negate",
            ConfigType::Boolean,
            DefaultValue::Value("false".to_owned()),
            "Apply the transformation to the records that the predicate doesn't match.",
        ),
        key(
            "predicate",
            ConfigType::String,
            DefaultValue::Null,
            "Alias of the predicate that says which records the transformation applies to.",
        ),
    ]
}
