//! Everything installed, and what a name and a version lead to.

use std::fmt;
use std::sync::Arc;

use super::{Malformed, PluginDesc, PluginKind, WantedVersion};
use crate::config::RawConfig;

/// Key of a connector's configuration: which version of its plugin is wanted (KIP-891).
pub const CONNECTOR_VERSION: &str = "connector.plugin.version";

pub const CONNECTORS: [PluginKind; 2] = [PluginKind::Source, PluginKind::Sink];

/// Everything installed, as of one scan of `plugin.path`. A class may be there in several versions.
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
    NoSuchVersion(NoSuchVersion),
}

/// A class is installed, but in none of the versions that are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSuchVersion {
    pub wanted: String,
    /// Why what is wanted is neither a version nor ranges, if it isn't.
    pub malformed: Option<Malformed>,
    pub installed: Vec<String>,
}

impl Unresolved {
    /// For people: why a name doesn't lead to what was looked for, e.g. a kind of plugin.
    pub fn explain(&self, what: impl fmt::Display, name: &str) -> String {
        match self {
            Self::Unknown => format!("no {what} of the class `{name}` is installed"),
            Self::Ambiguous(classes) => format!("`{name}` may be any of {}", classes.join(", ")),
            Self::NoSuchVersion(other) => format!("`{name}`: {other}"),
        }
    }
}

impl PluginCatalog {
    /// Sorted as REST lists them: by kind, then by name, then by version.
    pub fn new(plugins: impl IntoIterator<Item = PluginDesc>) -> Self {
        let mut sorted: Vec<Arc<PluginDesc>> = Vec::new();
        for plugin in plugins {
            // No `sort`: versions have no total order.
            let place = sorted.partition_point(|before| before.compare(&plugin).is_le());
            sorted.insert(place, Arc::new(plugin));
        }
        Self { plugins: sorted }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<PluginDesc>> {
        self.plugins.iter()
    }

    /// Finds a plugin by full name, alias, simple name, or simple name without the ending of its
    /// kind (`FileStreamSource`, `Json`), among those of the given kinds. Case-sensitive. Of several versions it is the
    /// latest.
    pub fn resolve(&self, name: &str, kinds: &[PluginKind]) -> Result<&Arc<PluginDesc>, Unresolved> {
        self.resolve_version(name, kinds, None)
    }

    /// The same in the latest of the wanted versions; without any wanted, in the latest (KIP-891).
    pub fn resolve_version(
        &self,
        name: &str,
        kinds: &[PluginKind],
        wanted: Option<&str>,
    ) -> Result<&Arc<PluginDesc>, Unresolved> {
        let class = self.class(name, kinds)?;
        let refused = |malformed| {
            let wanted = wanted.unwrap_or_default().trim().to_owned();
            Unresolved::NoSuchVersion(NoSuchVersion { wanted, malformed, installed: self.versions(class, kinds) })
        };
        let version = wanted.map_or(Ok(WantedVersion::Latest), str::parse);
        let version = version.map_err(|malformed| refused(Some(malformed)))?;
        let fitting = self.of_class(class, kinds).filter(|plugin| version.includes(plugin.version().as_ref()));
        // Of kinds that share a class the first one counts.
        let latest = fitting.reduce(|latest, next| if next.compare_versions(latest).is_gt() { next } else { latest });
        latest.ok_or_else(|| refused(None))
    }

    /// The connector of this class or alias.
    pub fn connector(&self, class: &str) -> Result<&Arc<PluginDesc>, Unresolved> {
        self.resolve(class, &CONNECTORS)
    }

    /// The connector that a configuration names by `connector.class` and `connector.plugin.version`.
    pub fn connector_of(&self, config: &RawConfig) -> Result<&Arc<PluginDesc>, Unresolved> {
        let class = config.connector_class().unwrap_or_default();
        self.resolve_version(class, &CONNECTORS, config.get(CONNECTOR_VERSION))
    }

    /// Whether a name leads to plugins of this kind, be it to more than one.
    pub fn knows(&self, name: &str, kind: PluginKind) -> bool {
        self.resolve(name, &[kind]) != Err(Unresolved::Unknown)
    }

    /// The full class name that is meant by a name; the name itself if it leads to no plugin.
    pub fn full_name<'a>(&'a self, name: &'a str, kind: PluginKind) -> &'a str {
        self.resolve(name, &[kind]).map_or(name, |plugin| plugin.full_name(name))
    }

    /// The versions of a class, ascending.
    pub fn versions(&self, class: &str, kinds: &[PluginKind]) -> Vec<String> {
        let mut versions: Vec<String> = Vec::new();
        for version in self.of_class(class, kinds).filter_map(|plugin| plugin.version.as_ref()) {
            if !versions.contains(version) {
                versions.push(version.clone());
            }
        }
        versions
    }

    fn of_class(&self, class: &str, kinds: &[PluginKind]) -> impl Iterator<Item = &Arc<PluginDesc>> {
        self.plugins.iter().filter(move |plugin| kinds.contains(&plugin.kind) && plugin.class == class)
    }

    /// The class that is meant by a name.
    fn class(&self, name: &str, kinds: &[PluginKind]) -> Result<&str, Unresolved> {
        let of_kind = || self.plugins.iter().filter(|plugin| kinds.contains(&plugin.kind));
        if let Some(plugin) = of_kind().find(|plugin| plugin.full_names().any(|full| full == name)) {
            return Ok(&plugin.class);
        }
        let found = of_kind().filter(|plugin| plugin.has_short_name(name)).map(|plugin| plugin.class.as_str());
        let mut classes: Vec<&str> = Vec::new();
        for class in found {
            if !classes.contains(&class) {
                classes.push(class);
            }
        }
        match classes.as_slice() {
            [] => Err(Unresolved::Unknown),
            [class] => Ok(class),
            several => Err(Unresolved::Ambiguous(several.iter().map(|class| (*class).to_owned()).collect())),
        }
    }
}

impl fmt::Display for NoSuchVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.malformed {
            Some(malformed) => {
                write!(f, "`{}` is neither a version nor a range of versions: {malformed}", self.wanted)?
            }
            None => write!(f, "version {} is not installed", self.wanted)?,
        }
        match self.installed.as_slice() {
            [] => f.write_str(" (what is installed has no version)"),
            installed => write!(f, " (installed: {})", installed.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigDef;

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

    fn in_versions(class: &str, versions: &[&str]) -> impl Iterator<Item = PluginDesc> {
        let of =
            |version: &&str| PluginDesc { version: Some((*version).to_owned()), ..plugin(class, PluginKind::Source) };
        versions.iter().map(of).collect::<Vec<_>>().into_iter()
    }

    /// The version that is chosen of 1.9, 1.10, 2.0-rc1 and 2.0.
    fn check(wanted: Option<&str>, expected: &str) {
        let catalog = PluginCatalog::new(in_versions("a.X", &["2.0", "1.9", "2.0-rc1", "1.10"]));
        let found = match catalog.resolve_version("X", &CONNECTORS, wanted) {
            Ok(plugin) => plugin.version.clone().unwrap(),
            Err(Unresolved::NoSuchVersion(no_such)) => no_such.to_string(),
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(found, expected, "{wanted:?}");
    }

    #[test]
    fn the_latest_of_the_wanted_versions_is_chosen() {
        check(None, "2.0");
        check(Some("latest"), "2.0");
        check(Some("1.9"), "1.9");
        check(Some("[1.0,2.0)"), "2.0-rc1");
        check(Some("[1.0,2.0-alpha)"), "1.10");
        check(Some("3"), "version 3 is not installed (installed: 1.9, 1.10, 2.0-rc1, 2.0)");
        check(
            Some("[3"),
            "`[3` is neither a version nor a range of versions: a range ends in `]` or `)` \
             (installed: 1.9, 1.10, 2.0-rc1, 2.0)",
        );
    }

    #[test]
    fn a_name_of_an_old_version_leads_to_the_latest() {
        let mut versions: Vec<_> = in_versions("a.X", &["1", "2"]).collect();
        versions[0].aliases.push("b.Old".to_owned());
        let catalog = PluginCatalog::new(versions);
        assert_eq!(catalog.connector("Old").unwrap().version.as_deref(), Some("2"));
        let config = RawConfig::from([("connector.class", "b.Old"), ("connector.plugin.version", "1")]);
        assert_eq!(catalog.connector_of(&config).unwrap().version.as_deref(), Some("1"));
    }

    #[test]
    fn versions_without_a_total_order_are_listed_all_the_same() {
        let circle = ["1-alpha", "1", "1.foo-bar2baz", "1.0-0-alpha", "1-sp"];
        let many: Vec<_> = circle.iter().cycle().take(200).copied().collect();
        let catalog = PluginCatalog::new(in_versions("a.X", &many));
        assert_eq!(catalog.iter().count(), 200);
        assert_eq!(catalog.versions("a.X", &CONNECTORS).len(), circle.len());
    }
}
