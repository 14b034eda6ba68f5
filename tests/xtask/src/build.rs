//! Builds. Everything is built under the one profile `release`, plugins under `guest`, so that demo,
//! tests and benches share what they compile.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail, ensure};
use bulkhead_e2e::{plugins as plugin_folder, root};

const TARGET: &str = "wasm32-wasip2";

/// Crates that are compiled to plugins, with the file each one yields.
const PLUGINS: &[(&str, &str)] = &[
    ("file-source", "file_source.wasm"),
    ("file-sink", "file_sink.wasm"),
    ("generator-source", "generator_source.wasm"),
    ("redact-transform", "redact_transform.wasm"),
    ("cbor-converter", "cbor_converter.wasm"),
    ("bulkhead-test-guests", "bulkhead_test_guests.wasm"),
];

/// Runs a command in the workspace's folder; its output is ours.
pub fn run(program: &str, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> anyhow::Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    run_command(&mut command)
}

pub fn run_command(command: &mut Command) -> anyhow::Result<()> {
    let shown = format!("{command:?}").replace('"', "");
    println!("$ {shown}");
    let status = command.status().with_context(|| format!("{shown} could not be started"))?;
    if !status.success() {
        bail!("{shown} failed with {status}");
    }
    Ok(())
}

/// Compiles the plugins and puts them where tests, demo and README expect them.
pub fn plugins() -> anyhow::Result<()> {
    add_target()?;
    let mut arguments = vec!["build", "--profile", "guest", "--target", TARGET];
    for (name, _) in PLUGINS {
        arguments.extend(["--package", name]);
    }
    run("cargo", arguments)?;
    let folder = plugin_folder();
    fs::create_dir_all(&folder)?;
    for (_, file) in PLUGINS {
        install(&target_folder()?.join(TARGET).join("guest").join(file), &folder.join(file))?;
    }
    Ok(())
}

/// Copies beside and renames, so that a worker that watches the folder never sees half a file.
fn install(from: &std::path::Path, to: &std::path::Path) -> anyhow::Result<()> {
    let beside = to.with_extension("part");
    fs::copy(from, &beside).with_context(|| format!("{} could not be copied", from.display()))?;
    fs::rename(&beside, to)?;
    Ok(())
}

pub fn worker() -> anyhow::Result<()> {
    run("cargo", ["build", "--release", "--package", "bulkhead"])
}

fn target_folder() -> anyhow::Result<PathBuf> {
    let folder = match std::env::var_os("CARGO_TARGET_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => root().join("target"),
    };
    ensure!(
        folder == root().join("target") || folder.canonicalize()? == root().join("target").canonicalize()?,
        "CARGO_TARGET_DIR is {}, but scripts rely on target/ in the workspace: unset it, or make target a link",
        folder.display()
    );
    Ok(folder)
}

/// Adds the guests' target if rustup doesn't have it yet.
fn add_target() -> anyhow::Result<()> {
    let listed = Command::new("rustup").args(["target", "list", "--installed"]).current_dir(root()).output();
    match listed {
        Ok(output) if String::from_utf8_lossy(&output.stdout).lines().any(|line| line == TARGET) => Ok(()),
        Ok(_) => run("rustup", ["target", "add", TARGET]),
        // A toolchain without rustup may bring the target by itself; the build says so if not.
        Err(_) => Ok(()),
    }
}
