//! The fuzz targets under libFuzzer.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use bulkhead_e2e::root;

use crate::build;

/// Runs one target, or all of them one after the other, for so many seconds each.
pub fn run(target: Option<&str>, seconds: &str) -> anyhow::Result<()> {
    ensure!(seconds.parse::<u32>().is_ok_and(|seconds| seconds > 0), "`{seconds}` is no number of seconds above 0");
    let works = Command::new("cargo").args(["fuzz", "--version"]).output().is_ok_and(|output| output.status.success());
    ensure!(works, "`cargo fuzz` did not work; get it by: cargo install --locked cargo-fuzz");
    let targets = targets()?;
    match target {
        None => targets.iter().try_for_each(|target| fuzz(target, seconds)),
        Some(target) if targets.iter().any(|known| known == target) => fuzz(target, seconds),
        Some(target) => bail!("there is no target `{target}`; there are {}", targets.join(", ")),
    }
}

/// By the folders of what is kept for them.
fn targets() -> anyhow::Result<Vec<String>> {
    let folder = root().join("tests/fuzz/corpus");
    let entries = fs::read_dir(&folder).with_context(|| format!("{} can't be read", folder.display()))?;
    let name = |entry: std::io::Result<fs::DirEntry>| Ok(entry?.file_name().to_string_lossy().into_owned());
    let mut names = entries.map(name).collect::<anyhow::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

/// Built apart from everything else, for it has coverage. libFuzzer writes to the first of the two folders only.
fn fuzz(target: &str, seconds: &str) -> anyhow::Result<()> {
    let built = target_folder();
    let found = built.join("fuzz-corpus").join(target);
    fs::create_dir_all(&found)?;
    let mut command = Command::new("cargo");
    command.args(["fuzz", "run", "--fuzz-dir", "tests/fuzz/libfuzzer", "--sanitizer", "none", target]);
    command.args([found, root().join("tests/fuzz/corpus").join(target)]);
    command.args(["--", &format!("-max_total_time={seconds}"), "-timeout=10", "-rss_limit_mb=2048"]);
    command.env("CARGO_TARGET_DIR", built).current_dir(root());
    build::run_command(&mut command)
}

fn target_folder() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target/fuzz"), PathBuf::from)
}
