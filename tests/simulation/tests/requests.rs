//! Acceptance: requests, at whatever worker and moment (numbers of the specification's checklist).

#![allow(clippy::unwrap_used)]

use bulkhead_herder::api::{Refusal, Reply, Request};
use bulkhead_model::offset::OffsetEntry;
use bulkhead_model::{ConnectorName, TargetState};
use bulkhead_simulation::cluster::{Cluster, create, restart, set_target};
use bulkhead_simulation::{Conditions, Fault, Outcome, Pace, SESSION_TIMEOUT, Trouble};

fn name() -> ConnectorName {
    ConnectorName::new("a")
}

fn texts(cluster: &Cluster, mark: usize, beginnings: &[&str]) -> Vec<String> {
    cluster.since(mark, beginnings).into_iter().map(|note| note.text).collect()
}

/// A connector with two tasks, of which the first has failed.
fn with_failure() -> Cluster {
    let mut cluster = Cluster::of(2);
    cluster.create("a", &[("tasks.max", "2")]);
    let owner = cluster.owner("a-0");
    let which = cluster.runs_on(owner).iter().position(|name| name == "a-0").unwrap();
    cluster.world.inflict(Fault::BreakDown { worker: owner, which });
    cluster.run(1_000);
    assert_eq!(cluster.shows(0, "a"), "RUNNING [FAILED, RUNNING]");
    cluster
}

/// Which instances a request restarts, and what its answer says.
fn restarted(only_failed: bool, include_tasks: bool) -> (Vec<String>, String) {
    let mut cluster = with_failure();
    let mark = cluster.mark();
    let worker = cluster.follower();
    let Ok(Reply::Restarting(plan)) = cluster.ask(worker, restart("a", only_failed, include_tasks)) else {
        panic!("no plan");
    };
    cluster.run(3_000);
    let mut said: Vec<_> = texts(&cluster, mark, &["status"]);
    said.retain(|text| text.contains("RESTARTING"));
    let mut said: Vec<_> = said.iter().map(|text| text.split(' ').nth(1).unwrap().to_owned()).collect();
    said.sort();
    let tasks: Vec<_> = plan.tasks.iter().map(|(_, task)| task.state).collect();
    let plan = format!("{} [{}]", plan.connector.state, tasks.join(", "));
    cluster.check_at_rest();
    (said, plan)
}

#[test]
fn g40_a_restart_concerns_what_its_plan_says_and_nothing_else() {
    let case = |only_failed, include_tasks| restarted(only_failed, include_tasks);
    let expect = |names: &[&str], plan: &str| (names.iter().map(|name| (*name).to_owned()).collect(), plan.to_owned());
    assert_eq!(case(true, true), expect(&["a-0"], "RUNNING [RESTARTING, RUNNING]"));
    assert_eq!(case(true, false), expect(&[], "RUNNING [FAILED, RUNNING]"));
    assert_eq!(case(false, true), expect(&["a", "a-0", "a-1"], "RESTARTING [RESTARTING, RESTARTING]"));
    assert_eq!(case(false, false), expect(&["a"], "RESTARTING [FAILED, RUNNING]"));
}

#[test]
fn g41_of_two_restart_requests_at_once_the_wider_one_is_carried_out_once() {
    let mut cluster = with_failure();
    let mark = cluster.mark();
    // While the group forms anew, both have to wait.
    let follower = cluster.follower();
    cluster.send(cluster.leader(), restart("a", true, true));
    cluster.send(cluster.leader(), restart("a", false, true));
    cluster.run(10_000);
    let restarts = |name: &str| {
        let said = texts(&cluster, mark, &[&format!("status {name} RESTARTING")]);
        said.len()
    };
    assert_eq!(restarts("a"), 1);
    assert_eq!(restarts("a-1"), 1);
    assert_eq!(cluster.shows(follower, "a"), "RUNNING [RUNNING, RUNNING]");
    cluster.check_at_rest();
}

#[test]
fn g42_a_restart_while_a_rebalance_is_expected_is_refused() {
    let mut cluster = Cluster::of(2);
    cluster.create("a", &[("tasks.max", "2")]);
    let leader = cluster.leader();
    cluster.send(leader, create("b", &[]));
    cluster.run_until("log connector-b");
    cluster.run_until("join");
    let number = cluster.send(leader, restart("a", false, true));
    let of_one = cluster.send(leader, Request::RestartConnector { name: name() });
    cluster.run(10_000);
    for number in [number, of_one] {
        assert!(matches!(cluster.answer(number), Some(Err(Refusal::Conflict(_)))), "{:?}", cluster.answer(number));
    }
    cluster.check_at_rest();
}

#[test]
fn g43_a_request_during_a_change_of_leaders_is_done_or_refused_with_409() {
    for after in (0..16_000).step_by(250) {
        let mut cluster = Cluster::of(3);
        let follower = cluster.follower();
        cluster.crash(cluster.leader());
        cluster.run(after);
        let number = cluster.send(follower, create("a", &[]));
        cluster.run(10_000);
        match cluster.world.rest.outcomes.get(&number) {
            Some(Outcome::Answer(Ok(_))) => {}
            Some(Outcome::Answer(Err(refusal))) => assert_eq!(refusal.status(), 409, "{refusal:?}"),
            // The worker that it was passed on to is down: REST says 409.
            Some(Outcome::HungUp) => assert!(after < SESSION_TIMEOUT + 3_500),
            None => panic!("no answer"),
        }
        cluster.check_at_rest();
    }
}

#[test]
fn g43_no_request_is_passed_on_more_than_twice() {
    let mut cluster = Cluster::of(3);
    let mark = cluster.mark();
    cluster.ask(cluster.follower(), create("a", &[])).unwrap();
    assert_eq!(texts(&cluster, mark, &["asked"]), ["asked, hop 0", "asked, hop 1"]);
    // A plain restart goes to the leader and from there to the owner.
    cluster.run(10_000);
    for worker in 0..3 {
        let mark = cluster.mark();
        cluster.ask(worker, Request::RestartConnector { name: name() }).unwrap();
        assert!(texts(&cluster, mark, &["asked"]).len() <= 3);
    }
    cluster.check_at_rest();
}

fn with_short_keys() -> Cluster {
    let mut cluster = Cluster::stopped(Conditions { key_ttl: 20_000, ..Conditions::steady(2) });
    for worker in 0..2 {
        cluster.world.start(worker);
        cluster.run(10_000);
    }
    cluster
}

/// A connector that runs on a follower.
fn on_follower(cluster: &mut Cluster) -> &'static str {
    cluster.create("a", &[("tasks.max", "3")]);
    cluster.create("b", &[("tasks.max", "3")]);
    cluster.run(10_000);
    let follower = cluster.follower();
    ["a", "b"].into_iter().find(|name| cluster.owner(name) == follower).unwrap()
}

#[test]
fn g45_keys_are_made_anew_when_their_time_is_over_and_a_worker_with_the_old_one_tries_again() {
    let mut cluster = with_short_keys();
    let name = on_follower(&mut cluster);
    let mark = cluster.mark();
    cluster.run(60_000);
    let keys = cluster.since(mark, &["log session-key"]);
    assert!(keys.windows(2).all(|pair| pair[1].at - pair[0].at >= 20_000), "{keys:?}");
    assert!(keys.len() >= 2);
    // The follower reads late, and so signs with the old key after the leader has read the new one.
    let follower = cluster.follower();
    cluster.run_until("log session-key");
    cluster.run(15_000);
    cluster.trouble(Trouble::SlowLog { worker: follower, lag: 2_500 }, 10_000);
    cluster.run_until("log session-key");
    cluster.run(500);
    let mark = cluster.mark();
    cluster.world.inflict(Fault::Demand { connector: ConnectorName::new(name), tasks: 1 });
    cluster.run(60_000);
    assert!(cluster.since(mark, &["forward tasks"]).len() > 1, "{}", cluster.told(mark));
    assert_eq!(texts(&cluster, mark, &["log commit"]), [format!("log commit-{name} 1")]);
    cluster.check_at_rest();
}

#[test]
fn g46_task_configurations_reach_the_leader_though_it_changes_and_answers_get_lost() {
    let mut cluster = Cluster::of(3);
    let name = on_any_follower(&mut cluster);
    let owner = cluster.owner(name);
    cluster.world.inflict(Fault::Answers { worker: owner, count: 2 });
    cluster.crash(cluster.leader());
    cluster.world.inflict(Fault::Demand { connector: ConnectorName::new(name), tasks: 1 });
    let mark = cluster.mark();
    cluster.run(120_000);
    assert!(cluster.since(mark, &["forward tasks"]).len() > 1 || cluster.leader() == owner);
    assert_eq!(texts(&cluster, mark, &["log commit"]).last(), Some(&format!("log commit-{name} 1")));
    cluster.check_at_rest();
}

fn on_any_follower(cluster: &mut Cluster) -> &'static str {
    for name in ["a", "b", "c"] {
        cluster.create(name, &[("tasks.max", "3")]);
    }
    cluster.run(10_000);
    let leader = cluster.leader();
    ["a", "b", "c"].into_iter().find(|name| cluster.owner(name) != leader).unwrap()
}

#[test]
fn g47_a_connector_with_too_many_tasks_fails_and_is_not_asked_again() {
    let mut cluster = Cluster::of(2);
    let mark = cluster.mark();
    cluster.create("a", &[("tasks.max", "2"), ("test.tasks", "5")]);
    cluster.run(600_000);
    assert_eq!(cluster.shows(0, "a"), "FAILED []");
    assert_eq!(texts(&cluster, mark, &["task configs"]).len(), 1);
    cluster.check_at_rest();
}

fn alter(name: &str) -> Request {
    let offsets = Some(vec![OffsetEntry { partition: None, offset: None }]);
    Request::AlterOffsets { name: ConnectorName::new(name), offsets }
}

#[test]
fn g48_offsets_of_a_stopped_connector_can_be_changed_and_of_no_other() {
    let mut cluster = Cluster::of(2);
    cluster.create("a", &[("tasks.max", "2")]);
    assert!(matches!(cluster.ask(0, alter("a")), Err(Refusal::BadRequest(_))));
    cluster.ask(1, set_target("a", TargetState::Paused)).unwrap();
    assert!(matches!(cluster.ask(1, alter("a")), Err(Refusal::BadRequest(_))));
    cluster.ask(1, set_target("a", TargetState::Stopped)).unwrap();
    cluster.run(10_000);
    assert_eq!(cluster.shows(0, "a"), "STOPPED []");
    assert!(matches!(cluster.ask(1, alter("a")), Ok(Reply::OffsetsAltered { reset: false, .. })));
    cluster.check_at_rest();
}

#[test]
fn g48_stopping_a_connector_that_has_failed_ends_stopped() {
    let mut cluster = Cluster::of(2);
    cluster.create("a", &[("test.start", "no disk")]);
    assert_eq!(cluster.shows(0, "a"), "FAILED []");
    cluster.ask(0, set_target("a", TargetState::Stopped)).unwrap();
    cluster.run(5_000);
    assert_eq!(cluster.shows(0, "a"), "STOPPED []");
    cluster.check_at_rest();
}

#[test]
fn g49_pausing_and_resuming_in_quick_succession_ends_in_the_last_state() {
    for (last, shown) in [(TargetState::Paused, "PAUSED"), (TargetState::Started, "RUNNING")] {
        let mut cluster = Cluster::of(2);
        cluster.create("a", &[("tasks.max", "2")]);
        let other = if last == TargetState::Paused { TargetState::Started } else { TargetState::Paused };
        for _ in 0..5 {
            for state in [other, last] {
                cluster.send(0, set_target("a", state));
            }
        }
        cluster.run(10_000);
        assert_eq!(cluster.shows(1, "a"), format!("{shown} [{shown}, {shown}]"));
        cluster.check_at_rest();
    }
}

#[test]
fn g50_tasks_that_take_long_to_stop_stop_side_by_side() {
    let pace = Pace { stop: (5_000, 5_000), ..Pace::STEADY };
    let mut cluster = Cluster::stopped(Conditions { pace, ..Conditions::steady(1) });
    cluster.world.start(0);
    cluster.run(10_000);
    cluster.create("a", &[("tasks.max", "4")]);
    let (mark, asked) = (cluster.mark(), cluster.world.now);
    cluster.ask(0, set_target("a", TargetState::Stopped)).unwrap();
    cluster.run(20_000);
    let stopped = cluster.since(mark, &["stop a-"]);
    assert_eq!(stopped.len(), 4);
    assert!(stopped.iter().all(|note| note.at < asked + 5_500), "{stopped:?}");
    assert_eq!(cluster.shows(0, "a"), "STOPPED []");
    cluster.check_at_rest();
}

#[test]
fn g57_a_signed_request_that_comes_to_a_follower_is_passed_on_with_its_signature() {
    let mut cluster = Cluster::of(3);
    let name = on_any_follower(&mut cluster);
    cluster.world.inflict(Fault::Demand { connector: ConnectorName::new(name), tasks: 1 });
    cluster.run(10_000);
    let signed = cluster.world.rest.forwarded.clone().unwrap();
    let Request::PublishTasks { proof, .. } = &signed else { panic!("{signed:?}") };
    assert!(proof.mac.is_some());
    let mark = cluster.mark();
    assert_eq!(cluster.ask(cluster.follower(), signed), Ok(Reply::Done));
    assert_eq!(texts(&cluster, mark, &["asked"]), ["asked, hop 0", "asked, hop 1"]);
    cluster.check_at_rest();
}
