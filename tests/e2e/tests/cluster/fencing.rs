//! Leaders that claim the config topic, and those that were replaced (`exactly.once.source.support=preparing`).

use std::collections::BTreeSet;
use std::thread;

use bulkhead_e2e::{Cluster, DELAY, Kind, Record, SESSION, eventually, real_kafka};
use serde_json::{Map, Value, json};

use crate::pipe::SINK;
use crate::witness::{self, borrowed, check_single};
use crate::{SOON, cluster_with};

const PREPARING: [(&str, &str); 1] = [("exactly.once.source.support", "preparing")];

/// A configuration of a witness that makes a record each so many milliseconds.
fn config(cluster: &Cluster, name: &str, interval: &str) -> Value {
    let topic = cluster.topic(name);
    let config = witness::config(&topic, "ok", "1").into_iter().chain([("interval.ms", interval)]);
    Value::Object(config.map(|(key, value)| (key.to_owned(), json!(value))).collect::<Map<_, _>>())
}

fn records(cluster: &Cluster) -> Vec<Record> {
    cluster.topics.read(&cluster.topic("configs")).unwrap()
}

/// What was written to the config topic behind so many records.
fn keys_since(cluster: &Cluster, mark: usize) -> Vec<String> {
    records(cluster)[mark..].iter().map(Record::key_text).collect()
}

/// What only leaders write was written under a claim, and under no claim after a newer one was made.
fn check_claims(cluster: &Cluster) {
    let anybodys = |record: &&Record| {
        ["target-state-", "logger-cluster-"].iter().any(|prefix| record.key_text().starts_with(prefix))
    };
    let records = records(cluster);
    let claims: Vec<_> = records.iter().filter(|record| !anybodys(record)).map(|record| record.producer).collect();
    assert!(!claims.contains(&None), "{records:?}");
    assert!(claims.is_sorted(), "{claims:?}");
}

#[test]
fn g31_a_leader_whose_claim_was_taken_writes_nothing_and_claims_again() {
    let Some(cluster) = cluster_with("g31-taken", 2, &PREPARING) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 2);
    cluster.settled(&borrowed(&connectors)).unwrap();
    let leader = cluster.rest(cluster.leader().unwrap());
    let changed = config(&cluster, "w0", "40");
    for (method, path, body, written) in [
        ("PUT", "/connectors/w0/config", Some(&changed), "connector-w0"),
        ("POST", "/connectors/w1/restart?includeTasks=true", None, "restart-connector-w1"),
        ("DELETE", "/connectors/w0", None, "connector-w0"),
    ] {
        cluster.settled(&borrowed(&connectors)).unwrap();
        let mark = records(&cluster).len();
        cluster.topics.claim(&format!("connect-cluster-{}", cluster.group)).unwrap();
        let (status, answer) = leader.ask(method, path, body).unwrap();
        assert_eq!(status, 409, "{answer}");
        let message = answer["message"].as_str().unwrap();
        assert!(message.contains("another worker has begun to lead"), "{message}");
        assert_eq!(keys_since(&cluster, mark), [""; 0], "nothing of it is there, be it committed or not");
        // Anybody may do what is no leader's privilege.
        assert_eq!(leader.status("PUT", "/connectors/w1/resume").unwrap(), 202);
        leader.must(method, path, body).unwrap();
        let keys = keys_since(&cluster, mark);
        assert_eq!(keys[..2], ["target-state-w1", written], "{keys:?}");
    }
    cluster.settled(&[("w1", 1)]).unwrap();
    check_claims(&cluster);
}

#[test]
fn g31_a_frozen_leader_that_was_replaced_writes_nothing_when_it_is_back() {
    let Some(mut cluster) = cluster_with("g31-frozen", 2, &PREPARING) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 2);
    cluster.settled(&borrowed(&connectors)).unwrap();
    let (old, new) = (cluster.leader().unwrap(), cluster.follower().unwrap());
    cluster.freeze(old).unwrap();
    // It finds this when it goes on, whatever it has heard of its group by then.
    let (rest, stale) = (cluster.rest(old), config(&cluster, "w0", "41"));
    let asked = thread::spawn(move || rest.ask("PUT", "/connectors/w0/config", Some(&stale)).unwrap());
    eventually("the other one leads", SESSION + SOON, || (cluster.leader().ok()? == new).then_some(())).unwrap();
    cluster.settled_within(SESSION + DELAY + SOON, &borrowed(&connectors)).unwrap();
    cluster.rest(new).must("PUT", "/connectors/w1/config", Some(&config(&cluster, "w1", "42"))).unwrap();
    cluster.settled(&borrowed(&connectors)).unwrap();
    let mark = records(&cluster).len();
    cluster.thaw(old).unwrap();

    let (status, answer) = asked.join().unwrap();
    assert!([200, 409].contains(&status), "{status} {answer}");
    cluster.wait_for_members(2, SOON).unwrap();
    cluster.settled(&borrowed(&connectors)).unwrap();
    // The new leader writes it if it was handed on to it.
    let written = keys_since(&cluster, mark).iter().filter(|key| *key == "connector-w0").count();
    assert_eq!(written, usize::from(status == 200), "{answer}");
    check_claims(&cluster);
    cluster.rest(old).must("PUT", "/connectors/w0/config", Some(&config(&cluster, "w0", "43"))).unwrap();
    cluster.settled(&borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
    check_claims(&cluster);
}

#[test]
fn g31_leaders_of_both_kinds_claim_by_one_name() {
    let Some(kafka) = real_kafka("g31-mixed") else { return };
    let [(key, value)] = PREPARING;
    let mut cluster = Cluster::new(&kafka, "g31-mixed").unwrap().with(key, value);
    let topic = cluster.topic("lines");
    let create = |cluster: &Cluster, number: usize, name: &str| {
        let config = json!({ "connector.class": SINK, "topics": topic, "file": "/dev/null" });
        let request = json!({ "name": name, "config": config, "initial_state": "STOPPED" });
        // A follower whose leader has gone may not have heard of it, and Apache's answers 500 then.
        let created = || (cluster.rest(number).ask("POST", "/connectors", Some(&request)).ok()?.0 == 201).then_some(());
        eventually(&format!("{name} is created"), SOON, created).unwrap();
    };
    let ours = cluster.add(Kind::Bulkhead).unwrap();
    create(&cluster, ours, "a");
    let theirs = cluster.add(Kind::Apache).unwrap();
    cluster.terminate(ours).unwrap();
    create(&cluster, theirs, "b");
    cluster.start(ours).unwrap();
    create(&cluster, ours, "handed-on");
    cluster.terminate(theirs).unwrap();
    create(&cluster, ours, "c");
    check_claims(&cluster);
    let ids: BTreeSet<_> = records(&cluster).iter().filter_map(|record| Some(record.producer?.0)).collect();
    assert_eq!(ids.len(), 1, "the coordinator gives one id to one name: {ids:?}");
    let names = cluster.rest(ours).must("GET", "/connectors", None).unwrap();
    assert_eq!(names.as_array().unwrap().len(), 4, "{names}");
}
