//! Do answers keep to `GET /openapi.json`? Schemathesis makes requests from the document and looks at what comes back.
//!
//! It lives in a Python environment of its own in the cache, with all of its packages pinned, and draws no random
//! numbers, so that every run asks the same.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use bulkhead_e2e::{Kafka, Setup, Worker};

use crate::build::run_command;
use crate::python;

/// Media types that Schemathesis doesn't know.
const HOOKS: &str = include_str!("openapi/hooks.py");

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
    let python = python::environment("schemathesis", REQUIREMENTS)?;
    let folder = tempfile::tempdir()?;
    let worker = Setup::new(Kafka::Embedded, folder.path())?.with("plugin.upload.enable", "true").start()?;
    fs::write(folder.path().join("hooks.py"), HOOKS)?;
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
    command.arg(format!("{}/openapi.json", worker.rest.base())).env("SCHEMATHESIS_HOOKS", folder.join("hooks.py"));
    run_command(command.current_dir(folder).stdin(Stdio::null()))
}
