//! The worker's own topics.

use std::fs;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use bulkhead_e2e::{Cluster, Kafka, Kind, Record, eventually, real_kafka};
use serde_json::{Value, json};

use crate::pipe::SOURCE;
use crate::witness::{self, borrowed, check_single, lives};
use crate::{SOON, cluster, cluster_with};

#[test]
fn g22_restarts_and_levels_of_loggers_from_before_the_start_do_nothing() {
    let Some(mut cluster) = cluster("g22", 1) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 1);
    cluster.settled(&borrowed(&connectors)).unwrap();
    cluster.terminate(0).unwrap();
    let topic = cluster.topic("configs");
    let restart = json!({ "include-tasks": true, "only-failed": false }).to_string();
    let level = json!({ "level": "TRACE" }).to_string();
    let records: [(&[u8], _); 2] =
        [(b"restart-connector-w0", restart.as_bytes()), (b"logger-cluster-of.a.test", level.as_bytes())];
    let records = records.map(|(key, value)| (Some(key), Some(value)));
    cluster.topics.write(&topic, 0, &records).unwrap();
    let before = lives(&cluster, "w0").len();
    cluster.start(0).unwrap();
    cluster.settled(&borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
    assert_eq!(lives(&cluster, "w0").len(), before + 1, "started, not restarted");
    let loggers = cluster.rest(0).must("GET", "/admin/loggers", None).unwrap();
    assert_eq!(loggers["of.a.test"], Value::Null, "{loggers}");
    // The same records have an effect now.
    cluster.topics.write(&topic, 0, &records).unwrap();
    let restarted = || (lives(&cluster, "w0").len() == before + 2).then_some(());
    eventually("it restarts", SOON, restarted).unwrap();
    let level = || {
        let loggers = cluster.rest(0).must("GET", "/admin/loggers", None).ok()?;
        (loggers["of.a.test"]["level"] == "TRACE").then_some(())
    };
    eventually("the level is set", SOON, level).unwrap();
}

#[test]
fn g23_tasks_that_miss_from_a_commit_are_published_anew() {
    let Some(mut cluster) = cluster("g23", 1) else { return };
    cluster.rest(0).create("w0", &witness::config(&cluster.topic("w0"), "ok", "2")).unwrap();
    cluster.settled(&[("w0", 2)]).unwrap();
    cluster.terminate(0).unwrap();
    let topic = cluster.topic("configs");
    let task = json!({ "properties": { "task.class": "x" } }).to_string();
    let commit = json!({ "tasks": 2 }).to_string();
    let half: [(&[u8], _); 2] = [(b"task-w0-1", task.as_bytes()), (b"commit-w0", commit.as_bytes())];
    cluster.topics.write(&topic, 0, &half.map(|(key, value)| (Some(key), Some(value)))).unwrap();
    let damaged = cluster.topics.read(&topic).unwrap().len();
    cluster.start(0).unwrap();
    cluster.settled(&[("w0", 2)]).unwrap();
    let records = cluster.topics.read(&topic).unwrap();
    let keys: Vec<_> = records[damaged..].iter().map(Record::key_text).filter(|key| key != "session-key").collect();
    assert_eq!(keys, ["task-w0-0", "task-w0-1", "commit-w0"]);
    assert_eq!(witness::writing(&cluster, "w0", 2).len(), 2);
}

/// Runs a worker that is not expected to run; returns what it said on standard error.
fn refused(cluster: &Cluster, number: usize) -> String {
    let mut command = cluster.command(number).unwrap();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    if eventually("the worker ends", SOON, || child.try_wait().unwrap()).is_err() {
        child.kill().unwrap();
    }
    let Output { status, stderr, .. } = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&stderr).into_owned();
    assert_eq!(status.code(), Some(1), "{said}");
    said
}

#[test]
fn g30_a_config_topic_that_would_lose_records_ends_the_worker_with_a_message() {
    let Some(kafka) = real_kafka("g30") else { return };
    for (test, partitions, policy, named) in [
        ("g30-partitions", 2, "compact", "partition"),
        ("g30-delete", 1, "delete", "cleanup.policy"),
        ("g30-both", 1, "compact,delete", "cleanup.policy"),
    ] {
        let mut cluster = Cluster::new(&kafka, test).unwrap();
        let topic = cluster.topic("configs");
        cluster.topics.create(&topic, partitions, &[("cleanup.policy", policy)]).unwrap();
        let number = cluster.enlist(Kind::Bulkhead, &[]).unwrap();
        let said = refused(&cluster, number);
        assert!(said.contains(&topic) && said.contains(named), "{said}");
    }
}

#[test]
fn g32_a_follower_pauses_without_its_leader() {
    let Some(mut cluster) = cluster_with("g32", 2, &[("session.timeout.ms", "30000")]) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 4);
    cluster.settled(&borrowed(&connectors)).unwrap();
    let (leader, follower) = (cluster.leader().unwrap(), cluster.follower().unwrap());
    cluster.freeze(leader).unwrap();
    let rest = cluster.rest(follower);
    let asked = Instant::now();
    for (name, _) in &connectors {
        assert_eq!(rest.status("PUT", &format!("/connectors/{name}/pause")).unwrap(), 202);
    }
    assert!(asked.elapsed() < Duration::from_secs(10), "four times: {:?}", asked.elapsed());
    let id = cluster.id(follower);
    let paused = || {
        let owners = cluster.owners(follower).ok()?;
        let mut its = owners.values().filter(|owner| owner.worker == id);
        its.all(|owner| owner.state == "PAUSED").then_some(())
    };
    eventually("what the follower runs is paused", SOON, paused).unwrap();
    cluster.thaw(leader).unwrap();
    for (name, _) in &connectors {
        cluster.rest(leader).wait(name, "PAUSED", 1).unwrap();
    }
}

#[test]
fn g37_the_topic_of_a_task_is_noted_once_and_forgotten_with_its_connector() {
    let Some(cluster) = cluster("g37", 2) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 2);
    cluster.settled(&borrowed(&connectors)).unwrap();
    for (name, _) in &connectors {
        let topic = cluster.topic(name);
        for worker in cluster.awake() {
            let known = || {
                let answer = cluster.rest(worker).must("GET", &format!("/connectors/{name}/topics"), None).ok()?;
                (answer == json!({ name.clone(): { "topics": [topic] } })).then_some(())
            };
            eventually("every worker knows the topic", SOON, known).unwrap();
        }
    }
    check_single(&cluster, &connectors);
    let notes = |name: &str| {
        let key = format!("status-topic-{}:connector-{name}", cluster.topic(name));
        let records = cluster.topics.read(&cluster.topic("status")).unwrap();
        records.into_iter().filter(|record| record.key_text() == key).map(|record| record.json()).collect::<Vec<_>>()
    };
    for (name, _) in &connectors {
        let noted = notes(name);
        assert_eq!(noted.len(), 1, "{noted:?}");
        let topic = &noted[0]["topic"];
        assert_eq!(topic["name"], json!(cluster.topic(name)));
        assert_eq!((&topic["connector"], &topic["task"]), (&json!(name), &json!(0)));
        assert!(topic["discoverTimestamp"].is_i64(), "{topic}");
    }
    cluster.rest(1).must("PUT", "/connectors/w0/topics/reset", None).unwrap();
    let again = || {
        let noted = notes("w0");
        (noted.len() == 3 && noted[1].is_null() && !noted[2].is_null()).then_some(())
    };
    let outcome = eventually("forgotten, and noted again by the task that runs", SOON, again);
    assert!(outcome.is_ok(), "{:?}", notes("w0"));
    cluster.rest(1).delete("w0").unwrap();
    eventually("forgotten", SOON, || notes("w0").last().is_some_and(Value::is_null).then_some(())).unwrap();
    assert_eq!(notes("w1").len(), 1, "the other one's is left alone");
}

#[test]
fn g38_offsets_are_after_a_restart_what_they_were_and_a_reset_removes_them() {
    let Some(mut cluster) = cluster("g38", 2) else { return };
    let file = cluster.path().join("lines.txt");
    fs::write(&file, "one\ntwo\n").unwrap();
    let topic = cluster.topic("lines");
    let file = file.to_str().unwrap().to_owned();
    cluster.rest(0).create("s", &[("connector.class", SOURCE), ("topic", &topic), ("file", &file)]).unwrap();
    let offsets = |cluster: &Cluster, worker: usize| {
        cluster.rest(worker).must("GET", "/connectors/s/offsets", None).unwrap_or_default()["offsets"].clone()
    };
    let wanted = json!([{ "partition": { "filename": file }, "offset": { "position": 8 } }]);
    let everywhere = |cluster: &Cluster, wanted: &Value| {
        let all = || cluster.awake().into_iter().all(|worker| offsets(cluster, worker) == *wanted).then_some(());
        eventually(&format!("offsets are {wanted}"), SOON, all).unwrap();
    };
    everywhere(&cluster, &wanted);
    for worker in [0, 1] {
        cluster.kill(worker).unwrap();
    }
    for worker in [0, 1] {
        cluster.spawn(worker).unwrap();
    }
    for worker in [0, 1] {
        cluster.wait_until_it_is_up(worker).unwrap();
    }
    cluster.settled(&[("s", 1)]).unwrap();
    everywhere(&cluster, &wanted);
    let records = cluster.topics.read(&topic).unwrap();
    assert_eq!(records.len(), 2, "no line comes twice");

    cluster.rest(1).must("PUT", "/connectors/s/stop", None).unwrap();
    cluster.rest(1).wait("s", "STOPPED", 0).unwrap();
    cluster.rest(1).must("DELETE", "/connectors/s/offsets", None).unwrap();
    everywhere(&cluster, &json!([]));
    let written = cluster.topics.read(&cluster.topic("offsets")).unwrap();
    let key = format!("[\"s\",{{\"filename\":\"{file}\"}}]");
    assert!(written.iter().all(|record| record.key_text() == key), "the same bytes each time: {written:?}");
    assert_eq!(written.last().unwrap().value, None);
    assert_eq!(written.iter().rfind(|record| record.value.is_some()).unwrap().value_text(), "{\"position\":8}");
    cluster.rest(0).must("PUT", "/connectors/s/resume", None).unwrap();
    everywhere(&cluster, &wanted);
    assert_eq!(cluster.topics.read(&topic).unwrap().len(), 4, "both lines come again");
}

#[test]
fn g56_what_is_wrong_at_the_start_ends_the_worker_at_once() {
    let Some(kafka) = real_kafka("g56") else { return };
    let mut cluster = Cluster::new(&kafka, "g56").unwrap();
    for (key, value) in [
        ("heartbeat.interval.ms", "60000"),
        ("plugin.path", "/nowhere/plugins"),
        // Below what the coordinator allows: it says so at the first join.
        ("session.timeout.ms", "500"),
    ] {
        let number = cluster.enlist(Kind::Bulkhead, &[(key, value), ("consumer.session.timeout.ms", "10000")]).unwrap();
        let started = Instant::now();
        let said = refused(&cluster, number);
        assert!(started.elapsed() < Duration::from_secs(5), "{key}: {:?}", started.elapsed());
        assert!(!said.is_empty(), "{key}");
    }
    let mut nowhere = Cluster::new(&Kafka::At("127.0.0.1:1".to_owned()), "g56-nowhere").unwrap();
    let number = nowhere.enlist(Kind::Bulkhead, &[]).unwrap();
    let said = refused(&nowhere, number);
    assert!(said.contains("bootstrap.servers"), "{said}");
}
