//! The demo: records through two sandboxes, a restart, a hostile plugin contained. All by REST, as
//! anybody could type it.

mod cluster;

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bulkhead_e2e::{Kafka, Setup, Worker, eventually};

use crate::{build, prerequisites};
pub use cluster::run as cluster;

/// Less than the embedded Kafka keeps of a partition.
const LINES: usize = 50_000;
const SOON: Duration = Duration::from_secs(30);
const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";

pub fn run(bootstrap_servers: Option<&str>) -> anyhow::Result<()> {
    prerequisites::check(&[])?;
    build::plugins()?;
    build::worker()?;
    let folder = tempfile::tempdir()?;
    let kafka = bootstrap_servers.map_or(Kafka::Embedded, |servers| Kafka::At(servers.to_owned()));
    println!(
        "\n1. A standalone worker, {}",
        match &kafka {
            Kafka::Embedded => "with a Kafka inside its process".to_owned(),
            Kafka::At(servers) => format!("on Kafka at {servers}"),
        }
    );
    let started = Instant::now();
    let topic = format!("demo-{}", std::process::id());
    let mut setup = Setup::new(kafka, folder.path())?.with("sandbox.cpu.burst.ms", "1000");
    setup.topics.push(topic.clone());
    let worker = setup.start()?;
    println!("   answers at {} after {} ms", worker.rest.base(), started.elapsed().as_millis());
    let demo = Demo { worker, folder: folder.path().canonicalize()?, topic };
    demo.records_flow()?;
    demo.a_task_is_restarted()?;
    demo.a_hostile_plugin_is_contained()?;
    let status = demo.worker.terminate()?;
    ensure!(status.success(), "the worker ended with {status}");
    println!("\nDone: the worker has stopped. `cargo xtask test` proves the rest.");
    Ok(())
}

struct Demo {
    worker: Worker,
    folder: std::path::PathBuf,
    topic: String,
}

impl Demo {
    fn records_flow(&self) -> anyhow::Result<()> {
        println!("\n2. {LINES} lines: file -> sandbox -> topic `{}` -> sandbox -> file", self.topic);
        self.write_lines(LINES)?;
        let [from, to] = self.files();
        let (topic, from, to) = (self.topic.as_str(), path(&from)?, path(&to)?);
        let source =
            [("connector.class", "FileStreamSource"), ("file", from), ("topic", topic), ("value.converter", STRING)];
        let sink =
            [("connector.class", "FileStreamSink"), ("file", to), ("topics", topic), ("value.converter", STRING)];
        let started = Instant::now();
        self.worker.rest.create("lines-in", &source)?;
        self.worker.rest.create("lines-out", &sink)?;
        self.wait_for_lines(LINES)?;
        println!("   all there, in order, after {:.2} s", started.elapsed().as_secs_f32());
        Ok(())
    }

    fn a_task_is_restarted(&self) -> anyhow::Result<()> {
        println!("\n3. Task 0 of `lines-in` is restarted");
        let rest = &self.worker.rest;
        let started = Instant::now();
        rest.must("POST", "/connectors/lines-in/restart?includeTasks=true", None)?;
        rest.wait("lines-in", "RUNNING", 1)?;
        println!("   connector and task RUNNING again after {:.1} ms, by REST", millis(started));
        let fresh = self.worker.log();
        let fresh = fresh.lines().rev().find_map(|line| line.split_once("sandbox_us=")?.1.split(' ').next());
        println!("   the fresh sandbox itself took {} us", fresh.context("the log doesn't tell")?.trim());
        self.write_lines(1_000)?;
        self.wait_for_lines(LINES + 1_000)?;
        println!("   1000 more lines arrived: it went on where it was, no line twice");
        Ok(())
    }

    fn a_hostile_plugin_is_contained(&self) -> anyhow::Result<()> {
        println!("\n4. Three hostile connectors beside the healthy ones");
        for (mode, what) in [("spin", "loops for ever"), ("oom", "allocates without end"), ("exit", "calls exit")] {
            let name = format!("hostile-{mode}");
            let config =
                [("connector.class", "io.bulkhead.test.Hostile"), ("mode", mode), ("topic", self.topic.as_str())];
            self.worker.rest.create(&name, &config)?;
            let trace = self.worker.rest.failure(&name, 0)?;
            println!("   {what}: FAILED, {}", trace.lines().next().unwrap_or_default());
        }
        self.write_lines(1_000)?;
        self.wait_for_lines(LINES + 2_000)?;
        self.worker.rest.wait("lines-in", "RUNNING", 1)?;
        println!("   meanwhile 1000 more lines went through the healthy pair");
        for mode in ["spin", "oom", "exit"] {
            self.worker.rest.delete(&format!("hostile-{mode}"))?;
        }
        Ok(())
    }

    fn files(&self) -> [std::path::PathBuf; 2] {
        [self.folder.join("in.txt"), self.folder.join("out.txt")]
    }

    /// Appends numbered lines to the source's file.
    fn write_lines(&self, count: usize) -> anyhow::Result<()> {
        let [from, _] = self.files();
        append_lines(&from, count)
    }

    /// Waits until the sink's file equals the source's; prints how far it is.
    fn wait_for_lines(&self, count: usize) -> anyhow::Result<()> {
        let [from, to] = self.files();
        let mut shown = fs::read(&to).map_or(0, |bytes| lines(&bytes));
        let arrived = || {
            let there = fs::read(&to).map_or(0, |bytes| lines(&bytes));
            if there >= shown + LINES / 4 {
                shown = there;
                println!("   {there} lines have arrived");
            }
            (there >= count).then_some(there)
        };
        eventually("the lines arrive", SOON, arrived)?;
        ensure!(fs::read(from)? == fs::read(to)?, "the sink's file differs from the source's");
        Ok(())
    }
}

/// Goes on counting where the file ends.
fn append_lines(file: &Path, count: usize) -> anyhow::Result<()> {
    let known = fs::read(file).map_or(0, |bytes| lines(&bytes));
    let text: String = (known..known + count).map(|number| format!("line {number}\n")).collect();
    File::options().create(true).append(true).open(file)?.write_all(text.as_bytes())?;
    Ok(())
}

fn lines(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| **byte == b'\n').count()
}

fn millis(since: Instant) -> f32 {
    since.elapsed().as_secs_f32() * 1000.0
}

fn path(path: &Path) -> anyhow::Result<&str> {
    path.to_str().context("the temporary folder's path is not UTF-8")
}
