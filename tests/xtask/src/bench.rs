//! Benches. Figures are for comparison inside one run on one machine.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::bail;
use bulkhead_e2e::{Kafka, Setup, root};

use crate::broker;
use crate::{build, prerequisites};

/// Starts of the worker of which the median counts.
const STARTS: usize = 7;

/// Whether Apache Kafka Connect is measured as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    None,
    Apache,
}

pub fn run(name: &str) -> anyhow::Result<()> {
    if name == "assignor" {
        return assignor();
    }
    prerequisites::check(&[])?;
    build::plugins()?;
    match name {
        "instantiate" | "boundary" => micro(name),
        "startup" => startup(),
        "worker" => worker(Peer::None),
        "all" => {
            assignor()?;
            micro("instantiate")?;
            micro("boundary")?;
            startup()?;
            worker(Peer::Apache)
        }
        _ => bail!("there is no bench `{name}`"),
    }
}

/// What the leader of a large group thinks up, without any group.
fn assignor() -> anyhow::Result<()> {
    let package = ["run", "--release", "--quiet", "--package", "bulkhead-herder"];
    build::run("cargo", package.into_iter().chain(["--example", "assignor", "--", "--check"]))
}

fn micro(name: &str) -> anyhow::Result<()> {
    build::run("cargo", ["run", "--release", "--quiet", "--package", "bulkhead-bench", "--", name, "--check"])
}

/// From the start of the process to its first REST answer, compiled plugins being in the cache.
fn startup() -> anyhow::Result<()> {
    build::worker()?;
    let folder = tempfile::tempdir()?;
    let setup = Setup::new(Kafka::Embedded, folder.path())?;
    setup.start()?;
    let mut times = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let started = Instant::now();
        let worker = setup.start()?;
        times.push(started.elapsed());
        drop(worker);
    }
    times.sort();
    println!("start to first REST answer: median {:?}, most {:?}", times[STARTS / 2], times[STARTS - 1]);
    if times[STARTS / 2] > Duration::from_secs(1) {
        bail!("the median is over 1 s");
    }
    Ok(())
}

/// File to topic and topic to file, on real Kafka; with the peer, side by side on the same broker.
pub fn worker(peer: Peer) -> anyhow::Result<()> {
    prerequisites::check(prerequisites::KAFKA)?;
    build::plugins()?;
    build::worker()?;
    build::run("cargo", ["build", "--release", "--package", "bulkhead-bench"])?;
    let folder = tempfile::tempdir()?;
    let kafka = broker::Kafka::fetch()?;
    let broker = kafka.start_broker(&folder.path().join("broker"))?;
    let ours = folder.path().join("bulkhead");
    std::fs::create_dir_all(&ours)?;
    let worker = Setup::new(Kafka::At(broker.address()), &ours)?.start()?;
    let measure = |name: &str, url: &str| {
        let bench = root().join("target/release/bulkhead-bench");
        let mut command = Command::new(bench);
        command.args(["worker", "--name", name, "--url", url, "--bootstrap", &broker.address(), "--folder"]);
        command.arg(&ours);
        build::run_command(&mut command)
    };
    let apache = match peer {
        Peer::None => None,
        Peer::Apache => {
            let folder = folder.path().join("apache");
            Some(kafka.start_connect(&broker, &folder, "")?)
        }
    };
    // The first round warms both up; of the next three the figures are to be compared.
    for round in ["warm-up", "1", "2", "3"] {
        println!("-- round {round}");
        measure("bulkhead", worker.rest.base())?;
        if let Some(apache) = &apache {
            measure("apache", &apache.url())?;
        }
    }
    Ok(())
}
