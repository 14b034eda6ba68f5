//! FC-14: how much memory a large batch takes.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use bulkhead_e2e::{Kafka, Setup, Topics, Worker, eventually, real_kafka};

const SOON: Duration = Duration::from_secs(60);
const TEXTS: &str = "org.apache.kafka.connect.storage.StringConverter";
const LINES: usize = 100_000;

/// The most memory that the worker has had since [`forget_peak`], in bytes.
fn peak(worker: &Worker) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", worker.pid())).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

fn forget_peak(worker: &Worker) {
    fs::write(format!("/proc/{}/clear_refs", worker.pid()), "5").unwrap();
}

#[test]
fn fc_14_a_hundred_thousand_records_at_once_take_no_more_than_twice_their_size() {
    let Some(kafka) = real_kafka("fc-14 memory") else { return };
    let Kafka::At(address) = &kafka else { panic!("real Kafka has an address") };
    let folder = tempfile::tempdir().unwrap();
    let worker = Setup::new(kafka.clone(), folder.path()).unwrap().with("value.converter", TEXTS).start().unwrap();
    let (topics, topic) = (Topics::at(address), format!("fc-14-memory-{}", std::process::id()));
    topics.create(&topic, 1, &[]).unwrap();
    let file = |name: &str| folder.path().canonicalize().unwrap().join(name);
    let create = |name: &str, input: &Path| {
        let config = [
            ("connector.class", "FileStreamSource"),
            ("file", input.to_str().unwrap()),
            ("topic", &topic),
            ("batch.size", "100000"),
        ];
        worker.rest.create(name, &config).unwrap();
    };
    let arrived = |lines: usize| {
        let all = || (topics.end(&topic).ok()? == lines as i64).then_some(());
        eventually("all lines are in the topic", SOON, all).unwrap();
    };
    // What a producer takes for its first record isn't the batch's.
    fs::write(file("first.txt"), "first\n").unwrap();
    create("first", &file("first.txt"));
    arrived(1);
    let input = file("in.txt");
    create("large", &input);
    worker.rest.wait("large", "RUNNING", 1).unwrap();
    let before = worker.memory().unwrap();
    forget_peak(&worker);
    // The file is there with all of its lines.
    let text = format!("{:099}\n", 7).repeat(LINES);
    let beside = input.with_extension("part");
    fs::write(&beside, &text).unwrap();
    fs::rename(beside, &input).unwrap();
    arrived(1 + LINES);
    let grown = peak(&worker).saturating_sub(before);
    assert!(grown <= 2 * text.len() as u64, "{} bytes in {LINES} lines took {grown} bytes more", text.len());
}
