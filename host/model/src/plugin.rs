//! Plugins as REST lists them and as configurations name them.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::config::ConfigDef;

/// What kind of plugin a class is; the order is that of `GET /connector-plugins`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PluginKind {
    Sink,
    Source,
    Transformation,
    Predicate,
    Converter,
    HeaderConverter,
}

/// One installed plugin: a guest's connector, or a converter, transform or predicate of our own.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginDesc {
    /// Full name for `connector.class` and its like.
    pub class: String,
    /// Other full names under which configurations may name it, e.g. of the Apache class it replaces.
    pub aliases: Vec<String>,
    pub kind: PluginKind,
    pub version: Option<String>,
    pub documentation: String,
    pub config: ConfigDef,
}

/// Everything installed, as of one scan of `plugin.path`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PluginCatalog {
    plugins: Vec<Arc<PluginDesc>>,
}

/// Why a name leads to no plugin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unresolved {
    Unknown,
    /// A short name that more than one class has.
    Ambiguous(Vec<String>),
}

impl PluginCatalog {
    /// Sorted as REST lists them: by kind, then by name.
    pub fn new(plugins: impl IntoIterator<Item = PluginDesc>) -> Self {
        let mut plugins: Vec<_> = plugins.into_iter().map(Arc::new).collect();
        plugins.sort_by(|a, b| (a.kind, &a.class).cmp(&(b.kind, &b.class)));
        Self { plugins }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<PluginDesc>> {
        self.plugins.iter()
    }

    /// Finds a plugin by full name, alias, simple name, or simple name without the ending of its
    /// kind (`FileStreamSource`, `Json`), among those of the given kinds. Case-sensitive.
    pub fn resolve(&self, name: &str, kinds: &[PluginKind]) -> Result<&Arc<PluginDesc>, Unresolved> {
        let of_kind = || self.plugins.iter().filter(|plugin| kinds.contains(&plugin.kind));
        if let Some(plugin) = of_kind().find(|plugin| plugin.full_names().any(|full| full == name)) {
            return Ok(plugin);
        }
        let mut found: Vec<_> = of_kind().filter(|plugin| plugin.has_short_name(name)).collect();
        found.dedup_by(|a, b| a.class == b.class);
        match found.as_slice() {
            [] => Err(Unresolved::Unknown),
            [plugin] => Ok(plugin),
            several => Err(Unresolved::Ambiguous(several.iter().map(|plugin| plugin.class.clone()).collect())),
        }
    }

    /// The connector of this class or alias.
    pub fn connector(&self, class: &str) -> Result<&Arc<PluginDesc>, Unresolved> {
        self.resolve(class, &[PluginKind::Source, PluginKind::Sink])
    }
}

impl PluginDesc {
    /// The full class name that is meant by this name of the plugin. A short name means that of Apache's
    /// plugin, if this one stands for it: workers of both kinds then agree.
    pub fn full_name<'a>(&'a self, name: &'a str) -> &'a str {
        let mut names = self.aliases.iter().chain([&self.class]).map(String::as_str);
        names.find(|full| *full == name || self.is_short_for(name, full)).unwrap_or(&self.class)
    }

    fn full_names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.class.as_str()).chain(self.aliases.iter().map(String::as_str))
    }

    fn has_short_name(&self, name: &str) -> bool {
        self.full_names().any(|full| self.is_short_for(name, full))
    }

    fn is_short_for(&self, name: &str, full: &str) -> bool {
        let simple = full.rsplit(['.', '$']).next().unwrap_or(full);
        simple == name || simple.strip_suffix(self.kind.class_suffix()) == Some(name)
    }
}

impl PluginKind {
    /// The ending that a short name may leave out.
    fn class_suffix(self) -> &'static str {
        match self {
            Self::Sink | Self::Source => "Connector",
            Self::Transformation => "Transformation",
            Self::Predicate => "Predicate",
            Self::Converter | Self::HeaderConverter => "Converter",
        }
    }
}

impl fmt::Display for PluginKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sink => "sink",
            Self::Source => "source",
            Self::Transformation => "transformation",
            Self::Predicate => "predicate",
            Self::Converter => "converter",
            Self::HeaderConverter => "header_converter",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stands_for_a_class_that_other_workers_know_too() {
        const APACHES: &str = "org.apache.kafka.connect.file.FileStreamSourceConnector";
        let mut source = plugin("io.bulkhead.FileStreamSourceConnector", PluginKind::Source);
        source.aliases.push(APACHES.to_owned());
        for name in [APACHES, "FileStreamSource", "FileStreamSourceConnector"] {
            assert_eq!(source.full_name(name), APACHES);
        }
        assert_eq!(source.full_name("io.bulkhead.FileStreamSourceConnector"), "io.bulkhead.FileStreamSourceConnector");
    }

    fn plugin(class: &str, kind: PluginKind) -> PluginDesc {
        PluginDesc {
            class: class.to_owned(),
            aliases: Vec::new(),
            kind,
            version: None,
            documentation: String::new(),
            config: ConfigDef::default(),
        }
    }

    #[test]
    fn a_class_is_found_by_full_simple_and_short_name_and_by_alias() {
        let mut source = plugin("io.example.FileSourceConnector", PluginKind::Source);
        source.aliases.push("org.apache.kafka.connect.file.FileStreamSourceConnector".to_owned());
        let catalog = PluginCatalog::new([source]);
        for name in [
            "io.example.FileSourceConnector",
            "FileSourceConnector",
            "FileSource",
            "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "FileStreamSource",
        ] {
            assert!(catalog.connector(name).is_ok(), "{name}");
        }
        assert_eq!(catalog.connector("filesource"), Err(Unresolved::Unknown));
    }

    #[test]
    fn a_short_name_of_two_classes_is_ambiguous() {
        let catalog = PluginCatalog::new([plugin("a.X", PluginKind::Source), plugin("b.X", PluginKind::Sink)]);
        assert_eq!(catalog.connector("X"), Err(Unresolved::Ambiguous(vec!["b.X".to_owned(), "a.X".to_owned()])));
        assert!(catalog.connector("a.X").is_ok());
    }
}
