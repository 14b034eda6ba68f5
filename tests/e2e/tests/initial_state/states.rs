//! KIP-980: states.

use std::fs;

use bulkhead_e2e::{Kafka, Setup, real_kafka};
use serde_json::{Value, json};

use crate::fleet::{BOTH, Fleet, Mode, request};

fn each(test: &str, check: impl Fn(&Fleet)) {
    let folder = tempfile::tempdir().unwrap();
    for mode in BOTH {
        let Some(fleet) = Fleet::new(test, mode, folder.path()) else { return };
        check(&fleet);
    }
}

/// What stands in the config topic for a state.
fn written(state: &str) -> Value {
    match state {
        "RUNNING" => json!({ "state": "STARTED", "state.v2": "STARTED" }),
        other => json!({ "state": "PAUSED", "state.v2": other }),
    }
}

#[test]
fn a_connector_begins_in_the_state_that_was_asked_for_in_any_case() {
    each("initial-any", |fleet| {
        let asked = [
            ("absent", json!({}), "RUNNING"),
            ("null", json!({ "initial_state": null }), "RUNNING"),
            ("running", json!({ "initial_state": "RUNNING" }), "RUNNING"),
            ("running-2", json!({ "initial_state": "running" }), "RUNNING"),
            ("paused", json!({ "initial_state": "PAUSED" }), "PAUSED"),
            ("paused-2", json!({ "initial_state": "pAuSeD" }), "PAUSED"),
            ("stopped", json!({ "initial_state": "STOPPED" }), "STOPPED"),
            ("stopped-2", json!({ "initial_state": "Stopped" }), "STOPPED"),
        ];
        for (name, more, _) in &asked {
            fleet.created(name, &fleet.source(name), more);
        }
        for (name, more, state) in &asked {
            let runs = *state == "RUNNING";
            fleet.wait(name, state, usize::from(runs));
            let records = fleet.config_records(name);
            let Some((first, value)) = records.first() else { continue };
            if more["initial_state"].is_string() {
                assert_eq!((first, value), (&format!("target-state-{name}"), &written(state)), "{name}");
                assert_eq!(records[1].0, format!("connector-{name}"), "the state is there before the connector");
            } else {
                assert_eq!(first, &format!("connector-{name}"));
                assert!(records.iter().all(|(key, _)| !key.starts_with("target-state-")), "{name}: {records:?}");
            }
            let said = fleet.states_said(name, false);
            assert!(said.iter().all(|said| said == state), "{name} was never in another state: {said:?}");
            assert_eq!(fleet.states_said(name, true).is_empty(), !runs, "{name}");
        }
    });
}

#[test]
fn a_state_that_does_not_exist_is_refused_and_nothing_is_written() {
    each("initial-bad", |fleet| {
        let config = fleet.source("c");
        for state in [
            json!("asleep"),
            json!(""),
            json!(" RUNNING"),
            json!("STARTED"),
            json!(5),
            json!(true),
            json!([]),
            json!({}),
        ] {
            let (status, answer) = fleet.create("c", &config, &json!({ "initial_state": state }));
            assert_eq!((status, &answer["error_code"]), (400, &json!(400)), "{state}: {answer}");
        }
        let (status, _) =
            fleet.create("c", &json!({ "connector.class": "none" }), &json!({ "initial_state": "PAUSED" }));
        assert_eq!(status, 400, "a wrong configuration with a right state");
        // Whatever one of those had written would be in the log before this one.
        fleet.created("c", &config, &json!({}));
        fleet.wait("c", "RUNNING", 1);
        let (status, _) = fleet.create("c", &config, &json!({ "initial_state": "STOPPED" }));
        assert_eq!(status, 409, "it exists, and stays as it is");
        fleet.must("POST", "/connectors/c/restart?includeTasks=true", None);
        fleet.wait("c", "RUNNING", 1);
        let records = fleet.config_records("c");
        assert!(records.iter().all(|(key, _)| !key.starts_with("target-state-")), "{records:?}");
        assert!(records.first().is_none_or(|(key, _)| key == "connector-c"), "{records:?}");
    });
}

#[test]
fn nothing_of_a_stopped_connector_starts_before_it_is_resumed() {
    each("initial-none", |fleet| {
        fs::write(fleet.file("c.txt"), "one\ntwo\n").unwrap();
        let config = fleet.source("c");
        fleet.created("c", &config, &json!({ "initial_state": "STOPPED" }));
        fleet.wait("c", "STOPPED", 0);
        fleet.must("POST", "/connectors/c/restart?includeTasks=true", None);
        fleet.wait("c", "STOPPED", 0);
        let mut changed = config.clone();
        changed["batch.size"] = json!("10");
        fleet.must("PUT", "/connectors/c/config", Some(&changed));
        fleet.wait("c", "STOPPED", 0);
        for rest in fleet.rests() {
            assert_eq!(rest.must("GET", "/connectors/c/tasks", None).unwrap(), json!([]));
        }
        assert_eq!(fleet.lines("c"), Vec::<String>::new());
        assert_eq!(fleet.states_said("c", true), Vec::<String>::new());
        assert!(fleet.states_said("c", false).iter().all(|state| state != "RUNNING"));
        let is_of_tasks = |key: &str| key.starts_with("task-") || key.starts_with("commit-");
        let records = fleet.config_records("c");
        assert!(records.iter().all(|(key, _)| !is_of_tasks(key)), "{records:?}");

        fleet.put("c", "resume");
        fleet.wait("c", "RUNNING", 1);
        fleet.read_to("c", 8);
        assert_eq!(fleet.lines("c"), ["one", "two"]);
        for rest in fleet.rests() {
            let tasks = rest.must("GET", "/connectors/c/tasks", None).unwrap();
            assert_eq!(tasks[0]["config"]["batch.size"], json!("10"), "{tasks}");
        }
    });
}

#[test]
fn states_can_change_before_a_connector_runs_for_the_first_time() {
    each("initial-ways", |fleet| {
        fleet.created("p", &fleet.source("p"), &json!({ "initial_state": "PAUSED" }));
        fleet.created("s", &fleet.source("s"), &json!({ "initial_state": "STOPPED" }));
        fleet.wait("p", "PAUSED", 0);
        fleet.wait("s", "STOPPED", 0);
        fleet.put("p", "stop");
        fleet.put("s", "pause");
        fleet.wait("p", "STOPPED", 0);
        fleet.wait("s", "PAUSED", 0);
        fleet.put("p", "pause");
        fleet.wait("p", "PAUSED", 0);
        for name in ["p", "s"] {
            assert!(!fleet.states_said(name, false).contains(&"RUNNING".to_owned()));
            fleet.put(name, "resume");
            fleet.wait(name, "RUNNING", 1);
        }
    });
}

#[test]
fn a_deleted_connector_leaves_no_state_to_the_next_of_its_name() {
    each("initial-again", |fleet| {
        let states = [Some("STOPPED"), None, Some("PAUSED"), None, Some("RUNNING"), Some("STOPPED"), Some("PAUSED")];
        for state in states {
            let more = state.map_or(json!({}), |state| json!({ "initial_state": state }));
            fleet.created("c", &fleet.source("c"), &more);
            let expected = state.unwrap_or("RUNNING");
            fleet.wait("c", expected, usize::from(expected == "RUNNING"));
            fleet.delete("c");
            let records = fleet.config_records("c");
            let last = records.iter().rfind(|(key, _)| key == "target-state-c");
            assert!(last.is_none_or(|(_, value)| value.is_null()), "{records:?}");
        }
    });
}

#[test]
fn a_request_in_a_file_means_on_the_command_line_what_it_means_in_a_post() {
    let Some(kafka) = real_kafka("initial-file") else { return };
    let Kafka::At(_) = &kafka else { panic!("real Kafka has an address") };
    let folder = tempfile::tempdir().unwrap();
    let Some(fleet) = Fleet::new("initial-file", Mode::Cluster, folder.path()) else { return };
    let own = tempfile::tempdir().unwrap();
    let mut setup = Setup::new(kafka, own.path()).unwrap();
    let wanted = [
        ("a", json!({}), "RUNNING"),
        ("b", json!({ "initial_state": null }), "RUNNING"),
        ("c", json!({ "initial_state": "Running" }), "RUNNING"),
        ("d", json!({ "initial_state": "paused" }), "PAUSED"),
        ("e", json!({ "initial_state": "STOPPED" }), "STOPPED"),
    ];
    for (name, more, _) in &wanted {
        let file = own.path().join(format!("{name}.json"));
        let config = json!({ "connector.class": "io.bulkhead.test.Hostile", "tasks.max": "2" });
        let text = request(name, &config, more).to_string();
        fs::write(&file, &text).unwrap();
        setup.connectors.push(file);
        fleet.rest().must("POST", "/connectors", Some(&serde_json::from_str(&text).unwrap())).unwrap();
    }
    let worker = setup.start().unwrap();
    for (name, _, state) in &wanted {
        let tasks = if *state == "RUNNING" { 2 } else { 0 };
        worker.rest.wait(name, state, tasks).unwrap();
        fleet.wait(name, state, tasks);
    }
    for name in ["d", "e"] {
        worker.rest.must("PUT", &format!("/connectors/{name}/resume"), None).unwrap();
        worker.rest.wait(name, "RUNNING", 2).unwrap();
    }
}
