//! `allowed.paths`: below which a provider may read.

use std::path::{Path, PathBuf};

use bulkhead_model::RawConfig;

/// None: everywhere.
#[derive(Debug)]
pub(super) struct AllowedPaths(Option<Vec<PathBuf>>);

impl AllowedPaths {
    /// Every path must be absolute, and be there.
    pub(super) fn new(config: &RawConfig) -> Result<Self, String> {
        let list = config.get("allowed.paths").unwrap_or_default();
        let paths: Vec<_> = list.split(',').filter(|path| !path.is_empty()).collect();
        if paths.is_empty() {
            return Ok(Self(None));
        }
        let canonical = |path: &str| {
            if !Path::new(path).is_absolute() {
                return Err(format!("Path {path} is not absolute"));
            }
            Path::new(path).canonicalize().map_err(|_| format!("Path {path} does not exist"))
        };
        paths.into_iter().map(canonical).collect::<Result<_, _>>().map(|paths| Self(Some(paths)))
    }

    /// Where to read. None if that isn't allowed, or nothing is there: nobody is told which.
    pub(super) fn locate(&self, path: &str) -> Option<PathBuf> {
        let Some(allowed) = &self.0 else { return Some(PathBuf::from(path)) };
        let found = Path::new(path).canonicalize().ok();
        let found = found.filter(|found| allowed.iter().any(|allowed| found.starts_with(allowed)));
        if found.is_none() {
            tracing::warn!(path, "A config provider may not read this path, or it isn't there.");
        }
        found
    }
}
