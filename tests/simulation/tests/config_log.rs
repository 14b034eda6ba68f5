//! Acceptance: the config log as all workers read and write it (numbers of the specification's checklist).

use bulkhead_herder::ExactlyOnce;
use bulkhead_herder::api::{ConfigRecord, Refusal, Request};
use bulkhead_model::{ConnectorName, RawConfig, TargetState};
use bulkhead_simulation::cluster::{Cluster, config, create, delete, put, restart, set_target};
use bulkhead_simulation::{Conditions, Fault, Trouble};

fn name() -> ConnectorName {
    ConnectorName::new("a")
}

fn connector(settings: &[(&str, &str)]) -> ConfigRecord {
    let config = config(settings).into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    ConfigRecord::Connector { name: name(), config: Some(config) }
}

fn texts(cluster: &Cluster, mark: usize, beginnings: &[&str]) -> Vec<String> {
    cluster.since(mark, beginnings).into_iter().map(|note| note.text).collect()
}

#[test]
fn g22_restart_requests_and_logger_levels_from_before_the_start_do_nothing() {
    let mut cluster = Cluster::of(2);
    cluster.create("a", &[("tasks.max", "2")]);
    cluster.ask(0, restart("a", false, true)).unwrap();
    let level = Request::SetLoggerLevel { logger: "connect".to_owned(), level: Some("DEBUG".to_owned()) };
    cluster.ask(0, level).unwrap();
    cluster.run(10_000);
    cluster.world.inflict(Fault::CrashAll { back: 5_000 });
    let mark = cluster.mark();
    cluster.run(60_000);
    assert_eq!(texts(&cluster, mark, &["set logger"]), [""; 0]);
    let said = texts(&cluster, mark, &["status"]);
    assert!(!said.is_empty() && !said.iter().any(|text| text.contains("RESTARTING")), "{said:?}");
    cluster.check_at_rest();
}

#[test]
fn g23_a_commit_with_missing_tasks_is_repaired_by_the_connector() {
    let mut cluster = Cluster::stopped(Conditions::steady(2));
    let task = ConfigRecord::Task { id: name().task(1), config: RawConfig::new() };
    let records =
        [connector(&[("tasks.max", "2"), ("name", "a")]), task, ConfigRecord::Commit { name: name(), tasks: 2 }];
    for record in records {
        cluster.world.append_from_outside(Some(record));
    }
    cluster.run(100);
    let mark = cluster.mark();
    cluster.world.start(0);
    cluster.world.start(1);
    cluster.run(30_000);
    assert_eq!(texts(&cluster, mark, &["log task", "log commit"]), ["log task-a-0", "log task-a-1", "log commit-a 2"]);
    assert_eq!(cluster.shows(0, "a"), "RUNNING [RUNNING, RUNNING]");
    cluster.check_at_rest();
}

#[test]
fn g24_a_leader_that_dies_between_task_records_and_commit_leaves_a_complete_set_in_the_end() {
    let mut cluster = Cluster::of(3);
    cluster.send(cluster.leader(), create("a", &[("tasks.max", "3")]));
    cluster.run_until("log task-a-2");
    let mark = cluster.mark();
    cluster.crash(cluster.leader());
    cluster.run(1_000);
    assert_eq!(texts(&cluster, mark, &["log commit"]), [""; 0], "it died in time");
    cluster.run(90_000);
    for name in ["a", "a-0", "a-1", "a-2"] {
        cluster.owner(name);
    }
    assert_eq!(texts(&cluster, mark, &["log commit"]), ["log commit-a 3"]);
    cluster.check_at_rest();
}

#[test]
fn g25_a_recreated_connector_never_starts_with_the_tasks_of_the_deleted_one() {
    let mut cluster = Cluster::of(2);
    cluster.create("a", &[("tasks.max", "2")]);
    cluster.ask(0, delete("a")).unwrap();
    cluster.run(10_000);
    let mark = cluster.mark();
    cluster.ask(0, create("a", &[("test.configs", "no tables")])).unwrap();
    cluster.run(10_000);
    cluster.owner("a");
    // Nor does a worker that reads what compaction has left of the log.
    cluster.world.inflict(Fault::StrangeRecord);
    cluster.run(1_000);
    cluster.world.inflict(Fault::Compact { percent: 100, removals: true });
    cluster.world.inflict(Fault::CrashAll { back: 5_000 });
    cluster.run(60_000);
    cluster.owner("a");
    assert_eq!(texts(&cluster, mark, &["start a-"]), [""; 0]);
    cluster.check_at_rest();
}

#[test]
fn g27_an_initial_state_comes_before_the_connector_which_never_starts_in_between() {
    for (initial, reached) in [(TargetState::Stopped, "STOPPED []"), (TargetState::Paused, "PAUSED []")] {
        let mut cluster = Cluster::of(2);
        let mark = cluster.mark();
        let request =
            Request::CreateConnector { name: name(), config: config(&[]), initial_state: Some(initial), offsets: None };
        cluster.ask(0, request).unwrap();
        cluster.run(10_000);
        let log = texts(&cluster, mark, &["log"]);
        assert_eq!(log, [format!("log target-state-a {initial:?}"), "log connector-a".to_owned()]);
        assert_eq!(texts(&cluster, mark, &["start", "task configs"]), [format!("start a {initial:?}")]);
        assert_eq!(cluster.shows(1, "a"), reached);
        cluster.check_at_rest();
    }
}

#[test]
fn g28_the_same_configuration_again_restarts_the_connector_and_writes_no_tasks() {
    let mut cluster = Cluster::of(2);
    cluster.create("a", &[("tasks.max", "2")]);
    let mark = cluster.mark();
    cluster.ask(1, put("a", &[("tasks.max", "2")])).unwrap();
    cluster.run(10_000);
    assert_eq!(texts(&cluster, mark, &["log"]), ["log connector-a"]);
    assert_eq!(texts(&cluster, mark, &["start", "stop"]), ["stop a", "start a Started"]);
    // Unless a task's configuration differs.
    cluster.world.inflict(Fault::Demand { connector: name(), tasks: 1 });
    cluster.run(10_000);
    let mark = cluster.mark();
    cluster.world.inflict(Fault::Demand { connector: name(), tasks: 2 });
    cluster.ask(1, put("a", &[("tasks.max", "2")])).unwrap();
    cluster.run(10_000);
    let log = texts(&cluster, mark, &["log task", "log commit"]);
    assert_eq!(log, ["log task-a-0", "log task-a-1", "log commit-a 2"]);
    cluster.check_at_rest();
}

#[test]
fn g29_a_changed_configuration_restarts_the_tasks_though_theirs_are_equal() {
    let mut cluster = Cluster::of(2);
    cluster.create("a", &[("tasks.max", "2")]);
    let mark = cluster.mark();
    cluster.ask(0, put("a", &[("tasks.max", "2"), ("other", "x")])).unwrap();
    cluster.run(10_000);
    let mut restarted = texts(&cluster, mark, &["start"]);
    restarted.sort();
    assert_eq!(restarted, ["start a Started", "start a-0 Started", "start a-1 Started"]);
    cluster.check_at_rest();
}

#[test]
fn g32_pausing_by_a_follower_needs_nobody_else() {
    let mut cluster = Cluster::of(2);
    cluster.create("a", &[("tasks.max", "2")]);
    let follower = cluster.follower();
    let mark = cluster.mark();
    cluster.ask(follower, set_target("a", TargetState::Paused)).unwrap();
    cluster.run(5_000);
    let asked = cluster.since(mark, &["asked"]);
    assert_eq!(asked.iter().map(|note| note.worker).collect::<Vec<_>>(), [Some(follower)]);
    assert_eq!(cluster.shows(follower, "a"), "PAUSED [PAUSED, PAUSED]");
    cluster.check_at_rest();
}

fn preparing(workers: usize) -> Cluster {
    Cluster::started(Conditions { exactly_once: ExactlyOnce::Preparing, ..Conditions::steady(workers) })
}

#[test]
fn g31_nothing_is_seen_of_what_a_leader_writes_that_was_replaced() {
    let mut cluster = preparing(2);
    cluster.create("a", &[("tasks.max", "2")]);
    let (old, new) = (cluster.leader(), cluster.follower());
    cluster.trouble(Trouble::Frozen { worker: old }, 30_000);
    cluster.run(29_000);
    // The other one leads, and the frozen one doesn't know; this is the first thing that it hears of.
    assert!(cluster.world.view(new).is_some_and(|view| view.group.leads));
    let number = cluster.send(old, put("a", &[("tasks.max", "1")]));
    let mark = cluster.mark();
    cluster.run_until("fenced");
    cluster.run(20_000);
    let answer = cluster.answer(number);
    assert!(matches!(answer, Some(Err(Refusal::Conflict(_)))), "{answer:?}");
    assert_eq!(texts(&cluster, mark, &["log connector", "log task", "log commit"]), [""; 0]);
    // Both go on, whichever of them leads now.
    cluster.ask(old, put("a", &[("tasks.max", "1")])).unwrap();
    cluster.run(10_000);
    assert_eq!(texts(&cluster, mark, &["log commit"]), ["log commit-a 1"]);
    cluster.check_at_rest();
}

#[test]
fn g31_a_claim_is_made_once_for_each_leader() {
    let mut cluster = preparing(3);
    cluster.create("a", &[("tasks.max", "2")]);
    cluster.ask(1, delete("a")).unwrap();
    cluster.run(10_000);
    let first = cluster.leader();
    let claims =
        |cluster: &Cluster| cluster.since(0, &["claim"]).iter().filter_map(|note| note.worker).collect::<Vec<_>>();
    assert_eq!(claims(&cluster), [first]);
    cluster.crash(first);
    cluster.run(60_000);
    assert_eq!(claims(&cluster), [first, cluster.leader()]);
    cluster.check_at_rest();
}
