//! How long it takes to replace a task's instance, and what an idle one costs.
//!
//! A restart: the old instance is let go, a new one is made, and its `start` is called, one after the
//! other, by the interface that the worker uses. The clock runs until the new instance has answered *and*
//! the old one's memory is given back, whatever comes last.
//!
//! The limit is for the restart itself, measured on the guests' threads. A caller from elsewhere, as the
//! worker is, sleeps meanwhile and adds what the machine takes to wake two threads, one there and one back;
//! that is shown too.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::ports::{Plugins, PollLimits, SourceTask};
use bulkhead_sandbox_tests::Bench;

use crate::figures::{Report, Samples};

/// Restarts in a row; the quietest of so many rows counts.
const RESTARTS: usize = 500;
const ROUNDS: usize = 7;
const IDLE: u32 = 1_000;

const AT_ONCE: PollLimits = PollLimits { max_wait_ms: 0, max_records: 2_000, max_bytes: 4 << 20 };

/// The limits.
const RESTART_US: f64 = 100.0;
const IDLE_KIB: f64 = 200.0;

pub(crate) async fn run() -> anyhow::Result<Report> {
    let mut report = Report::default();
    open(&mut report).await;
    let folder = tempfile::tempdir()?;
    let bench = Arc::new(Bench::open(&["file_source"], &[]).await);
    let config = file_source(folder.path())?;
    let inside = {
        let (bench, config) = (Arc::clone(&bench), config.clone());
        let threads = bench.sandbox.threads().clone();
        threads.spawn(async move { rounds(&bench, &config).await }).await??
    };
    report.samples("drop, instantiate, `start`", "us", &inside.quietest(|one| one.whole), Some(RESTART_US));
    report.samples("  until the new instance has answered", "us", &inside.quietest(|one| one.answered), None);
    report.samples("  CPU time in the sandbox", "us", &inside.quietest(|one| one.cpu), None);
    let outside = rounds(&bench, &config).await?;
    report.samples("  asked for by another thread", "us", &outside.quietest(|one| one.whole), None);
    idle(&bench, &config, &mut report).await?;
    Ok(report)
}

/// The example plugin, with a folder granted.
fn file_source(folder: &Path) -> anyhow::Result<RawConfig> {
    let file = folder.join("in.txt");
    std::fs::write(&file, "one line\n")?;
    Ok(RawConfig::from([
        ("connector.class", "FileStreamSource".to_owned()),
        ("file", file.display().to_string()),
        ("topic", "t".to_owned()),
        ("sandbox.files", format!("{}:ro", folder.display())),
    ]))
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

/// Microseconds of one restart.
struct Restart {
    /// Until the new instance has answered.
    answered: f64,
    /// Until the old one's memory is given back, too.
    whole: f64,
    cpu: f64,
}

/// Rows of restarts.
struct Rounds(Vec<Vec<Restart>>);

impl Rounds {
    fn quietest(&self, part: fn(&Restart) -> f64) -> Samples {
        Samples::quietest(self.0.iter().map(|round| round.iter().map(part).collect::<Vec<_>>()))
    }
}

async fn rounds(bench: &Bench, config: &RawConfig) -> anyhow::Result<Rounds> {
    restarts(bench, config).await?;
    let mut rounds = Vec::with_capacity(ROUNDS);
    for _ in 0..ROUNDS {
        rounds.push(restarts(bench, config).await?);
    }
    Ok(Rounds(rounds))
}

async fn restarts(bench: &Bench, config: &RawConfig) -> anyhow::Result<Vec<Restart>> {
    let mut samples = Vec::with_capacity(RESTARTS);
    let mut running = bench.source("bench", config).await?;
    for _ in 0..RESTARTS {
        let cpu = bench.sandbox.cpu_time();
        let begun = Instant::now();
        drop(running);
        running = bench.source("bench", config).await?;
        let answered = Instant::now();
        while bench.sandbox.gauge().instances > 1 {
            tokio::task::yield_now().await;
        }
        let gone = Instant::now();
        samples.push(Restart {
            answered: micros(begun, answered),
            whole: micros(begun, gone),
            cpu: in_micros(bench.sandbox.cpu_time() - cpu),
        });
    }
    Ok(samples)
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
        // It reads its file to the end, and so has all that a waiting task has.
        source.poll(AT_ONCE).await?;
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
    in_micros(to - from)
}

fn in_micros(time: Duration) -> f64 {
    time.as_nanos() as f64 / 1_000.0
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
