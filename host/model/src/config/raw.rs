//! A configuration as REST and the config topic hold it: texts by key, in the order given.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// Keys to texts, references such as `${file:…}` unresolved. Keeps the order in which keys came;
/// equality doesn't look at the order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawConfig(IndexMap<String, String>);

/// What PATCH takes, and what any configuration is before validation refused its nulls: a key with
/// no text is there, and says "null".
pub type ConfigPatch = IndexMap<String, Option<String>>;

impl RawConfig {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    pub fn contains(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub fn set(&mut self, key: impl Into<String>, value: impl Into<String>) {
        self.0.insert(key.into(), value.into());
    }

    /// Removes a key; the order of the others stays.
    pub fn remove(&mut self, key: &str) -> Option<String> {
        self.0.shift_remove(key)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The part below `prefix`, with the prefix cut: `key.converter.` gives the key converter's own.
    pub fn with_prefix(&self, prefix: &str) -> RawConfig {
        self.iter().filter_map(|(key, value)| Some((key.strip_prefix(prefix)?, value))).collect()
    }

    pub fn connector_class(&self) -> Option<&str> {
        self.get("connector.class")
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for RawConfig {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl<K: Into<String>, V: Into<String>, const N: usize> From<[(K, V); N]> for RawConfig {
    fn from(pairs: [(K, V); N]) -> Self {
        pairs.into_iter().collect()
    }
}

impl IntoIterator for RawConfig {
    type Item = (String, String);
    type IntoIter = indexmap::map::IntoIter<String, String>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}
