use std::collections::BTreeMap;

/// A configuration as the worker holds it: keys to texts. A key without a value is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RawConfig(BTreeMap<String, String>);

impl RawConfig {
    /// An empty one.
    pub fn new() -> Self {
        Self::default()
    }

    /// The text of a key.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// The same configuration with a key set.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl ToString) -> Self {
        self.0.insert(key.into(), value.to_string());
        self
    }

    /// All keys and their texts, sorted by key.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(key, value)| (key.as_str(), value.as_str()))
    }

    /// This configuration with `over`'s keys laid over it.
    pub(crate) fn overlaid(&self, over: Self) -> Self {
        let mut both = self.clone();
        both.0.extend(over.0);
        both
    }

    pub(crate) fn into_pairs(self) -> Vec<(String, String)> {
        self.0.into_iter().collect()
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
