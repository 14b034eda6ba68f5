//! The demo of a cluster: three workers share connectors out, restart one, and do without one that is killed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, ensure};
use bulkhead_e2e::{Cluster, Instance, Kafka, Owners, apache, eventually};
use serde_json::json;

use super::{SOON, lines, millis, path};
use crate::{build, prerequisites};

const WORKERS: usize = 3;
const LINES: usize = 20_000;
const SOURCE: &str = "lines-in";
const SINK: &str = "lines-out";

pub fn run() -> anyhow::Result<()> {
    prerequisites::check(prerequisites::KAFKA)?;
    build::plugins()?;
    build::worker()?;
    let folder = tempfile::tempdir()?;
    println!("\n1. A real Kafka, and a cluster of {WORKERS} workers on it");
    let broker = apache::Kafka::fetch()?.start_broker(folder.path()).context("Kafka could not be started")?;
    println!("   Kafka answers at {}", broker.address());
    let started = Instant::now();
    let cluster = Cluster::new(&Kafka::At(broker.address()), "demo")?.with_workers(WORKERS)?;
    let formed = || cluster.topics.group(&cluster.group).ok().filter(|group| group.members == WORKERS)?.leader;
    let leader = eventually("the workers form a group", SOON, formed)?;
    println!("   {WORKERS} workers are a group after {:.0} ms; {leader} leads", millis(started));
    let files = ["in.txt", "out.txt"].map(|name| cluster.path().join(name));
    let mut demo = Demo { cluster, files };
    demo.nothing_starts()?;
    demo.records_flow()?;
    demo.a_connector_is_restarted()?;
    demo.a_worker_is_killed()?;
    demo.all_lines_are_there()?;
    for number in demo.cluster.awake() {
        demo.cluster.terminate(number)?;
    }
    println!("\nDone: the other workers have stopped. `cargo xtask test` proves the rest.");
    Ok(())
}

struct Demo {
    cluster: Cluster,
    /// What the source reads, and what the sink writes.
    files: [PathBuf; 2],
}

impl Demo {
    fn nothing_starts(&self) -> anyhow::Result<()> {
        println!("\n2. A source and a sink are created STOPPED (KIP-980), by any worker");
        let [from, to] = &self.files;
        File::create(from)?;
        let topic = self.cluster.topic("lines");
        let source = json!({ "connector.class": "FileStreamSource", "file": path(from)?, "topic": topic });
        let sink = json!({ "connector.class": "FileStreamSink", "file": path(to)?, "topics": topic });
        for (number, (name, config)) in [(SOURCE, source), (SINK, sink)].into_iter().enumerate() {
            let request = json!({ "name": name, "config": config, "initial_state": "STOPPED" });
            let rest = self.cluster.rest(number);
            rest.must("POST", "/connectors", Some(&request))?;
            rest.wait(name, "STOPPED", 0)?;
            println!("   {name} is STOPPED and has no tasks");
        }
        Ok(())
    }

    fn records_flow(&self) -> anyhow::Result<()> {
        println!("\n3. Both are resumed; {LINES} lines: file -> topic -> file");
        for name in [SOURCE, SINK] {
            self.cluster.rest(0).must("PUT", &format!("/connectors/{name}/resume"), None)?;
        }
        let started = Instant::now();
        show(&self.settled()?);
        self.write_lines(LINES)?;
        self.wait_for_lines(LINES)?;
        println!("   all there {:.2} s after the request", started.elapsed().as_secs_f32());
        Ok(())
    }

    fn a_connector_is_restarted(&self) -> anyhow::Result<()> {
        println!("\n4. `{SOURCE}` and its task are restarted, through the config topic");
        let asked = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
        let path = format!("/connectors/{SOURCE}/restart?includeTasks=true");
        self.cluster.rest(0).must("POST", &path, None)?;
        let asked = i64::try_from(asked)?;
        let end = eventually("both are restarted", SOON, || self.restarted(asked))?;
        println!("   RESTARTING, and RUNNING again {} ms after the request", end - asked);
        self.settled()?;
        Ok(())
    }

    /// When connector and task were RUNNING again, by the status topic; none before.
    fn restarted(&self, asked: i64) -> Option<i64> {
        let records = self.cluster.topics.read(&self.cluster.topic("status")).ok()?;
        let end = |key: String| {
            let mut late = records.iter().filter(|record| record.key_text() == key && record.timestamp >= asked);
            let mut at = |state: &str| Some(late.find(|record| record.json()["state"] == state)?.timestamp);
            at("RESTARTING")?;
            at("RUNNING")
        };
        Some(end(format!("status-connector-{SOURCE}"))?.max(end(format!("status-task-{SOURCE}-0"))?))
    }

    fn a_worker_is_killed(&mut self) -> anyhow::Result<()> {
        let task = Instance { connector: SOURCE.to_owned(), task: Some(0) };
        let owner = |owners: &Owners| owners.get(&task).map(|owner| owner.worker.clone()).unwrap_or_default();
        let before = owner(&self.settled()?);
        let ours = |number: &usize| self.cluster.id(*number) == before;
        let number = self.cluster.awake().into_iter().find(ours).context("nobody runs the task")?;
        println!("\n5. {before}, which runs {task}, is killed with -9; {LINES} more lines come");
        self.cluster.kill(number)?;
        let killed = Instant::now();
        self.write_lines(LINES)?;
        let owners = self.settled()?;
        let took = killed.elapsed().as_secs_f32();
        println!("   {took:.1} s later the others have taken its work over:");
        println!(
            "   (a session of {:?}, and {:?} in which it could have come back)",
            bulkhead_e2e::SESSION,
            bulkhead_e2e::DELAY
        );
        show(&owners);
        ensure!(owner(&owners) != before, "the task is still the killed worker's");
        Ok(())
    }

    fn all_lines_are_there(&self) -> anyhow::Result<()> {
        println!("\n6. What has arrived");
        self.wait_for_lines(2 * LINES)?;
        let [from, to] = self.files.each_ref().map(fs::read_to_string);
        let (from, to) = (from?, to?);
        let mut seen = vec![0_u32; 2 * LINES];
        for line in to.lines() {
            let number = line.strip_prefix("line ").and_then(|number| number.parse::<usize>().ok());
            *number
                .and_then(|number| seen.get_mut(number))
                .with_context(|| format!("`{line}` was never written"))? += 1;
        }
        let missing = seen.iter().filter(|times| **times == 0).count();
        ensure!(missing == 0 && lines(from.as_bytes()) == seen.len(), "{missing} lines are missing");
        let again = to.lines().count() - seen.len();
        println!("   every one of the {} lines; {again} of them more than once", seen.len());
        Ok(())
    }

    fn settled(&self) -> anyhow::Result<Owners> {
        self.cluster.settled(&[(SOURCE, 1), (SINK, 1)])
    }

    /// Appends numbered lines to the source's file.
    fn write_lines(&self, count: usize) -> anyhow::Result<()> {
        super::append_lines(&self.files[0], count)
    }

    /// Waits until so many different lines have arrived, or more.
    fn wait_for_lines(&self, count: usize) -> anyhow::Result<()> {
        let last = format!("line {}\n", count - 1);
        let there = |file: &Path| fs::read(file).is_ok_and(|bytes| bytes.ends_with(last.as_bytes()));
        let arrived =
            || (there(&self.files[1]) && super::lines(&fs::read(&self.files[1]).ok()?) >= count).then_some(());
        eventually("the last line arrives", Duration::from_secs(60), arrived)
    }
}

fn show(owners: &Owners) {
    for (instance, owner) in owners {
        let what = if instance.task.is_some() { "task" } else { "connector" };
        println!("   {what} {instance} is {} at {}", owner.state, owner.worker);
    }
}
