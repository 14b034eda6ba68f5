//! Requests to a cluster, and what becomes of them.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bulkhead_e2e::{Cluster, Instance, Kind, eventually};
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use crate::statuses;
use crate::witness::{self, borrowed, check_single, lives, now};
use crate::{SOON, cluster, cluster_with};

#[test]
fn g42_a_restart_during_a_rebalance_is_refused_or_done_but_not_lost() {
    let Some(mut cluster) = cluster("g42", 2) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 4);
    cluster.settled(&borrowed(&connectors)).unwrap();
    let joining = cluster.enlist(Kind::Bulkhead, &[]).unwrap();
    cluster.spawn(joining).unwrap();
    let mut accepted = BTreeMap::new();
    let mut turns = 0;
    let joined = || {
        for (name, _) in &connectors {
            let asked = now();
            let path = format!("/connectors/{name}/restart?includeTasks=true");
            let status = cluster.rest(turns % 2).status("POST", &path).unwrap();
            assert!([202, 409].contains(&status), "{status}");
            if status == 202 {
                accepted.insert(name, asked);
            }
        }
        turns += 1;
        (cluster.topics.group(&cluster.group).ok()?.members == 3 && turns > 4).then_some(())
    };
    eventually("it is a member", SOON, joined).unwrap();
    cluster.wait_until_it_is_up(joining).unwrap();
    cluster.settled(&borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
    assert!(!accepted.is_empty(), "some were accepted");
    for (name, asked) in accepted {
        let last = lives(&cluster, name).pop().unwrap();
        assert!(last.from() >= asked, "{name} was started anew after the last accepted request: {last:?}, {asked}");
    }
    for worker in cluster.awake() {
        let status = cluster.rest(worker).status("POST", "/connectors/w0/restart?includeTasks=true").unwrap();
        assert_eq!(status, 202, "afterwards every worker takes restarts");
    }
}

/// The newest session key of the cluster.
fn session_key(cluster: &Cluster) -> Vec<u8> {
    let records = cluster.topics.read(&cluster.topic("configs")).unwrap();
    let newest = records.iter().rfind(|record| record.key_text() == "session-key").unwrap().json();
    BASE64_STANDARD.decode(newest["key"].as_str().unwrap()).unwrap()
}

#[test]
fn g44_and_g57_requests_between_workers_need_their_signature_and_reach_the_leader_from_anywhere() {
    let Some(cluster) = cluster("g44", 2) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 1);
    cluster.settled(&borrowed(&connectors)).unwrap();
    let tasks = cluster.rest(0).must("GET", "/connectors/w0/tasks", None).unwrap();
    let mut task = tasks[0]["config"].clone();
    task["times"] = json!("77");
    let body = json!([task]);
    let mut mac = Hmac::<Sha256>::new_from_slice(&session_key(&cluster)).unwrap();
    mac.update(body.to_string().as_bytes());
    let right = BASE64_STANDARD.encode(mac.finalize().into_bytes());
    let wrong = BASE64_STANDARD.encode([7; 32]);
    let ask = |worker: usize, signature: Option<(&str, &str)>| {
        let headers = signature.map(|(signature, algorithm)| {
            [("X-Connect-Authorization", signature), ("X-Connect-Request-Signature-Algorithm", algorithm)]
        });
        let headers = headers.iter().flatten().copied().collect::<Vec<_>>();
        let path = "/connectors/w0/tasks";
        cluster.rest(worker).ask_with("POST", path, Some(&body), &headers).unwrap().0
    };
    let (leader, follower) = (cluster.leader().unwrap(), cluster.follower().unwrap());
    for worker in [leader, follower] {
        assert_eq!(ask(worker, None), 400);
        assert_eq!(ask(worker, Some((&wrong, "HmacSHA256"))), 403);
        assert_eq!(ask(worker, Some((&right, "HmacSHA1"))), 400, "not among the accepted ones");
        assert_eq!(ask(worker, Some((&right, "Foo"))), 400);
        assert_eq!(ask(worker, Some(("!", "HmacSHA256"))), 400);
    }
    assert_eq!(cluster.rest(0).must("GET", "/connectors/w0/tasks", None).unwrap(), tasks, "nothing was written");
    assert_eq!(ask(follower, Some((&right, "HmacSHA256"))), 204);
    // The connector's owner may put its own tasks in their place at once.
    let written = || {
        let records = cluster.topics.read(&cluster.topic("configs")).ok()?;
        let mut tasks = records.iter().filter(|record| record.key_text() == "task-w0-0");
        tasks.any(|record| record.json()["properties"]["times"] == "77").then_some(())
    };
    eventually("the leader has written it", SOON, written).unwrap();
}

#[test]
fn g45_session_keys_rotate_and_followers_get_their_tasks_published_all_the_same() {
    let Some(cluster) = cluster_with("g45", 2, &[("inter.worker.key.ttl.ms", "2000")]) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 4);
    let owners = cluster.settled(&borrowed(&connectors)).unwrap();
    let id = cluster.id(cluster.follower().unwrap());
    let (instance, _) = owners.iter().find(|(part, owner)| part.task.is_none() && owner.worker == id).unwrap();
    let name = &instance.connector;
    let keys = || {
        let records = cluster.topics.read(&cluster.topic("configs")).unwrap();
        let keys = records.iter().filter(|record| record.key_text() == "session-key");
        let mut keys: Vec<_> = keys.map(|record| record.json()["key"].as_str().unwrap().to_owned()).collect();
        keys.dedup();
        keys
    };
    for round in 1..=4 {
        eventually("a new key", SOON, || (keys().len() > round).then_some(())).unwrap();
        let topic = cluster.topic(name);
        let mut config: serde_json::Map<_, _> =
            witness::config(&topic, "ok", "1").iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        config.insert("times".to_owned(), json!(round.to_string()));
        cluster.rest(0).must("PUT", &format!("/connectors/{name}/config"), Some(&Value::Object(config))).unwrap();
        let published = || {
            let tasks = cluster.rest(1).must("GET", &format!("/connectors/{name}/tasks"), None).ok()?;
            (tasks[0]["config"]["times"] == json!(round.to_string())).then_some(())
        };
        eventually("the leader has published the follower's task", SOON, published).unwrap();
    }
    cluster.settled(&borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
}

#[test]
fn g49_pause_and_resume_in_quick_succession_end_in_the_last_state() {
    let Some(cluster) = cluster("g49", 2) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 3);
    cluster.settled(&borrowed(&connectors)).unwrap();
    for (last, state) in [("pause", "PAUSED"), ("resume", "RUNNING"), ("stop", "STOPPED"), ("resume", "RUNNING")] {
        for (name, _) in &connectors {
            for turn in 0..8 {
                let verb = if turn % 2 == 0 { "resume" } else { "pause" };
                cluster.rest(turn % 2).must("PUT", &format!("/connectors/{name}/{verb}"), None).unwrap();
            }
            cluster.rest(0).must("PUT", &format!("/connectors/{name}/{last}"), None).unwrap();
        }
        for (name, _) in &connectors {
            for worker in [0, 1] {
                cluster.rest(worker).wait(name, state, usize::from(state != "STOPPED")).unwrap();
            }
        }
    }
    check_single(&cluster, &connectors);
}

#[test]
fn a_task_that_starts_paused_runs_when_it_is_resumed() {
    let Some(mut cluster) = cluster("paused-start", 1) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 1);
    cluster.settled(&borrowed(&connectors)).unwrap();
    cluster.rest(0).must("PUT", "/connectors/w0/pause", None).unwrap();
    cluster.rest(0).wait("w0", "PAUSED", 1).unwrap();
    cluster.terminate(0).unwrap();
    cluster.start(0).unwrap();
    cluster.rest(0).wait("w0", "PAUSED", 1).unwrap();
    let before = lives(&cluster, "w0");
    cluster.rest(0).must("PUT", "/connectors/w0/resume", None).unwrap();
    cluster.settled(&borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
    assert_eq!((before.len(), lives(&cluster, "w0").len()), (1, 2), "nothing was made while it was paused");
}

/// Rewrites the config topic so that the connector's task fails at its start.
fn sabotage(cluster: &Cluster, name: &str) {
    let topic = cluster.topic("configs");
    let records = cluster.topics.read(&topic).unwrap();
    let mut written = Vec::new();
    for key in [format!("connector-{name}"), format!("task-{name}-0"), format!("commit-{name}")] {
        let mut value = records.iter().rfind(|record| record.key_text() == key).unwrap().json();
        if let Some(properties) = value.get_mut("properties") {
            properties["mode"] = json!("start-error");
        }
        written.push((key, value.to_string()));
    }
    let written: Vec<_> = written.iter().map(|(key, value)| (Some(key.as_bytes()), Some(value.as_bytes()))).collect();
    cluster.topics.write(&topic, 0, &written).unwrap();
}

#[test]
fn g54_a_failure_is_told_although_the_generations_began_anew() {
    let Some(mut cluster) = cluster("g54", 2) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 1);
    for _ in 0..2 {
        cluster.terminate(1).unwrap();
        cluster.start(1).unwrap();
    }
    cluster.settled(&borrowed(&connectors)).unwrap();
    let task = Instance { connector: "w0".to_owned(), task: Some(0) };
    // The task's RUNNING has to be of a late generation.
    let count = lives(&cluster, "w0").len();
    cluster.rest(0).must("POST", "/connectors/w0/restart?includeTasks=true", None).unwrap();
    eventually("it has restarted", SOON, || (lives(&cluster, "w0").len() > count).then_some(())).unwrap();
    cluster.settled(&borrowed(&connectors)).unwrap();
    let late = statuses::since(&cluster, 0).into_iter().rfind(|status| status.instance == task).unwrap();
    assert!(late.generation >= 3 && late.state.as_deref() == Some("RUNNING"), "{late:?}");
    for worker in [0, 1] {
        cluster.kill(worker).unwrap();
    }
    let deleted = || cluster.topics.delete_group(&cluster.group).ok();
    eventually("the group can be deleted", SOON, deleted).unwrap();
    sabotage(&cluster, "w0");

    let other = cluster.add(Kind::Bulkhead).unwrap();
    let trace = cluster.rest(other).failure("w0", 0).unwrap();
    assert!(trace.contains("as it was asked to"), "{trace}");
    let failed = statuses::since(&cluster, 0).into_iter().rfind(|status| status.instance == task).unwrap();
    assert!(failed.generation < late.generation, "{failed:?} after {late:?}");
    let path = "/connectors/w0/restart?includeTasks=true&onlyFailed=true";
    let plan = cluster.rest(other).must("POST", path, None).unwrap();
    assert_eq!(plan["tasks"][0]["state"], "RESTARTING", "and can be restarted: {plan}");
}
