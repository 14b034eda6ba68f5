//! Plugins as REST lists them and as configurations name them.

mod catalog;
mod version;
mod wanted;

use std::cmp::Ordering;
use std::fmt;

use serde::Serialize;

use crate::config::ConfigDef;

pub use catalog::{CONNECTOR_VERSION, CONNECTORS, NoSuchVersion, PluginCatalog, Unresolved};
pub use version::Version;
pub use wanted::{Malformed, WantedVersion};

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

impl PluginDesc {
    /// The full class name that is meant by this name of the plugin. A short name means that of Apache's
    /// plugin, if this one stands for it: workers of both kinds then agree.
    pub fn full_name<'a>(&'a self, name: &'a str) -> &'a str {
        let mut names = self.aliases.iter().chain([&self.class]).map(String::as_str);
        names.find(|full| *full == name || self.is_short_for(name, full)).unwrap_or(&self.class)
    }

    /// By kind, then by name, then by version; whatever has no version comes first.
    fn compare(&self, other: &Self) -> Ordering {
        (self.kind, &self.class).cmp(&(other.kind, &other.class)).then_with(|| self.compare_versions(other))
    }

    fn compare_versions(&self, other: &Self) -> Ordering {
        match (self.version(), other.version()) {
            (Some(a), Some(b)) => a.compare(&b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        }
    }

    fn version(&self) -> Option<Version> {
        self.version.as_deref().map(Version::new)
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
