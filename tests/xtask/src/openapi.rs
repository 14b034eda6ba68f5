//! Do answers keep to `GET /openapi.json`? Schemathesis makes requests from the document and looks at what comes back.
//!
//! It lives in a Python environment of its own in the cache, with all of its packages pinned, and draws no random
//! numbers, so that every run asks the same.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use bulkhead_e2e::apache::cache;
use bulkhead_e2e::{Kafka, Setup, Worker};

use crate::build::run_command;

const REQUIREMENTS: &str = include_str!("openapi/requirements.txt");

/// Beside examples and borderline cases, of which the document says how many there are: so many requests for each
/// operation.
const EXAMPLES: &str = "12";

/// All that concern answers. What a request may look like isn't judged: flags that are neither true nor false are false.
const CHECKS: [&str; 5] = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
];

/// Operations after which others find less to ask about.
const STOP: &str = "stopConnector";
const DELETE: &str = "deleteConnector";

/// Runs Schemathesis against a standalone worker that has the connector and the logger of the document's examples.
pub fn run() -> anyhow::Result<()> {
    let python = fetch()?;
    let folder = tempfile::tempdir()?;
    let worker = Setup::new(Kafka::Embedded, folder.path())?.start()?;
    let config = [("connector.class", "io.bulkhead.test.Hostile"), ("mode", "ok"), ("topic", "orders")];
    worker.rest.create("orders", &config)?;
    worker.rest.wait("orders", "RUNNING", 1)?;
    let check = |which: &str, operations: &[&str]| check(&python, folder.path(), &worker, which, operations);
    check("--exclude-operation-id", &[STOP, DELETE])?;
    check("--include-operation-id", &[STOP, "alterOffsets", "resetOffsets"])?;
    check("--include-operation-id", &[DELETE])
}

fn check(python: &Path, folder: &Path, worker: &Worker, which: &str, operations: &[&str]) -> anyhow::Result<()> {
    let mut command = Command::new(python);
    command.args(["-m", "schemathesis.cli", "run", "--no-color", "--generation-deterministic"]);
    command.args(["--phases", "examples,coverage,fuzzing", "--max-examples", EXAMPLES]);
    command.args(["--checks", &CHECKS.join(",")]).args(operations.iter().flat_map(|operation| [which, *operation]));
    command.arg(format!("{}/openapi.json", worker.rest.base()));
    run_command(command.current_dir(folder).stdin(Stdio::null()))
}

/// Finds the environment in the cache, or makes it (about 95 MB). Returns its Python.
fn fetch() -> anyhow::Result<PathBuf> {
    let version = REQUIREMENTS.lines().find_map(|line| line.strip_prefix("schemathesis=="));
    let version = version.context("openapi/requirements.txt doesn't name schemathesis")?;
    let home = cache()?.join(format!("schemathesis-{version}"));
    if !home.is_dir() {
        install(&home).context("Schemathesis could not be installed")?;
    }
    Ok(python(&home))
}

fn python(environment: &Path) -> PathBuf {
    environment.join("bin/python")
}

/// Puts everything into a folder beside `home` first, so that `home` is whole whenever it is there.
fn install(home: &Path) -> anyhow::Result<()> {
    let cache = home.parent().context("the cache has no folder")?;
    let fresh = cache.join(format!("fetching-schemathesis-{}", std::process::id()));
    fs::create_dir_all(cache)?;
    run_command(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&fresh))?;
    let requirements = fresh.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS)?;
    let mut pip = Command::new(python(&fresh));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--requirement"]).arg(&requirements);
    run_command(&mut pip)?;
    if fs::rename(&fresh, home).is_err() {
        // Someone else was quicker.
        ensure!(home.is_dir(), "{} could not be made", home.display());
        fs::remove_dir_all(&fresh)?;
    }
    Ok(())
}
