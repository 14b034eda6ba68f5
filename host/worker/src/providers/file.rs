//! Values in a `.properties` file: the path names the file, the key the property.

use std::collections::BTreeMap;
use std::path::Path;

use bulkhead_model::RawConfig;
use bulkhead_model::config::Answer;

use super::allowed::AllowedPaths;
use super::{Keys, Provider, read};
use crate::properties;

pub(super) struct File {
    allowed: AllowedPaths,
}

impl File {
    pub(super) fn new(config: &RawConfig) -> Result<Self, String> {
        Ok(Self { allowed: AllowedPaths::new(config)? })
    }
}

impl Provider for File {
    fn get(&self, path: &str, keys: Keys<'_>) -> Result<Answer, String> {
        if path.is_empty() {
            return Ok(Answer::default());
        }
        let Some(file) = self.allowed.locate(path) else { return Ok(Answer::default()) };
        let properties = properties(&file).ok_or_else(|| format!("Could not read properties from file {path}"))?;
        Ok(keys.of(properties))
    }
}

fn properties(file: &Path) -> Option<BTreeMap<String, String>> {
    let properties = properties::parse(&read(file)?).ok()?;
    Some(properties.into_iter().collect())
}
