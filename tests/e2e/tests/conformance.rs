//! Scenarios of REST requests, compared with what Apache Kafka Connect answered in standalone mode.

#![allow(clippy::unwrap_used)]

use bulkhead_conformance::{FileConnectors, Quirks, Target, compare, expected_standalone, run, scenarios};
use bulkhead_e2e::{Setup, real_kafka};

/// The scenarios that a standalone worker has to answer as Apache's does. The others come with the
/// distributed worker.
const SCENARIOS: &[&str] = &[
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
    "15_multiple_tasks",
];

#[test]
fn a_standalone_worker_answers_as_apaches_does() {
    let Some(kafka) = real_kafka("REST conformance") else { return };
    let folder = tempfile::tempdir().unwrap();
    let worker = Setup::new(kafka, folder.path()).unwrap().start().unwrap();
    let target = Target {
        url: worker.rest.base().to_owned(),
        work: folder.path().join("files"),
        connectors: FileConnectors {
            source: "io.bulkhead.FileStreamSourceConnector".to_owned(),
            sink: "io.bulkhead.FileStreamSinkConnector".to_owned(),
        },
    };
    let is_ours = |name: &String| SCENARIOS.contains(&name.as_str());
    let mut scenarios = scenarios().unwrap();
    scenarios.retain(|scenario| is_ours(&scenario.name));
    assert_eq!(scenarios.len(), SCENARIOS.len());
    let mut expected = expected_standalone().unwrap();
    expected.retain(|name, _| is_ours(name));
    let observed = run(&target, &scenarios).unwrap();
    let report = compare(&expected, &observed, Quirks::Skip);
    assert!(report.differences.is_empty(), "{report}");
    println!("{report}");
}
