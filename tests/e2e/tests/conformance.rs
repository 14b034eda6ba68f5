//! Scenarios of REST requests, compared with what Apache Kafka Connect answered: in standalone mode, and in
//! distributed mode by each of two workers that share their work.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;

use bulkhead_conformance::{
    FileConnectors, Observations, Quirks, Target, compare, expected_distributed, expected_standalone, run, scenarios,
};
use bulkhead_e2e::{Cluster, Setup, real_kafka};

/// The scenarios that a standalone worker has to answer as Apache's does.
const STANDALONE: &[&str] = &[
    "01_root",
    "02_lifecycle",
    "03_create_errors",
    "04_names",
    "05_config_update",
    "06_states",
    "08_source_offsets",
    "09_sink_offsets",
    "10_topics",
    "11_plugins",
    "12_validate",
    "13_loggers",
    "14_internal",
    "15_multiple_tasks",
];

/// Has no expectation for a standalone worker.
const OF_A_CLUSTER: &[&str] = &["07_restart"];

#[test]
fn a_standalone_worker_answers_as_apaches_does() {
    let Some(kafka) = real_kafka("REST conformance") else { return };
    let folder = tempfile::tempdir().unwrap();
    let worker = Setup::new(kafka, folder.path()).unwrap().start().unwrap();
    check(worker.rest.base(), folder.path().join("files"), STANDALONE, expected_standalone().unwrap());
}

#[test]
fn the_leader_of_a_cluster_answers_as_apaches_does() {
    let Some(cluster) = cluster("conformance-leader") else { return };
    let leader = cluster.leader().unwrap();
    check_distributed(&cluster, leader);
    assert_eq!(cluster.leader().unwrap(), leader, "it has led all the time");
}

#[test]
fn a_follower_answers_as_apaches_leader_does() {
    let Some(cluster) = cluster("conformance-follower") else { return };
    let leader = cluster.leader().unwrap();
    check_distributed(&cluster, cluster.follower().unwrap());
    assert_eq!(cluster.leader().unwrap(), leader, "the other one has led all the time");
}

/// Two workers, with what the recorded one had.
fn cluster(test: &str) -> Option<Cluster> {
    const JSON: &str = "org.apache.kafka.connect.json.JsonConverter";
    let kafka = real_kafka(test)?;
    let cluster = Cluster::new(&kafka, test).unwrap();
    let cluster = cluster.with("key.converter", JSON).with("value.converter", JSON);
    let cluster = cluster.with("scheduled.rebalance.max.delay.ms", "0").with_workers(2).unwrap();
    cluster.wait_for_members(2, std::time::Duration::from_secs(20)).unwrap();
    cluster.settled(&[]).unwrap();
    Some(cluster)
}

fn check_distributed(cluster: &Cluster, worker: usize) {
    let base = cluster.rest(worker).base().to_owned();
    check(&base, cluster.path().join("files"), &[STANDALONE, OF_A_CLUSTER].concat(), expected_distributed().unwrap());
}

fn check(url: &str, work: PathBuf, names: &[&str], mut expected: Observations) {
    let target = Target {
        url: url.to_owned(),
        work,
        connectors: FileConnectors {
            source: "io.bulkhead.FileStreamSourceConnector".to_owned(),
            sink: "io.bulkhead.FileStreamSinkConnector".to_owned(),
        },
    };
    let is_asked_for = |name: &String| names.contains(&name.as_str());
    let mut scenarios = scenarios().unwrap();
    scenarios.retain(|scenario| is_asked_for(&scenario.name));
    assert_eq!(scenarios.len(), names.len());
    expected.retain(|name, _| is_asked_for(name));
    assert_eq!(expected.len(), names.len());
    let observed = run(&target, &scenarios).unwrap();
    let report = compare(&expected, &observed, Quirks::Skip);
    assert!(report.differences.is_empty(), "{report}");
    println!("{report}");
}
