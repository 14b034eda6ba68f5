//! What is fetched or made once, and kept in the user's cache.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// A folder of the cache. If it isn't there, `make` fills a folder beside it first, so that it is whole whenever it is
/// there.
pub fn cached(name: &str, make: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let cache = folder()?;
    let home = cache.join(name);
    if home.is_dir() {
        return Ok(home);
    }
    let fresh = cache.join(format!("fetching-{name}-{}", std::process::id()));
    fs::create_dir_all(&fresh)?;
    make(&fresh)?;
    if fs::rename(&fresh, &home).is_err() {
        // Someone else was quicker.
        ensure!(home.is_dir(), "{} could not be made", home.display());
        fs::remove_dir_all(&fresh)?;
    }
    Ok(home)
}

fn folder() -> Result<PathBuf> {
    let base = match std::env::var_os("XDG_CACHE_HOME") {
        Some(cache) if !cache.is_empty() => PathBuf::from(cache),
        _ => PathBuf::from(std::env::var_os("HOME").context("neither XDG_CACHE_HOME nor HOME is set")?).join(".cache"),
    };
    Ok(base.join("bulkhead"))
}
