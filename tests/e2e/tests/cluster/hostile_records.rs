//! Records that don't belong into a worker's topics, before its start and while it runs.

use std::fs;

use bulkhead_e2e::{Cluster, Kind, eventually, real_kafka};
use serde_json::json;

use crate::SOON;
use crate::pipe::SOURCE;

type Bytes = Option<Vec<u8>>;

fn bytes(text: &str) -> Bytes {
    Some(text.as_bytes().to_vec())
}

/// Nothing in these is worth reading.
fn garbage(keys: &[&str]) -> Vec<(Bytes, Bytes)> {
    let huge = format!("{{\"properties\":{{\"a\":\"{}\"}}", "x".repeat(900_000));
    let deep = "[".repeat(200_000);
    let mut records = vec![(Some(vec![0xff, 0xfe, 0x00]), Some(vec![0x80; 100])), (bytes(""), bytes("{}"))];
    for key in keys {
        for value in ["", "not json", "[1, 2", "7", "{\"properties\":{\"a\":", &huge, &deep] {
            records.push((bytes(key), bytes(value)));
        }
        records.push((bytes(key), Some(vec![0xc3, 0x28, 0x00, 0xff])));
    }
    records
}

const CONFIGS: &[&str] = &["connector-x", "task-x-0", "commit-x", "target-state-x", "session-key"];
const STATUSES: &[&str] = &["status-connector-x", "status-task-x-0", "status-topic-t:connector-x"];
const OFFSETS: &[&str] = &["[\"s\",{\"filename\":\"x\"}]", "no json", "[\"s\"]"];

/// Writes all of it to the three topics.
fn spoil(cluster: &Cluster) {
    for (purpose, keys) in [("configs", CONFIGS), ("status", STATUSES), ("offsets", OFFSETS)] {
        for (key, value) in garbage(keys) {
            cluster.topics.write(&cluster.topic(purpose), 0, &[(key.as_deref(), value.as_deref())]).unwrap();
        }
    }
}

#[test]
fn records_that_make_no_sense_are_counted_and_named_and_otherwise_left_alone() {
    let Some(kafka) = real_kafka("hostile records") else { return };
    let mut cluster = Cluster::new(&kafka, "hostile-records").unwrap();
    for (purpose, partitions) in [("configs", 1), ("status", 2), ("offsets", 2)] {
        let topic = cluster.topic(purpose);
        cluster.topics.create(&topic, partitions, &[]).unwrap();
        // Once a topic is compacted, the broker takes no record without a key.
        cluster.topics.write(&topic, 0, &[(None, None), (None, Some(b"{}"))]).unwrap();
        cluster.topics.configure(&topic, "cleanup.policy", "compact").unwrap();
    }
    spoil(&cluster);
    let worker = cluster.add(Kind::Bulkhead).unwrap();
    let file = cluster.path().join("lines.txt");
    fs::write(&file, "one\n").unwrap();
    let topic = cluster.topic("lines");
    let config = [("connector.class", SOURCE), ("topic", &topic), ("file", file.to_str().unwrap())];
    let rest = cluster.rest(worker);
    rest.create("s", &config).unwrap();
    cluster.settled(&[("s", 1)]).unwrap();

    spoil(&cluster);
    let pause = json!({ "state": "PAUSED" }).to_string();
    cluster.topics.write(&cluster.topic("configs"), 0, &[(Some(b"target-state-s"), Some(pause.as_bytes()))]).unwrap();
    rest.wait("s", "PAUSED", 1).unwrap();
    rest.must("PUT", "/connectors/s/resume", None).unwrap();
    rest.wait("s", "RUNNING", 1).unwrap();
    fs::write(&file, "one\ntwo\n").unwrap();
    let committed = || {
        let offsets = rest.must("GET", "/connectors/s/offsets", None).ok()?;
        (offsets["offsets"][0]["offset"]["position"] == json!(8)).then_some(())
    };
    eventually("offsets go on", SOON, committed).unwrap();

    let log = cluster.worker(worker).unwrap().log();
    let named = |purpose: &str| {
        let topic = cluster.topic(purpose);
        log.lines().filter(|line| line.contains("can't be read") && line.contains(&topic)).count()
    };
    let metrics = rest.text("/metrics").unwrap();
    // The first key of the offset topic is good; some of its values are as well.
    let refused = [("configs", CONFIGS, CONFIGS), ("status", STATUSES, STATUSES), ("offsets", OFFSETS, &OFFSETS[1..])];
    for (purpose, keys, refused) in refused {
        // The rest has keys that mean nothing, which is no mistake.
        let (named, least, most) = (named(purpose), 2 * 8 * refused.len(), 2 + 2 * garbage(keys).len());
        assert!((least..=most).contains(&named), "{purpose}: {named} named, not {least} to {most}");
        let label = format!("topic=\"{}\"", cluster.topic(purpose));
        let line = metrics.lines().find(|line| line.starts_with("bulkhead_refused_records") && line.contains(&label));
        assert!(line.is_some_and(|line| line.ends_with(&format!(" {named}"))), "{purpose}: {named}, but {line:?}");
    }
}
