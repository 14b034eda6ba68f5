//! All tests, in the order in which they are likely to fail.

use std::process::Command;
use std::time::Instant;

use anyhow::{Context, bail};
use bulkhead_e2e::apache::Kafka;
use bulkhead_e2e::root;

use crate::{build, clients, openapi, prerequisites, tidy};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// What needs neither wasmtime, nor librdkafka, nor Kafka.
    Light,
    Everything,
}

pub fn run(extent: Extent) -> anyhow::Result<()> {
    match extent {
        Extent::Light => {
            step("format", || build::run("cargo", ["fmt", "--all", "--check"]))?;
            step("tidy", tidy::run)?;
            step("tests", || build::run("cargo", ["test", "--release", "--locked"]))
        }
        Extent::Everything => everything(),
    }
}

fn everything() -> anyhow::Result<()> {
    let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
    let with_kafka = in_ci || prerequisites::all_work(prerequisites::KAFKA);
    let with_python = in_ci || prerequisites::all_work(prerequisites::PYTHON);
    let with_clients = in_ci || with_kafka && with_python && prerequisites::all_work(prerequisites::JDK);
    let kafka = prerequisites::KAFKA.iter().filter(|_| with_kafka);
    let python = prerequisites::PYTHON.iter().filter(|_| with_python);
    prerequisites::check(kafka.chain(python).chain(prerequisites::JDK.iter().filter(|_| with_clients)))?;
    if !with_kafka {
        println!("left out: everything that needs a real Kafka, since `java` and `mvn` aren't both there");
    }
    step("format", || build::run("cargo", ["fmt", "--all", "--check"]))?;
    step("tidy", tidy::run)?;
    step("plugins", build::plugins)?;
    step("build", || build::run("cargo", ["build", "--release", "--locked", "--workspace", "--all-targets"]))?;
    step("lints", || {
        let lints = ["clippy", "--release", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"];
        build::run("cargo", lints)
    })?;
    step("tests", || tests(with_kafka))?;
    if with_python {
        step("openapi", openapi::run)?;
    } else {
        println!("left out: requests made from the OpenAPI document, since `python3` (3.11) with `venv` isn't there");
    }
    if with_clients {
        step("clients", || clients::run(clients::Goal::Compare))?;
    } else {
        println!("left out: third-party clients, since `java`, `javac`, `mvn` and `python3` (3.11) aren't all there");
    }
    Ok(())
}

/// All tests of the workspace, beside a real Kafka if there is one.
fn tests(with_kafka: bool) -> anyhow::Result<()> {
    let mut command = Command::new("cargo");
    command.args(["test", "--release", "--locked", "--workspace", "--no-fail-fast"]).current_dir(root());
    if !with_kafka {
        return build::run_command(&mut command);
    }
    let folder = tempfile::tempdir()?;
    let kafka = Kafka::fetch()?;
    let broker = kafka.start_broker(folder.path()).context("Kafka could not be started")?;
    println!("Kafka runs at {}", broker.address());
    command.env("BULKHEAD_KAFKA", broker.address()).env("BULKHEAD_KAFKA_HOME", kafka.home());
    build::run_command(&mut command)
}

/// The seeds of the simulated cluster alone; of a single one that fails, all that happens is shown.
pub fn simulate(which: Option<(&str, &str)>) -> anyhow::Result<()> {
    let mut command = Command::new("cargo");
    command.args(["test", "--release", "--locked", "--package", "bulkhead-simulation"]);
    command.args(["--test", "seeds", "--", "--nocapture"]);
    if let Some((name, value)) = which {
        command.env(name, value);
    }
    if let Some(("SIM_SEED", _)) = which {
        command.env("SIM_TRACE", "1");
    }
    build::run_command(command.current_dir(root()))
}

fn step(name: &str, work: impl FnOnce() -> anyhow::Result<()>) -> anyhow::Result<()> {
    println!("== {name}");
    let started = Instant::now();
    if let Err(error) = work() {
        bail!("{name}: {error:#}");
    }
    println!("== {name} done in {:.1} s", started.elapsed().as_secs_f32());
    Ok(())
}
