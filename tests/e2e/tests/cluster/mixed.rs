//! One of our workers and one of Apache's in one group.

use std::fs;

use bulkhead_e2e::{Cluster, Kind, Rest, eventually, real_kafka};
use serde_json::{Value, json};

use crate::SOON;
use crate::pipe::{A_SECOND, Pipe, SINK, SOURCE};
use crate::statuses;
use crate::witness::now;

#[test]
fn g04_shares_a_group_with_connect_whoever_leads() {
    let Some(kafka) = real_kafka("g04") else { return };
    let mut cluster = Cluster::new(&kafka, "g04").unwrap();
    let ours = cluster.add(Kind::Bulkhead).unwrap();
    let theirs = cluster.add(Kind::Apache).unwrap();
    let pipes = ["a", "b"].map(|name| Pipe::create(&cluster, &cluster.rest(ours), name));
    let connectors: Vec<_> = pipes.iter().flat_map(Pipe::connectors).collect();
    cluster.settled(&connectors).unwrap();
    assert_eq!(cluster.leader().unwrap(), ours, "the first member leads");
    cluster.terminate(ours).unwrap();
    cluster.settled(&connectors).unwrap();
    cluster.start(ours).unwrap();
    cluster.settled(&connectors).unwrap();
    assert_eq!(cluster.leader().unwrap(), theirs, "the one that stayed leads");
    pipes.into_iter().for_each(|pipe| pipe.check(&cluster, 0));
}

fn initially(rest: &Rest, name: &str, config: &[(&str, &str)], state: &str) {
    let config: serde_json::Map<_, _> = config.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    let request = json!({ "name": name, "config": config, "initial_state": state });
    rest.must("POST", "/connectors", Some(&request)).unwrap();
}

fn configs(rest: &Rest) -> Value {
    let all = rest.must("GET", "/connectors?expand=info", None).unwrap();
    all.as_object().unwrap().iter().map(|(name, parts)| (name.clone(), parts["info"]["config"].clone())).collect()
}

#[test]
fn g20_what_one_writes_into_the_config_topic_the_other_reads() {
    let Some(kafka) = real_kafka("g20") else { return };
    let mut cluster = Cluster::new(&kafka, "g20").unwrap();
    let file = cluster.path().join("lines.txt");
    fs::write(&file, "one\ntwo\n").unwrap();
    let file = file.to_str().unwrap().to_owned();
    let out = cluster.path().join("out.txt");
    let topic = cluster.topic("lines");
    let source = [("connector.class", SOURCE), ("topic", &topic), ("file", &file), ("tasks.max", "1")];
    let sink = [("connector.class", SINK), ("topics", &topic), ("file", out.to_str().unwrap())];

    let ours = cluster.add(Kind::Bulkhead).unwrap();
    let rest = cluster.rest(ours);
    for name in ["runs", "pauses", "stops", "goes"] {
        rest.create(name, &source).unwrap();
        rest.wait(name, "RUNNING", 1).unwrap();
    }
    initially(&rest, "asleep", &sink, "STOPPED");
    rest.must("PUT", "/connectors/pauses/pause", None).unwrap();
    rest.must("PUT", "/connectors/stops/stop", None).unwrap();
    rest.delete("goes").unwrap();
    rest.wait("pauses", "PAUSED", 1).unwrap();
    rest.wait("stops", "STOPPED", 0).unwrap();
    let written = configs(&rest);
    cluster.terminate(ours).unwrap();

    let theirs = cluster.add(Kind::Apache).unwrap();
    let rest = cluster.rest(theirs);
    assert_eq!(configs(&rest), written);
    rest.wait("runs", "RUNNING", 1).unwrap();
    rest.wait("pauses", "PAUSED", 1).unwrap();
    rest.wait("stops", "STOPPED", 0).unwrap();
    rest.wait("asleep", "STOPPED", 0).unwrap();
    rest.must("PUT", "/connectors/pauses/resume", None).unwrap();
    rest.must("PUT", "/connectors/runs/stop", None).unwrap();
    rest.must("PUT", "/connectors/asleep/resume", None).unwrap();
    rest.delete("stops").unwrap();
    initially(&rest, "new", &source, "PAUSED");
    rest.wait("pauses", "RUNNING", 1).unwrap();
    rest.wait("runs", "STOPPED", 0).unwrap();
    rest.wait("asleep", "RUNNING", 1).unwrap();
    let written = configs(&rest);
    cluster.terminate(theirs).unwrap();

    cluster.start(ours).unwrap();
    let rest = cluster.rest(ours);
    assert_eq!(configs(&rest), written);
    rest.wait("pauses", "RUNNING", 1).unwrap();
    rest.wait("runs", "STOPPED", 0).unwrap();
    rest.wait("asleep", "RUNNING", 1).unwrap();
    assert_eq!(rest.status("GET", "/connectors/stops").unwrap(), 404);
    let paused = || (rest.states("new").ok()?.first()? == "PAUSED").then_some(());
    eventually("`new` is paused", SOON, paused).unwrap();
}

/// Everything is restarted through this worker: both owners have to carry it out.
fn restart_everything(cluster: &Cluster, through: usize, connectors: &[(&str, u32)]) {
    let asked = now();
    for (name, tasks) in connectors {
        let path = format!("/connectors/{name}/restart?includeTasks=true");
        let plan = cluster.rest(through).must("POST", &path, None).unwrap();
        assert_eq!(plan["connector"]["state"], "RESTARTING", "{plan}");
        assert_eq!(plan["tasks"].as_array().map(Vec::len), Some(*tasks as usize), "{plan}");
    }
    let all_restarted = || {
        let news = statuses::since(cluster, asked);
        let by_instance = statuses::by_instance(&news);
        let told = by_instance.values().filter(|news| {
            let states: Vec<_> = news.iter().filter_map(|status| status.state.as_deref()).collect();
            states.contains(&"RESTARTING") && states.last() == Some(&"RUNNING")
        });
        (told.count() == connectors.len() * 2).then_some(())
    };
    let outcome = eventually("each connector and task says RESTARTING, then RUNNING", SOON, all_restarted);
    assert!(outcome.is_ok(), "{outcome:?}: {:#?}", statuses::since(cluster, asked));
    cluster.settled(connectors).unwrap();
}

#[test]
fn an_eager_apache_worker_makes_ours_eager_until_it_leaves() {
    let Some(kafka) = real_kafka("an eager Apache worker") else { return };
    let mut cluster = Cluster::new(&kafka, "eager-apache").unwrap();
    let ours = cluster.add(Kind::Bulkhead).unwrap();
    let pipe = Pipe::create(&cluster, &cluster.rest(ours), "a");
    cluster.settled(&pipe.connectors()).unwrap();
    let theirs = cluster.add_with(Kind::Apache, &[("connect.protocol", "eager")]).unwrap();
    cluster.settled(&pipe.connectors()).unwrap();
    assert_eq!(cluster.topics.group(&cluster.group).unwrap().protocol, "default");
    pipe.flows(50);
    cluster.terminate(theirs).unwrap();
    cluster.settled(&pipe.connectors()).unwrap();
    assert_eq!(cluster.topics.group(&cluster.group).unwrap().protocol, "sessioned");
    pipe.flows(50);
    pipe.check(&cluster, 0);
}

#[test]
fn each_takes_over_when_the_other_is_killed() {
    let Some(kafka) = real_kafka("kills in a mixed cluster") else { return };
    let mut cluster = Cluster::new(&kafka, "mixed-kills").unwrap();
    let ours = cluster.add(Kind::Bulkhead).unwrap();
    let theirs = cluster.add(Kind::Apache).unwrap();
    let pipes = ["a", "b"].map(|name| Pipe::create(&cluster, &cluster.rest(ours), name));
    let connectors: Vec<_> = pipes.iter().flat_map(Pipe::connectors).collect();
    cluster.settled(&connectors).unwrap();
    pipes.iter().for_each(|pipe| pipe.flows(50));
    for victim in [theirs, ours] {
        cluster.kill(victim).unwrap();
        cluster.settled(&connectors).unwrap();
        pipes.iter().for_each(|pipe| pipe.flows(50));
        cluster.start(victim).unwrap();
        cluster.settled(&connectors).unwrap();
    }
    drop(connectors);
    pipes.into_iter().for_each(|pipe| pipe.check(&cluster, 2 * A_SECOND));
}

fn check_both_tell_the_same(cluster: &Cluster, one: usize, other: usize, connectors: &[(&str, u32)]) {
    for (name, _) in connectors {
        for path in ["", "/config", "/tasks", "/topics"] {
            let path = format!("/connectors/{name}{path}");
            let ask = |worker: usize| -> Value { cluster.rest(worker).must("GET", &path, None).unwrap() };
            assert_eq!(ask(one), ask(other), "{path}");
        }
    }
}

fn configs_written(cluster: &Cluster) -> usize {
    let records = cluster.topics.read(&cluster.topic("configs")).unwrap();
    records.iter().filter(|record| record.key_text().starts_with("connector-")).count()
}

#[test]
fn a_bulkhead_and_an_apache_worker_share_restart_and_take_over_work() {
    let Some(kafka) = real_kafka("mixed cluster") else { return };
    let mut cluster = Cluster::new(&kafka, "mixed").unwrap();
    let ours = cluster.add(Kind::Bulkhead).unwrap();
    let theirs = cluster.add(Kind::Apache).unwrap();
    let pipes =
        [("a", ours), ("b", theirs)].map(|(name, through)| Pipe::create(&cluster, &cluster.rest(through), name));
    let connectors: Vec<_> = pipes.iter().flat_map(Pipe::connectors).collect();
    cluster.settled(&connectors).unwrap();
    assert_eq!(cluster.leader().unwrap(), ours);
    pipes.iter().for_each(|pipe| pipe.flows(50));
    check_both_tell_the_same(&cluster, ours, theirs, &connectors);
    restart_everything(&cluster, ours, &connectors);
    restart_everything(&cluster, theirs, &connectors);

    let configs = configs_written(&cluster);
    cluster.terminate(theirs).unwrap();
    cluster.settled(&connectors).unwrap();
    pipes.iter().for_each(|pipe| pipe.flows(50));
    cluster.start(theirs).unwrap();
    cluster.settled(&connectors).unwrap();
    cluster.terminate(ours).unwrap();
    cluster.settled(&connectors).unwrap();
    pipes.iter().for_each(|pipe| pipe.flows(50));
    cluster.start(ours).unwrap();
    cluster.settled(&connectors).unwrap();
    assert_eq!(configs_written(&cluster), configs, "no configuration was submitted again");

    assert_eq!(cluster.leader().unwrap(), theirs);
    restart_everything(&cluster, theirs, &connectors);
    restart_everything(&cluster, ours, &connectors);
    pipes.iter().for_each(|pipe| pipe.flows(50));
    check_both_tell_the_same(&cluster, ours, theirs, &connectors);
    let paused = &pipes[0].source;
    cluster.rest(theirs).must("PUT", &format!("/connectors/{paused}/pause"), None).unwrap();
    cluster.rest(ours).wait(paused, "PAUSED", 1).unwrap();
    cluster.rest(ours).must("PUT", &format!("/connectors/{paused}/resume"), None).unwrap();
    cluster.rest(theirs).wait(paused, "RUNNING", 1).unwrap();
    drop(connectors);
    pipes.into_iter().for_each(|pipe| pipe.check(&cluster, 0));
}
