//! Troubles that users of Kafka Connect reported in public and that are about a cluster: FC-01 (a restart that
//! restarts), FC-08 (a change nobody noticed), FC-09 (fewer tasks), FC-12 (killing a worker). The connectors'
//! records tell which instance made them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use bulkhead_e2e::{Cluster, DELAY, Instance, Kafka, Rest, SESSION, apache, eventually, real_kafka};
use serde_json::{Value, json};

use crate::statuses;
use crate::witness::{self, Life, lives, now, writing};
use crate::{SOON, cluster};

/// How soon a change has to show.
const QUICK: Duration = Duration::from_secs(3);

fn status(rest: &Rest, name: &str) -> Value {
    rest.must("GET", &format!("/connectors/{name}/status"), None).unwrap()
}

#[test]
fn fc_01_a_restart_restarts_what_it_is_asked_for() {
    let Some(cluster) = cluster("fc-01", 2) else { return };
    let rest = cluster.rest(cluster.follower().unwrap());
    rest.create("x", &witness::config(&cluster.topic("x"), "fail-once", "3")).unwrap();
    for task in 0..3 {
        rest.failure("x", task).unwrap();
    }
    for task in [0, 2] {
        assert_eq!(rest.status("POST", &format!("/connectors/x/tasks/{task}/restart")).unwrap(), 204);
    }
    let states = |wanted: &[&str]| {
        let reached = || (rest.states("x").ok()? == wanted).then_some(());
        let outcome = eventually(&format!("states are {wanted:?}"), QUICK, reached);
        assert!(outcome.is_ok(), "{outcome:?}: {}", status(&rest, "x"));
    };
    states(&["RUNNING", "RUNNING", "FAILED", "RUNNING"]);
    let others = writing(&cluster, "x", 2);

    assert_eq!(rest.ask("POST", "/connectors/x/restart", None).unwrap(), (204, Value::Null));
    // The connector's RESTARTING and RUNNING reach each worker in its own time.
    let calm = ["RUNNING", "RUNNING", "FAILED", "RUNNING"];
    let is_calm = || [0, 1].iter().all(|worker| cluster.rest(*worker).states("x").is_ok_and(|states| states == calm));
    let stays_calm = || {
        let looks = (0..20).all(|_| {
            std::thread::sleep(Duration::from_millis(20));
            is_calm()
        });
        looks.then_some(())
    };
    eventually("all is as it was but for the connector's new instance", QUICK, stays_calm).unwrap();

    let answer = rest.ask("POST", "/connectors/x/restart?includeTasks=true&onlyFailed=true", None).unwrap();
    let told = |part: &Value| part["state"].as_str().unwrap_or_default().to_owned();
    let plan = |answer: &Value| {
        [&answer["connector"], &answer["tasks"][0], &answer["tasks"][1], &answer["tasks"][2]].map(told)
    };
    assert_eq!((answer.0, plan(&answer.1)), (202, ["RUNNING", "RUNNING", "RESTARTING", "RUNNING"].map(str::to_owned)));
    states(&["RUNNING", "RUNNING", "RUNNING", "RUNNING"]);
    let all = writing(&cluster, "x", 3);
    assert!(others.is_subset(&all), "tasks 0 and 2 went on: {others:?}, {all:?}");

    assert_eq!(rest.status("POST", "/connectors/x/tasks/1/restart").unwrap(), 204);
    let one_new = || {
        let now = writing(&cluster, "x", 3);
        (now.intersection(&all).count() == 2 && now.len() == 3).then_some(now)
    };
    let all = eventually("one task has a new instance", QUICK, one_new).unwrap();

    let answer = rest.ask("POST", "/connectors/x/restart?includeTasks=true", None).unwrap();
    assert_eq!((answer.0, plan(&answer.1)), (202, ["RESTARTING"; 4].map(str::to_owned)));
    let all_new = || writing(&cluster, "x", 3).is_disjoint(&all).then_some(());
    eventually("all tasks have new instances", QUICK, all_new).unwrap();
    states(&["RUNNING"; 4]);

    for (path, expected) in [
        ("/connectors/nobody/restart", 404),
        ("/connectors/nobody/restart?includeTasks=true", 404),
        ("/connectors/x/tasks/9/restart", 404),
        ("/connectors/x/restart?includeTasks=maybe", 204),
    ] {
        let (status, answer) = rest.ask("POST", path, None).unwrap();
        assert_eq!(status, expected, "{path}");
        assert_eq!(answer["error_code"].as_u64().unwrap_or(204), u64::from(expected), "{path}");
    }
}

#[test]
fn fc_08_a_change_is_noticed_and_none_is_not() {
    let Some(cluster) = cluster("fc-08", 2) else { return };
    let rest = cluster.rest(0);
    rest.create("other", &witness::config(&cluster.topic("other"), "ok", "2")).unwrap();
    let topic = cluster.topic("x");
    let mut config: BTreeMap<&str, &str> = witness::config(&topic, "ok", "2").into_iter().collect();
    config.insert("value.converter", "org.apache.kafka.connect.json.JsonConverter");
    let put = |config: &BTreeMap<&str, &str>| {
        rest.must("PUT", "/connectors/x/config", Some(&json!(config))).unwrap();
    };
    put(&config);
    let both = [("other", 2), ("x", 2)];
    cluster.settled(&both).unwrap();
    let others = writing(&cluster, "other", 2);
    // Values of `x` are JSON, first with an envelope.
    let recent = || {
        let since = now();
        let two = || {
            let records = cluster.topics.read(&topic).ok()?;
            let values: Vec<_> =
                records.into_iter().filter(|record| record.timestamp > since).map(|record| record.json()).collect();
            (values.len() >= 8).then_some(values)
        };
        eventually("records arrive", SOON, two).unwrap()
    };
    let ids = |values: &[Value]| -> BTreeSet<String> {
        let text = |value: &Value| value["payload"].as_str().or(value.as_str()).unwrap_or_default().to_owned();
        values.iter().map(text).map(|text| text.split(' ').next().unwrap_or_default().to_owned()).collect()
    };
    let mut running = ids(&recent());
    for (key, value, envelope) in
        [("value.converter.schemas.enable", "false", false), ("producer.override.linger.ms", "7", false)]
    {
        assert!(running.len() == 2, "{running:?}");
        config.insert(key, value);
        put(&config);
        let changed = || {
            let values = recent();
            let form = values.iter().all(|value| value.is_object() == envelope);
            (form && ids(&values).is_disjoint(&running) && ids(&values).len() == 2).then(|| ids(&values))
        };
        running = eventually(&format!("{key} takes effect"), QUICK, changed).unwrap();
    }
    let before = now();
    put(&config);
    let news = || statuses::since(&cluster, before).iter().any(|status| status.instance.connector == "x").then_some(());
    // The connector itself may restart; give it the time.
    let _ = eventually("the connector restarts", QUICK, news);
    cluster.settled(&both).unwrap();
    assert_eq!(ids(&recent()), running, "the same configuration again restarts no task");
    assert_eq!(writing(&cluster, "other", 2), others, "the other connector went on throughout");
}

#[test]
fn fc_09_fewer_tasks_leave_nothing_behind() {
    let Some(cluster) = cluster("fc-09", 2) else { return };
    let rest = cluster.rest(1);
    let topic = cluster.topic("x");
    let config = |tasks| json!(witness::config(&topic, "ok", tasks).into_iter().collect::<BTreeMap<_, _>>());
    let put = |tasks| drop(rest.must("PUT", "/connectors/x/config", Some(&config(tasks))).unwrap());
    put("4");
    cluster.settled(&[("x", 4)]).unwrap();
    put("1");
    cluster.settled(&[("x", 1)]).unwrap();
    for task in 1..4 {
        for worker in cluster.awake() {
            let path = format!("/connectors/x/tasks/{task}/status");
            assert_eq!(cluster.rest(worker).status("GET", &path).unwrap(), 404, "{path}");
        }
    }
    let statuses = statuses::since(&cluster, 0);
    let by_instance = statuses::by_instance(&statuses);
    for task in 1..4 {
        let last = by_instance[&Instance { connector: "x".to_owned(), task: Some(task) }].last().unwrap();
        assert_eq!(last.state, None, "task {task} was deleted");
    }
    assert_eq!(writing(&cluster, "x", 1).len(), 1);
    let (code, answer) = rest.ask("PUT", "/connectors/x/config", Some(&config("0"))).unwrap();
    assert_eq!(code, 400, "{answer}");
    put("2");
    cluster.settled(&[("x", 2)]).unwrap();
    assert_eq!(writing(&cluster, "x", 2).len(), 2);

    rest.create("idle", &witness::config(&topic, "no-tasks", "2")).unwrap();
    cluster.settled(&[("x", 2), ("idle", 0)]).unwrap();
    for worker in cluster.awake() {
        let condition = || {
            let (_, shown) = cluster.rest(worker).ask("GET", "/connectors/idle/sandbox", None).ok()?;
            shown["condition"].as_str().map(str::to_owned)
        };
        let condition = eventually("it is said that there are no tasks", SOON, condition).unwrap();
        assert!(condition.contains("no tasks"), "{condition}");
    }
}

/// Never more than two instances of a connector with two tasks at the same time. One that was frozen may make records
/// until it has heard that its place is lost.
fn check_at_most_two(name: &str, lives: &[Life]) {
    for (number, life) in lives.iter().enumerate() {
        let beside = lives[..number].iter().filter(|earlier| earlier.overlap(life) > Duration::from_secs(1));
        assert!(beside.count() <= 1, "{name}: more than two at once: {lives:?}");
    }
}

/// Of a generator with two tasks: each stream goes on where it was or before, never further on, and repeats at most
/// so many numbers.
fn check_streams(cluster: &Cluster, name: &str, most_repeated: usize) {
    let (mut due, mut repeated) = ([0, 1], [0, 0]);
    for record in cluster.topics.read(&cluster.topic(name)).unwrap() {
        let number: usize = record.value_text().trim_end().parse().unwrap();
        let stream = number % 2;
        assert!(number <= due[stream], "{name}: {} is due, but {number} comes", due[stream]);
        repeated[stream] += usize::from(number < due[stream]);
        due[stream] = due[stream].max(number + 2);
    }
    assert!(repeated.iter().all(|count| *count <= most_repeated), "{name}: {repeated:?} repeated");
}

/// How many records were made since then.
fn count_since(cluster: &Cluster, name: &str, then: i64) -> usize {
    let lives = lives(cluster, name);
    lives.iter().flat_map(|life| &life.times).filter(|time| **time > then).count()
}

#[test]
fn fc_12_killing_freezing_and_restarting_costs_no_record_and_leaves_no_second_owner() {
    if real_kafka("FC-12").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut broker = apache::Kafka::fetch().unwrap().start_broker(folder.path()).unwrap();
    let mut cluster = Cluster::new(&Kafka::At(broker.address()), "fc-12").unwrap().with_workers(3).unwrap();
    let [witnesses, generators] = [["w0", "w1", "w2"], ["g0", "g1", "g2"]];
    for name in witnesses {
        cluster.rest(0).create(name, &witness::config(&cluster.topic(name), "ok", "2")).unwrap();
    }
    for name in generators {
        let topic = cluster.topic(name);
        let config = [
            ("connector.class", "io.bulkhead.GeneratorSourceConnector"),
            ("topic", &topic),
            ("tasks.max", "2"),
            ("streams", "2"),
            ("rate", "40"),
            ("value.size", "0"),
        ];
        cluster.rest(0).create(name, &config).unwrap();
    }
    let connectors = [witnesses, generators].concat().into_iter().map(|name| (name, 2)).collect::<Vec<_>>();
    let before = cluster.settled(&connectors).unwrap();

    let killed = Instant::now();
    let victim = cluster.follower().unwrap();
    let (id, dead) = (cluster.id(victim), now());
    cluster.kill(victim).unwrap();
    let told_unassigned = || {
        let unassigned: BTreeSet<_> = statuses::since(&cluster, dead)
            .into_iter()
            .filter(|status| status.state.as_deref() == Some("UNASSIGNED"))
            .map(|status| status.instance)
            .collect();
        let mut lost = before.iter().filter(|(_, owner)| owner.worker == id);
        lost.all(|(instance, _)| unassigned.contains(instance)).then_some(())
    };
    eventually("what it ran is UNASSIGNED", SESSION + Duration::from_secs(1), told_unassigned).unwrap();
    let limit = (SESSION + DELAY + QUICK).saturating_sub(killed.elapsed());
    cluster.settled_within(limit, &connectors).unwrap();
    cluster.start(victim).unwrap();
    cluster.settled(&connectors).unwrap();

    let frozen = cluster.follower().unwrap();
    cluster.freeze(frozen).unwrap();
    cluster.settled(&connectors).unwrap();
    let other = cluster.awake()[0];
    let generation = cluster.generation(other).unwrap();
    cluster.thaw(frozen).unwrap();
    cluster.wait_for_members(3, SOON).unwrap();
    cluster.settled(&connectors).unwrap();

    let rebalances = cluster.generation(other).unwrap() - generation;
    assert!(rebalances <= 3, "{rebalances} rebalances since it is back");

    broker.kill().unwrap();
    broker.start().unwrap();
    cluster.settled(&connectors).unwrap();

    let (quiet_since, generation) = (now(), cluster.generation(other).unwrap());
    for name in witnesses {
        // More than a session, 20 records a second.
        let enough = || (count_since(&cluster, name, quiet_since) > 2 * 20 * 4).then_some(());
        eventually("records are made", SOON, enough).unwrap();
        assert_eq!(writing(&cluster, name, 2).len(), 2);
    }
    assert_eq!(statuses::since(&cluster, quiet_since), [], "silence afterwards");
    assert_eq!(cluster.generation(other).unwrap(), generation);
    for name in witnesses {
        check_at_most_two(name, &lives(&cluster, name));
    }
    for name in generators {
        // Half a second for each move; and the frozen worker, when it is back, writes down how far it had come, so that
        // what was done in its stead is done again. 20 a second.
        check_streams(&cluster, name, 20 * 15);
    }
}
