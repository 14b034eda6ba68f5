//! Troubles that users of Kafka Connect reported in public, as cases: FC-02 (a poll that never returns),
//! FC-03 (a guest that spins), FC-04 (a guest that eats memory), FC-06 (a connector that ends the
//! process). In each, a well-behaved neighbour has to keep its pace.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bulkhead_e2e::{Kafka, Rest, Setup, Worker, eventually};
use serde_json::{Value, json};

/// The neighbour's pace: one record every 200 ms.
const INTERVAL: Duration = Duration::from_millis(200);
/// `task.shutdown.graceful.timeout.ms` of these workers.
const GRACE: Duration = Duration::from_secs(3);
const SOON: Duration = Duration::from_secs(30);

/// Cases that watch a pace must not disturb each other.
static ALONE: Mutex<()> = Mutex::new(());

/// A worker with a well-behaved connector `good`, whose records a sink writes to a file.
struct Case {
    worker: Worker,
    folder: tempfile::TempDir,
    setup: Setup,
    _alone: MutexGuard<'static, ()>,
}

impl Case {
    fn start(more: &[(&str, &str)]) -> Self {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = tempfile::tempdir().unwrap();
        let mut setup = Setup::new(Kafka::Embedded, folder.path()).unwrap();
        setup = setup.with("task.shutdown.graceful.timeout.ms", "3000");
        for (key, value) in more {
            setup = setup.with(key, value);
        }
        let worker = setup.start().unwrap();
        let case = Self { worker, folder, setup, _alone: alone };
        case.hostile("good", "ok", &[]);
        case.watch("good");
        case
    }

    fn rest(&self) -> &Rest {
        &self.worker.rest
    }

    /// A hostile connector that writes to a topic of its own name.
    fn hostile(&self, name: &str, mode: &str, more: &[(&str, &str)]) {
        self.rest().create(name, &hostile(name, mode, more)).unwrap();
    }

    /// From now on the records of this topic are in a file.
    fn watch(&self, topic: &str) {
        let file = self.file(topic);
        let config = [
            ("connector.class", "FileStreamSink"),
            ("topics", topic),
            ("file", file.to_str().unwrap()),
            ("key.converter", "org.apache.kafka.connect.storage.StringConverter"),
            ("value.converter", "org.apache.kafka.connect.storage.StringConverter"),
            ("consumer.override.fetch.wait.max.ms", "50"),
        ];
        self.rest().create(&format!("watch-{topic}"), &config).unwrap();
        eventually("records arrive", SOON, || (count(&file) >= 2).then_some(())).unwrap();
    }

    fn file(&self, topic: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(format!("{topic}.txt"))
    }

    /// Runs something and checks that the neighbour kept its pace within a fifth meanwhile.
    fn while_good_keeps_its_pace(&self, work: impl FnOnce()) {
        let file = self.file("good");
        let (before, started) = (count(&file), Instant::now());
        work();
        // Long enough that one record more or less makes no difference.
        while started.elapsed() < Duration::from_secs(10) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let due = started.elapsed().as_secs_f64() / INTERVAL.as_secs_f64();
        let seen = (count(&file) - before) as f64;
        assert!((0.8 * due..=1.2 * due).contains(&seen), "{seen} records where {due:.0} were due");
        self.rest().wait("good", "RUNNING", 1).unwrap();
    }

    fn status(&self, path: &str) -> (u16, Value) {
        self.rest().ask("GET", path, None).unwrap()
    }
}

fn hostile<'a>(topic: &'a str, mode: &'a str, more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    let mut config = vec![
        ("connector.class", "io.bulkhead.test.Hostile"),
        ("mode", mode),
        ("topic", topic),
        ("key.converter", "org.apache.kafka.connect.storage.StringConverter"),
        ("value.converter", "org.apache.kafka.connect.storage.StringConverter"),
    ];
    config.extend_from_slice(more);
    config
}

fn count(file: &Path) -> usize {
    fs::read(file).map_or(0, |bytes| bytes.iter().filter(|byte| **byte == b'\n').count())
}

/// Instance ids in the order in which they first appear in a watched topic.
fn instances(file: &Path) -> Vec<String> {
    let mut seen = Vec::new();
    for line in fs::read_to_string(file).unwrap_or_default().lines() {
        let id = line.split(' ').next().unwrap_or_default().to_owned();
        if !seen.contains(&id) {
            seen.push(id);
        }
    }
    seen
}

#[test]
fn fc_02_a_poll_that_never_returns_ends_with_its_connector() {
    let case = Case::start(&[]);
    case.hostile("stuck", "ok", &[]);
    case.watch("stuck");
    case.rest().delete("stuck").unwrap();
    let first = instances(&case.file("stuck"));

    case.while_good_keeps_its_pace(|| {
        case.hostile("stuck", "block-poll", &[]);
        case.rest().wait("stuck", "RUNNING", 1).unwrap();
        let asked = Instant::now();
        case.rest().delete("stuck").unwrap();
        let gone = || (case.status("/connectors/stuck/status").0 == 404).then_some(());
        eventually("its status is gone", GRACE + Duration::from_secs(1), gone).unwrap();
        assert!(asked.elapsed() < GRACE + Duration::from_secs(1), "{:?}", asked.elapsed());
    });

    case.hostile("stuck", "ok", &[]);
    let second =
        eventually("the new one's records arrive", SOON, || instances(&case.file("stuck")).get(first.len()).cloned());
    assert_eq!(first.len(), 1, "one instance wrote before");
    assert!(second.is_ok());
    assert_eq!(instances(&case.file("stuck")).len(), 2, "and one after");
}

#[test]
fn fc_02_blocked_instances_leave_no_memory_behind() {
    let case = Case::start(&[("task.shutdown.graceful.timeout.ms", "100")]);
    let cycle = |number: u32| {
        let name = format!("stuck-{number}");
        case.hostile(&name, "block-poll", &[]);
        case.rest().wait(&name, "RUNNING", 1).unwrap();
        case.rest().delete(&name).unwrap();
        let gone = || (case.status(&format!("/connectors/{name}/status")).0 == 404).then_some(());
        eventually("it is gone", SOON, gone).unwrap();
    };
    // Until threads and the allocator have what they keep.
    (0..40).for_each(cycle);
    let before = case.worker.memory().unwrap();
    (40..90).for_each(cycle);
    let given_back = || (case.worker.memory().unwrap() < before + before / 20).then_some(());
    let outcome = eventually("50 more leave no memory behind", SOON, given_back);
    assert!(outcome.is_ok(), "{before} bytes before, {} after 50 more", case.worker.memory().unwrap());
}

#[test]
fn fc_03_guests_that_spin_starve_nobody() {
    let case = Case::start(&[("sandbox.cpu.burst.ms", "60000")]);
    let idle = cpu_in_a_second(&case.worker);
    case.while_good_keeps_its_pace(|| {
        for number in 0..4 {
            case.hostile(&format!("spin{number}"), "spin", &[]);
        }
        case.rest().wait("spin3", "RUNNING", 1).unwrap();
        let mut times: Vec<_> = (0..200).map(|_| timed(|| drop(case.status("/connectors?expand=status")))).collect();
        times.sort();
        assert!(times[198] < Duration::from_millis(200), "one of a hundred answers took {:?}", times[198]);
    });
    let in_time = GRACE + Duration::from_secs(1);
    let asked = Instant::now();
    case.rest().must("PUT", "/connectors/spin1/stop", None).unwrap();
    case.rest().wait("spin1", "STOPPED", 0).unwrap();
    assert!(asked.elapsed() < in_time, "stop took {:?}", asked.elapsed());
    for number in 0..4 {
        let name = format!("spin{number}");
        case.rest().delete(&name).unwrap();
        let gone = || (case.status(&format!("/connectors/{name}/status")).0 == 404).then_some(());
        eventually("it is gone", in_time, gone).unwrap();
    }
    let is_idle = || (cpu_in_a_second(&case.worker) < idle + Duration::from_millis(200)).then_some(());
    eventually("CPU use is back to idle", in_time, is_idle).unwrap();
}

#[test]
fn fc_03_a_spinner_fails_by_its_cpu_budget() {
    let case = Case::start(&[("sandbox.cpu.burst.ms", "500")]);
    case.hostile("spin", "spin", &[]);
    let trace = case.rest().failure("spin", 0).unwrap();
    assert!(trace.contains("CPU") && trace.contains("500"), "{trace}");
    assert!(trace.contains("poll"), "{trace}");
}

#[test]
fn fc_04_guests_that_eat_memory_fail_alone_and_give_it_back() {
    let case = Case::start(&[]);
    let before = case.worker.memory().unwrap();
    let mut most = 0;
    case.while_good_keeps_its_pace(|| {
        for number in 0..8 {
            case.hostile(&format!("oom{number}"), "oom", &[("sandbox.memory", "67108864")]);
        }
        for number in 0..8 {
            let failed = || {
                most = most.max(case.worker.memory().unwrap());
                let (_, task) = case.status(&format!("/connectors/oom{number}/tasks/0/status"));
                (task["state"] == "FAILED").then(|| task["trace"].as_str().unwrap_or_default().to_owned())
            };
            let trace = eventually("it fails", Duration::from_secs(5), failed).unwrap();
            assert!(trace.contains("memory") && trace.contains("67108864"), "{trace}");
        }
    });
    let allowed = before + (8 * (64 << 20)) * 12 / 10;
    assert!(most <= allowed, "{most} bytes at most, {allowed} allowed");
    for number in 0..8 {
        case.rest().delete(&format!("oom{number}")).unwrap();
    }
    let given_back = || (case.worker.memory().unwrap() < before + (32 << 20)).then_some(());
    eventually("memory is given back", SOON, given_back).unwrap();
}

#[test]
fn fc_04_a_larger_limit_is_taken_up_by_a_restart_and_one_above_the_ceiling_is_refused() {
    let case = Case::start(&[("sandbox.max.memory", "134217728")]);
    // Above the ceiling, and below what the component has from the start.
    for (memory, words) in [("268435456", ["256 MiB", "128 MiB"]), ("65536", ["needs", "to start"])] {
        let config = map(&hostile("m", "ok", &[("sandbox.memory", memory)]));
        let (status, answer) =
            case.rest().ask("POST", "/connectors", Some(&json!({ "name": "m", "config": config }))).unwrap();
        let message = answer["message"].as_str().unwrap_or_default();
        assert_eq!(status, 400, "{answer}");
        assert!(words.iter().all(|word| message.contains(word)), "{message}");
        assert_eq!(case.status("/connectors/m").0, 404, "nothing was written");
    }
}

#[test]
fn fc_06_a_connector_that_ends_the_process_ends_itself_alone() {
    let mut case = Case::start(&[]);
    let modes = [
        // WASI 0.2 says of an exit only whether it was a good one.
        ("exit", 0, "called exit("),
        ("abort", 0, "abort"),
        ("unreachable", 0, "unreachable"),
        ("recursion", 0, "stack"),
        ("panic-poll", 0, "a panic in poll"),
        ("panic-start", 0, "a panic in the task's start"),
        ("exit-start", 0, "called exit("),
        ("abort-start", 0, "abort"),
        ("unreachable-start", 0, "unreachable"),
        ("recursion-start", 0, "stack"),
    ];
    case.while_good_keeps_its_pace(|| {
        for (mode, task, cause) in modes {
            case.hostile(mode, mode, &[]);
            let trace = case.rest().failure(mode, task).unwrap();
            assert!(trace.contains(cause), "{mode}: {trace}");
            let place = if mode.ends_with("start") { "start" } else { "poll" };
            assert!(trace.contains(place), "{mode}: {trace}");
        }
    });
    for (mode, cause) in [
        ("panic-connector-start", "a panic in the connector's start"),
        ("exit-connector-start", "called exit("),
        ("abort-connector-start", "abort"),
        ("unreachable-connector-start", "unreachable"),
        ("recursion-connector-start", "stack"),
    ] {
        let request = json!({ "name": mode, "config": map(&hostile(mode, mode, &[])) });
        case.rest().ask("POST", "/connectors", Some(&request)).unwrap();
        let failed = || {
            let connector = case.status(&format!("/connectors/{mode}/status")).1["connector"].clone();
            (connector["state"] == "FAILED").then(|| connector["trace"].as_str().unwrap_or_default().to_owned())
        };
        let trace = eventually("the connector is FAILED", SOON, failed).unwrap();
        assert!(trace.contains(cause) && trace.contains("start"), "{mode}: {trace}");
    }

    // The worker comes up again with a connector file that kills its task, and the others run.
    let file = case.folder.path().join("exit.json");
    let config = map(&hostile("exit", "exit", &[]));
    fs::write(&file, json!({ "name": "exit", "config": config }).to_string()).unwrap();
    let good = case.folder.path().join("good.json");
    let config = map(&hostile("good", "ok", &[]));
    fs::write(&good, json!({ "name": "good", "config": config }).to_string()).unwrap();
    case.setup.connectors = vec![file, good];
    case.worker.kill().unwrap();
    case.worker = case.setup.start().unwrap();
    case.rest().failure("exit", 0).unwrap();
    case.rest().wait("good", "RUNNING", 1).unwrap();
}

fn map(config: &[(&str, &str)]) -> serde_json::Map<String, Value> {
    config.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect()
}

fn timed(work: impl FnOnce()) -> Duration {
    let started = Instant::now();
    work();
    started.elapsed()
}

fn cpu_in_a_second(worker: &Worker) -> Duration {
    let before = worker.cpu().unwrap();
    std::thread::sleep(Duration::from_secs(1));
    worker.cpu().unwrap() - before
}
