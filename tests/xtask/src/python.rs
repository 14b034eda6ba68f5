//! Python environments in the cache, with all of their packages pinned.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use bulkhead_e2e::cached;

use crate::build::run_command;

/// Finds the environment with these requirements, or makes it. Returns its Python. Whatever packages need themselves
/// has to be among the requirements.
pub fn environment(name: &str, requirements: &str) -> anyhow::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    requirements.hash(&mut hasher);
    let home = cached(&format!("{name}-{:016x}", hasher.finish()), |fresh| install(fresh, requirements));
    Ok(python(&home.with_context(|| format!("the Python packages of {name} could not be installed"))?))
}

fn python(environment: &Path) -> PathBuf {
    environment.join("bin/python")
}

fn install(home: &Path, requirements: &str) -> anyhow::Result<()> {
    run_command(Command::new("python3").args(["-m", "venv", "--clear"]).arg(home))?;
    let file = home.join("requirements.txt");
    fs::write(&file, requirements)?;
    let mut pip = Command::new(python(home));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--requirement"])
        .arg(&file);
    run_command(&mut pip)
}
