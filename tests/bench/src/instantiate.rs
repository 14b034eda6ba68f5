//! How long it takes to bring a task to life, call it once and be rid of it; what an idle one costs.
//!
//! What is checked is the CPU time that it takes: of the wall-clock time most is that of waking up
//! another thread, twice for each call, which says more about what else the machine is doing.

use std::time::{Duration, Instant};

use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::ports::{Plugins, SourceTask};
use bulkhead_sandbox_tests::{Bench, source_config};

use crate::figures::{Report, Samples};

const ROUNDS: usize = 500;
const IDLE: u32 = 1_000;

/// The limits.
const LIFE_US: f64 = 100.0;
const IDLE_KIB: f64 = 200.0;

pub(crate) async fn run() -> anyhow::Result<Report> {
    let mut report = Report::default();
    open(&mut report).await;
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let config = source_config("ok", &[]);
    for _ in 0..ROUNDS / 10 {
        life(&bench, &config).await?;
    }
    let mut lives = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        lives.push(life(&bench, &config).await?);
    }
    let mut cpu = Vec::new();
    for _ in 0..5 {
        cpu.push(cpu_of_lives(&bench, &config).await?);
    }
    let cpu = Samples::quietest(cpu);
    let of = |part: fn(&Life) -> f64| Samples::new(lives.iter().map(part).collect());
    report.samples("instantiate", "us", &of(|life| life.instantiate), None);
    report.samples("  of it in the engine", "us", &of(|life| life.engine), None);
    report.samples("a first call that does little", "us", &of(|life| life.call), None);
    report.samples("drop, until memory is given back", "us", &of(|life| life.end), None);
    report.samples("all three, wall-clock time", "us", &of(|life| life.instantiate + life.call + life.end), None);
    report.samples("all three, CPU time", "us", &cpu, Some(LIFE_US));
    let mut starts = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        starts.push(start(&bench, &config).await?);
    }
    report.samples("a real start: instantiate and `start`", "us", &Samples::new(starts), None);
    idle(&bench, &config, &mut report).await?;
    Ok(report)
}

/// Opening a sandbox with room for many, over plugins whose code is in the cache.
async fn open(report: &mut Report) {
    let plugins = &["bulkhead_test_guests", "file_source", "file_sink", "generator_source"];
    let room = &[("sandbox.max.instances", "10000")];
    drop(Bench::open(plugins, room).await);
    let begun = Instant::now();
    let _bench = Bench::open(plugins, room).await;
    report.figure("open a sandbox of four plugins, warm cache", "us", micros(begun, Instant::now()), None);
}

/// Microseconds of each part.
struct Life {
    instantiate: f64,
    engine: f64,
    call: f64,
    end: f64,
}

async fn life(bench: &Bench, config: &RawConfig) -> anyhow::Result<Life> {
    let begun = Instant::now();
    let source = bench.sandbox.source_task(&ConnectorName::new("bench").task(0), config).await?;
    let born = Instant::now();
    let engine = bench.sandbox.instances().iter().map(|stats| stats.cpu).sum::<Duration>();
    let before_call = Instant::now();
    // The task has not been started: the guest says so, and that is all it does.
    let _not_started = source.offsets_committed().await;
    let called = Instant::now();
    drop(source);
    while bench.sandbox.gauge().instances > 0 {
        std::hint::spin_loop();
    }
    Ok(Life {
        instantiate: micros(begun, born),
        engine: engine.as_nanos() as f64 / 1_000.0,
        call: micros(before_call, called),
        end: micros(called, Instant::now()),
    })
}

/// CPU microseconds of each of many lives.
async fn cpu_of_lives(bench: &Bench, config: &RawConfig) -> anyhow::Result<Vec<f64>> {
    let mut samples = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        let before = bench.sandbox.cpu_time();
        life(bench, config).await?;
        samples.push((bench.sandbox.cpu_time() - before).as_nanos() as f64 / 1_000.0);
    }
    Ok(samples)
}

async fn start(bench: &Bench, config: &RawConfig) -> anyhow::Result<f64> {
    let begun = Instant::now();
    let source = bench.source("bench", config).await?;
    let started = micros(begun, Instant::now());
    source.stop().await?;
    Ok(started)
}

/// Memory of many started instances that do nothing.
async fn idle(bench: &Bench, config: &RawConfig, report: &mut Report) -> anyhow::Result<()> {
    let before = resident_kib();
    let maps_before = maps();
    let begun = Instant::now();
    let mut sources = Vec::with_capacity(IDLE as usize);
    for number in 0..IDLE {
        let source = bench.sandbox.source_task(&ConnectorName::new("idle").task(number), config).await?;
        source.start(config).await?;
        sources.push(source);
    }
    let each = micros(begun, Instant::now()) / f64::from(IDLE);
    let kib = (resident_kib() - before) / f64::from(IDLE);
    report.figure("1,000 live instances: start of each", "us", each, None);
    report.figure("1,000 live instances: main memory of each", "KiB", kib, Some(IDLE_KIB));
    let each = (maps() - maps_before) as f64 / f64::from(IDLE);
    report.figure("1,000 live instances: memory maps of each", "", each, None);
    Ok(())
}

fn micros(from: Instant, to: Instant) -> f64 {
    (to - from).as_nanos() as f64 / 1_000.0
}

/// Memory maps of this process, of which the system allows `vm.max_map_count`.
fn maps() -> usize {
    std::fs::read_to_string("/proc/self/maps").unwrap_or_default().lines().count()
}

/// What this process has in main memory.
fn resident_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
    line.trim().trim_end_matches(" kB").parse().unwrap_or(f64::NAN)
}
