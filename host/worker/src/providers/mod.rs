//! Config providers (KIP-297): where the values of references come from.
//!
//! Connectors are configured, stored and shown with references; the worker puts the values in just before
//! it starts or asks an instance.

mod allowed;
mod directory;
mod environment;
mod file;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::RawConfig;
use bulkhead_model::config::references::{Source, wanted};
use bulkhead_model::config::{Answer, Resolution};

use crate::secrets::Secrets;
use directory::Directory;
use environment::Environment;
use file::File;

/// Largest file that a provider reads: a path is anything a client may write, `/dev/zero` too.
const MAX_BYTES: u64 = 1024 * 1024;

/// Connect's providers, by the names that their classes have here.
const CLASSES: [(&str, Make); 3] = [
    ("org.apache.kafka.common.config.provider.FileConfigProvider", |config, _| Ok(Box::new(File::new(config)?))),
    ("org.apache.kafka.common.config.provider.DirectoryConfigProvider", |config, _| {
        Ok(Box::new(Directory::new(config)?))
    }),
    ("org.apache.kafka.common.config.provider.EnvVarConfigProvider", |config, variables| {
        Ok(Box::new(Environment::new(config, variables)?))
    }),
];

type Make = fn(&RawConfig, &BTreeMap<String, String>) -> Result<Box<dyn Provider>, String>;

/// A source of values. Errors are texts for people.
pub trait Provider: Send + Sync + 'static {
    /// May block. What it doesn't have, or may not give, it leaves out.
    fn get(&self, path: &str, keys: Keys<'_>) -> Result<Answer, String>;
}

/// What a provider is asked for.
#[derive(Clone, Copy, Debug)]
pub enum Keys<'a> {
    All,
    These(&'a BTreeSet<String>),
}

/// The providers of a worker, by the names that its properties give them.
#[derive(Clone, Default)]
pub struct Providers {
    by_name: Arc<BTreeMap<String, Named>>,
    secrets: Secrets,
}

/// A provider, and how long its values hold if it doesn't say so itself.
struct Named {
    provider: Box<dyn Provider>,
    ttl: Option<Duration>,
}

/// Makes a provider of one of Connect's classes. `variables` is the environment.
pub fn create(
    class: &str,
    config: &RawConfig,
    variables: &BTreeMap<String, String>,
) -> Result<Box<dyn Provider>, String> {
    let known = CLASSES.iter().find(|(full, _)| names(full).any(|name| name == class));
    let Some((_, make)) = known else {
        let known: Vec<_> = CLASSES.iter().map(|(class, _)| *class).collect();
        return Err(format!("there is no class {class}; there are {}", known.join(", ")));
    };
    make(config, variables)
}

/// The full name, and as Connect shortens it.
fn names(full: &str) -> impl Iterator<Item = &str> {
    let simple = full.rsplit('.').next().unwrap_or(full);
    [full, simple, simple.trim_end_matches("ConfigProvider")].into_iter()
}

/// The environment of this process, as far as it is text.
pub fn environment() -> BTreeMap<String, String> {
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.into_string().ok()?))
    };
    std::env::vars_os().filter_map(text).collect()
}

impl Providers {
    /// Reads `config.providers` and what belongs to it. The error is everything that is wrong.
    pub fn from_properties(
        properties: &RawConfig,
        variables: &BTreeMap<String, String>,
        secrets: Secrets,
    ) -> Result<Self, Vec<String>> {
        let list = properties.get("config.providers").unwrap_or_default();
        let mut by_name = BTreeMap::new();
        let mut problems = Vec::new();
        for name in list.split(',').map(str::trim).filter(|name| !name.is_empty()) {
            match named(properties, name, variables) {
                Ok(named) => drop(by_name.insert(name.to_owned(), named)),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() { Ok(Self { by_name: Arc::new(by_name), secrets }) } else { Err(problems) }
    }

    pub fn new(by_name: BTreeMap<String, Box<dyn Provider>>, secrets: Secrets) -> Self {
        let named = by_name.into_iter().map(|(name, provider)| (name, Named { provider, ttl: None }));
        Self { by_name: Arc::new(named.collect()), secrets }
    }

    /// Asks for everything that a configuration refers to. May block.
    pub fn resolve(&self, config: &RawConfig) -> Resolution {
        let wanted = wanted(config, |provider| self.by_name.contains_key(provider));
        let answer = |(source, keys): (Source, BTreeSet<String>)| {
            let Named { provider, ttl } = self.by_name.get(&source.provider)?;
            let answer = provider.get(&source.path, Keys::These(&keys));
            Some((source, answer.map(|answer| Answer { ttl: answer.ttl.or(*ttl), ..answer })))
        };
        let answers: BTreeMap<_, _> = wanted.into_iter().filter_map(answer).collect();
        let resolution = Resolution::new(config, &answers);
        self.secrets.remember(&resolution);
        resolution
    }

    /// A text for people, without any value that any configuration has referred to.
    pub fn mask<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.secrets.mask(text)
    }

    /// Whether there is anything to ask for.
    pub fn concern(&self, config: &RawConfig) -> bool {
        !self.by_name.is_empty() && !wanted(config, |provider| self.by_name.contains_key(provider)).is_empty()
    }
}

fn named(properties: &RawConfig, name: &str, variables: &BTreeMap<String, String>) -> Result<Named, String> {
    let key = format!("config.providers.{name}.class");
    let class = properties.get(&key).map(str::trim).filter(|class| !class.is_empty());
    let class = class.ok_or_else(|| format!("config provider {name} has no class; set {key}"))?;
    let parameters = properties.with_prefix(&format!("config.providers.{name}.param."));
    let made = || Ok(Named { ttl: ttl(&parameters)?, provider: create(class, &parameters, variables)? });
    made().map_err(|error: String| format!("config provider {name}: {error}"))
}

/// Connect's own providers say nothing of a time; ours can be told one.
fn ttl(parameters: &RawConfig) -> Result<Option<Duration>, String> {
    let Some(text) = parameters.get("ttl.ms") else { return Ok(None) };
    match text.trim().parse() {
        Ok(millis) if millis > 0 => Ok(Some(Duration::from_millis(millis))),
        _ => Err(format!("ttl.ms has to be a number of milliseconds above 0, not {text:?}")),
    }
}

/// The text of a regular file that isn't too large.
fn read(path: &Path) -> Option<String> {
    // Before it is opened: opening a pipe waits for whoever writes into it.
    if !path.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    std::fs::File::open(path).ok()?.take(MAX_BYTES + 1).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    (text.len() as u64 <= MAX_BYTES).then_some(text)
}

impl fmt::Debug for Providers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.by_name.keys()).finish()
    }
}

impl Keys<'_> {
    fn contain(&self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::These(keys) => keys.contains(key),
        }
    }

    fn of(&self, values: BTreeMap<String, String>) -> Answer {
        let values = values.into_iter().filter(|(key, _)| self.contain(key)).collect();
        Answer { values, ttl: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(properties: &[(&str, &str)]) -> String {
        let properties = properties.iter().copied().collect();
        match Providers::from_properties(&properties, &BTreeMap::new(), Secrets::default()) {
            Ok(providers) => format!("{providers:?}"),
            Err(problems) => problems.join("; "),
        }
    }

    #[test]
    fn providers_have_a_name_and_a_class() {
        let file = ("config.providers.f.class", "org.apache.kafka.common.config.provider.FileConfigProvider");
        assert_eq!(problems(&[]), "{}");
        assert_eq!(problems(&[("config.providers", " f , "), file]), r#"{"f"}"#);
        assert_eq!(problems(&[("config.providers", "f"), (file.0, "FileConfigProvider")]), r#"{"f"}"#);
        let missing = problems(&[("config.providers", "f,g"), file]);
        assert_eq!(missing, "config provider g has no class; set config.providers.g.class");
        let unknown = problems(&[("config.providers", "v"), ("config.providers.v.class", "a.VaultConfigProvider")]);
        assert!(unknown.starts_with("config provider v: there is no class a.VaultConfigProvider; there are "));
        let relative = problems(&[("config.providers", "f"), file, ("config.providers.f.param.allowed.paths", "a")]);
        assert_eq!(relative, "config provider f: Path a is not absolute");
    }

    #[test]
    fn values_hold_for_ever_or_for_some_time() {
        let file = ("config.providers.f.class", "FileConfigProvider");
        let problems_of = |ttl| problems(&[("config.providers", "f"), file, ("config.providers.f.param.ttl.ms", ttl)]);
        assert_eq!(problems_of(" 60000 "), r#"{"f"}"#);
        for wrong in ["0", "-1", "1m", ""] {
            let expected = "config provider f: ttl.ms has to be a number of milliseconds above 0, not ";
            assert_eq!(problems_of(wrong), format!("{expected}{wrong:?}"));
        }
    }
}
