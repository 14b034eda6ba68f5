//! Values in files of their own: the path names the folder, the key the file.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bulkhead_model::RawConfig;
use bulkhead_model::config::Answer;

use super::allowed::AllowedPaths;
use super::{Keys, Provider, read};

pub(super) struct Directory {
    allowed: AllowedPaths,
}

impl Directory {
    pub(super) fn new(config: &RawConfig) -> Result<Self, String> {
        Ok(Self { allowed: AllowedPaths::new(config)? })
    }
}

impl Provider for Directory {
    fn get(&self, path: &str, keys: Keys<'_>) -> Result<Answer, String> {
        if path.is_empty() {
            return Ok(Answer::default());
        }
        let Some(folder) = self.allowed.locate(path) else { return Ok(Answer::default()) };
        let mut values = BTreeMap::new();
        for name in files(&folder).into_iter().filter(|name| keys.contain(name)) {
            let value = read(&folder.join(&name)).ok_or_else(|| {
                format!("Could not read file {} for property {name}", Path::new(path).join(&name).display())
            })?;
            values.insert(name, value);
        }
        Ok(Answer { values, ttl: None })
    }
}

/// Names of what is a file, or a link to one. None if this is no folder.
fn files(folder: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(folder) else {
        tracing::warn!(folder = %folder.display(), "A config provider can't read this folder.");
        return Vec::new();
    };
    let files = entries.filter_map(Result::ok).filter(|entry| entry.path().is_file());
    files.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}
