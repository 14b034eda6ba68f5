//! A standalone worker from the command line: files of all shapes, what survives a kill, and what is
//! said when something is wrong.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::process::{Output, Stdio};
use std::time::Duration;

use bulkhead_e2e::{Kafka, Setup, eventually};
use serde_json::json;

const SOON: Duration = Duration::from_secs(30);

/// Runs a worker that is not expected to run; returns what it said.
fn refused(setup: &Setup) -> String {
    let mut child = setup.command().unwrap().stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let ended = eventually("the worker ends", SOON, || child.try_wait().unwrap());
    if ended.is_err() {
        child.kill().unwrap();
    }
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(!status.success(), "it ran:\n{stdout}{stderr}");
    assert_eq!(stderr.lines().count(), 1, "one line, not:\n{stderr}");
    stderr.into_owned()
}

fn setup(folder: &tempfile::TempDir) -> Setup {
    Setup::new(Kafka::Embedded, folder.path()).unwrap()
}

#[test]
fn connectors_come_from_properties_and_both_shapes_of_json_in_their_initial_states() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let class = "io.bulkhead.test.Hostile";
    let mut setup = setup(&folder);
    setup.connectors = vec![
        file("a.properties", &format!("name=a\nconnector.class={class}\ntasks.max=2\n")),
        file("b.json", &json!({"name": "b", "connector.class": class}).to_string()),
        file(
            "c.json",
            &json!({"name": "c", "config": {"connector.class": class}, "initial_state": "paused"}).to_string(),
        ),
        file(
            "d.json",
            &json!({"name": "d", "config": {"connector.class": class}, "initial_state": "Stopped"}).to_string(),
        ),
    ];
    let worker = setup.start().unwrap();
    worker.rest.wait("a", "RUNNING", 2).unwrap();
    worker.rest.wait("b", "RUNNING", 1).unwrap();
    worker.rest.wait("c", "PAUSED", 0).unwrap();
    worker.rest.wait("d", "STOPPED", 0).unwrap();
    worker.rest.must("PUT", "/connectors/d/resume", None).unwrap();
    worker.rest.wait("d", "RUNNING", 1).unwrap();
    assert!(worker.terminate().unwrap().success());
}

#[test]
fn a_source_goes_on_after_kill_9_where_its_offsets_say() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().canonicalize().unwrap().join("in.txt");
    fs::write(&input, "one\ntwo\n").unwrap();
    let connector = folder.path().join("source.properties");
    fs::write(&connector, format!("name=s\nconnector.class=FileStreamSource\nfile={}\ntopic=t\n", input.display()))
        .unwrap();
    let mut setup = setup(&folder);
    setup.connectors = vec![connector];
    let mut worker = setup.start().unwrap();
    let position = |worker: &bulkhead_e2e::Worker| {
        let (_, offsets) = worker.rest.ask("GET", "/connectors/s/offsets", None).ok()?;
        offsets["offsets"][0]["offset"]["position"].as_u64()
    };
    eventually("the offset is committed", SOON, || position(&worker).filter(|at| *at == 8)).unwrap();
    worker.kill().unwrap();
    let worker = setup.start().unwrap();
    eventually("the offset is still there", SOON, || position(&worker).filter(|at| *at == 8)).unwrap();
    fs::write(&input, "one\ntwo\nthree\n").unwrap();
    eventually("it reads on", SOON, || position(&worker).filter(|at| *at == 14)).unwrap();
}

#[test]
fn what_is_wrong_with_files_and_addresses_is_one_line_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let with_connector = |name: &str, text: &str| {
        let mut setup = setup(&folder);
        fs::write(path(name), text).unwrap();
        setup.connectors = vec![path(name)];
        setup
    };
    let class = |class: &str| format!(r#"{{"name": "x", "connector.class": "{class}", "mode": "odd"}}"#);
    let mut missing = setup(&folder);
    missing.connectors = vec![path("nowhere.json")];
    let mut broken_offsets = setup(&folder).with("offset.storage.file.filename", "/nowhere/offsets");
    broken_offsets.connectors.clear();
    for (setup, parts) in [
        (missing, ["nowhere.json", "can't be read"]),
        (with_connector("a.json", "{"), ["a.json", "not valid JSON"]),
        (with_connector("b.json", r#"{"name": "x", "config": {}, "initial_state": "asleep"}"#), ["b.json", "asleep"]),
        (with_connector("c.json", &class("no.such.Connector")), ["c.json", "no.such.Connector"]),
        (with_connector("d.json", &class("io.bulkhead.test.Hostile")), ["d.json", "mode"]),
        (setup(&folder).with("offset.flush.interval.ms", "soon"), ["offset.flush.interval.ms", "soon"]),
        (setup(&folder).with("listeners", "http://nowhere"), ["listeners", "http://nowhere"]),
        (setup(&folder).with("plugin.path", "/nowhere/plugins"), ["plugin.path", "/nowhere/plugins"]),
        (broken_offsets, ["offset.storage.file.filename", "/nowhere/offsets"]),
    ] {
        let said = refused(&setup);
        assert!(parts.iter().all(|part| said.contains(part)), "{parts:?} not in: {said}");
    }
    assert!(!path("offsets.jsonl").exists() || fs::read(path("offsets.jsonl")).unwrap().is_empty());
}

#[test]
fn a_broker_that_is_not_there_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let said = refused(&Setup::new(Kafka::At("127.0.0.1:1".to_owned()), folder.path()).unwrap());
    assert!(said.contains("127.0.0.1:1") && said.contains("bootstrap.servers"), "{said}");
}

#[test]
fn a_broken_plugin_file_is_told_and_the_others_work() {
    let folder = tempfile::tempdir().unwrap();
    let plugins = folder.path().join("plugins");
    fs::create_dir(&plugins).unwrap();
    fs::write(plugins.join("broken.wasm"), "no wasm").unwrap();
    fs::copy(bulkhead_e2e::plugins().join("file_source.wasm"), plugins.join("file_source.wasm")).unwrap();
    let worker = setup(&folder).with("plugin.path", plugins.to_str().unwrap()).start().unwrap();
    let listed = worker.rest.must("GET", "/connector-plugins", None).unwrap();
    assert!(listed.to_string().contains("FileStreamSource"), "{listed}");
    assert!(worker.log().contains("broken.wasm"), "{}", worker.log());
}
