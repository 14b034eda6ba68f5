//! Benches. Figures are for comparison inside one run on one machine.

mod restart;

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};
use bulkhead_e2e::{Kafka, Setup, apache, root};

use crate::{build, prerequisites};
pub use restart::run as restart;

/// Starts of the worker of which the median counts.
const STARTS: usize = 7;

/// Whether Apache Kafka Connect is measured as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    None,
    Apache,
}

pub fn run(name: &str) -> anyhow::Result<()> {
    match name {
        "assignor" => return assignor(),
        "transforms" => return transforms(),
        _ => {}
    }
    prerequisites::check(&[])?;
    build::plugins()?;
    match name {
        "instantiate" | "boundary" => micro(name),
        "startup" => startup(),
        "worker" => worker(Peer::None),
        "restart" => restart(Peer::None),
        "all" => {
            assignor()?;
            transforms()?;
            micro("instantiate")?;
            micro("boundary")?;
            startup()?;
            worker(Peer::Apache)?;
            restart(Peer::Apache)
        }
        _ => bail!("there is no bench `{name}`"),
    }
}

/// What the leader of a large group thinks up, without any group.
fn assignor() -> anyhow::Result<()> {
    let package = ["run", "--release", "--quiet", "--package", "bulkhead-herder"];
    build::run("cargo", package.into_iter().chain(["--example", "assignor", "--", "--check"]))
}

/// What a chain of transforms costs a record, without anything around it.
fn transforms() -> anyhow::Result<()> {
    let package = ["run", "--release", "--quiet", "--package", "bulkhead-pipeline"];
    build::run("cargo", package.into_iter().chain(["--example", "transforms", "--", "--check"]))
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

/// What is promised against the peer: the median of the rounds' ratios.
const TIMES_SOURCE: f64 = 3.0;
const TIMES_SINK: f64 = 2.0;
const TIMES_STRUCTURED: f64 = 3.0;

/// Records per second of one worker in one round.
#[derive(Clone, Copy, Debug)]
struct Rates {
    source: f64,
    sink: f64,
    structured: f64,
}

/// File to topic and topic to file, and lines to structs as JSON with schemas, on real Kafka; with the peer, side by side on the same broker, and
/// failing if we aren't faster by as much as is promised.
pub fn worker(peer: Peer) -> anyhow::Result<()> {
    prerequisites::check(prerequisites::KAFKA)?;
    build::plugins()?;
    build::worker()?;
    build::run("cargo", ["build", "--release", "--package", "bulkhead-bench"])?;
    let folder = tempfile::tempdir()?;
    let kafka = apache::Kafka::fetch()?;
    let broker = kafka.start_broker(&folder.path().join("broker"))?;
    let ours = folder.path().join("bulkhead");
    std::fs::create_dir_all(&ours)?;
    let worker = Setup::new(Kafka::At(broker.address()), &ours)?.start()?;
    let measure = |name: &str, url: &str| {
        let bench = root().join("target/release/bulkhead-bench");
        let mut command = Command::new(bench);
        command.args(["worker", "--name", name, "--url", url, "--bootstrap", &broker.address(), "--folder"]);
        rates(command.arg(&ours))
    };
    let apache = match peer {
        Peer::None => None,
        Peer::Apache => {
            let folder = folder.path().join("apache");
            Some(kafka.start_connect(&broker.address(), &folder, "")?)
        }
    };
    // The first round warms both up; of the next three the figures are to be compared.
    let mut ratios = Vec::new();
    for round in ["warm-up", "1", "2", "3"] {
        println!("-- round {round}");
        let ours = measure("bulkhead", worker.rest.base())?;
        let Some(apache) = &apache else { continue };
        let theirs = measure("apache", &apache.url())?;
        let ratio = Rates {
            source: ours.source / theirs.source,
            sink: ours.sink / theirs.sink,
            structured: ours.structured / theirs.structured,
        };
        let Rates { source, sink, structured } = ratio;
        println!("bulkhead / apache: source {source:.2}, sink {sink:.2}, structured {structured:.2}");
        if round != "warm-up" {
            ratios.push(ratio);
        }
    }
    if apache.is_some() { check_ratios(&ratios) } else { Ok(()) }
}

/// Runs one measurement, shows what it prints and reads the figures in it.
fn rates(command: &mut Command) -> anyhow::Result<Rates> {
    let output = command.stderr(Stdio::inherit()).output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    ensure!(output.status.success(), "the measurement failed with {}", output.status);
    let figures: Vec<f64> = text.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let [source, sink, structured] = figures[..] else { bail!("the measurement printed no three figures: {text}") };
    Ok(Rates { source, sink, structured })
}

fn check_ratios(ratios: &[Rates]) -> anyhow::Result<()> {
    let median = |of: fn(&Rates) -> f64| {
        let mut sorted: Vec<f64> = ratios.iter().map(of).collect();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let medians = [
        ("source", median(|ratio| ratio.source), TIMES_SOURCE),
        ("sink", median(|ratio| ratio.sink), TIMES_SINK),
        ("structured", median(|ratio| ratio.structured), TIMES_STRUCTURED),
    ];
    for (what, ratio, least) in medians {
        println!("median of the ratios: {what} {ratio:.2} (at least {least})");
    }
    ensure!(medians.iter().all(|(_, ratio, least)| ratio >= least), "a ratio is below what is promised");
    Ok(())
}
