//! Acceptance: how workers share their work (numbers of the specification's checklist).

#![allow(clippy::unwrap_used)]

use bulkhead_herder::protocol::ConnectProtocol;
use bulkhead_simulation::cluster::{Cluster, create, instance};
use bulkhead_simulation::{Conditions, Fault, SESSION_TIMEOUT, Trouble};

const HEARTBEAT: u64 = bulkhead_simulation::HEARTBEAT;
const DELAY: u64 = 8_000;

/// Connector `a` with four tasks.
fn with_tasks(workers: usize) -> Cluster {
    let mut cluster = Cluster::of(workers);
    cluster.create("a", &[("tasks.max", "4")]);
    cluster.run(5_000);
    cluster
}

fn with_delay(workers: usize, rebalance_delay: u64) -> Cluster {
    let mut cluster = Cluster::stopped(Conditions { rebalance_delay, ..Conditions::steady(workers) });
    for worker in 0..workers {
        cluster.world.start(worker);
        cluster.run(10_000);
    }
    cluster.create("a", &[("tasks.max", "4")]);
    cluster.run(5_000);
    cluster
}

#[test]
fn g05_an_eager_worker_makes_all_stop_before_anything_starts_and_leaves_without_a_trace() {
    let workers = vec![ConnectProtocol::Sessioned, ConnectProtocol::Eager];
    let mut cluster = Cluster::stopped(Conditions { workers, ..Conditions::steady(2) });
    cluster.world.start(0);
    cluster.run(10_000);
    cluster.create("a", &[("tasks.max", "3")]);
    let protocol = |cluster: &Cluster| cluster.world.view(0).unwrap().group.protocol;
    assert_eq!(protocol(&cluster), Some(ConnectProtocol::Sessioned));

    let mark = cluster.mark();
    cluster.world.start(1);
    cluster.run(20_000);
    assert_eq!(protocol(&cluster), Some(ConnectProtocol::Eager));
    let events = cluster.since(mark, &["start", "stop"]);
    let first_start = events.iter().position(|note| note.text.starts_with("start")).unwrap();
    let stopped: Vec<_> = events[..first_start].iter().map(|note| note.text.as_str()).collect();
    assert_eq!(stopped.len(), 4, "all stop first: {events:?}");
    assert!(!cluster.runs_on(0).is_empty() && !cluster.runs_on(1).is_empty());

    cluster.world.inflict(Fault::Shutdown { worker: 1, back: None });
    cluster.run(30_000);
    assert_eq!(protocol(&cluster), Some(ConnectProtocol::Sessioned));
    assert_eq!(cluster.runs_on(0), ["a", "a-0", "a-1", "a-2"]);
    cluster.check_at_rest();
}

#[test]
fn g06_second_worker_joins_without_stopping_others() {
    let mut cluster = Cluster::stopped(Conditions::steady(2));
    cluster.world.start(0);
    cluster.run(10_000);
    cluster.create("a", &[("tasks.max", "4")]);
    cluster.create("b", &[("tasks.max", "2")]);
    let mark = cluster.mark();
    cluster.world.start(1);
    cluster.run(20_000);

    let rounds = cluster.since(mark, &["synced"]);
    let first = rounds.iter().filter(|note| note.text.starts_with(&generation(&rounds[0].text)));
    for note in first {
        assert!(note.text.contains("assigned []"), "the first round only revokes: {rounds:?}");
    }
    let moved = cluster.runs_on(1);
    assert_eq!(moved.len(), 4, "half of eight");
    for name in cluster.runs_on(0) {
        let touched: Vec<_> = [format!("start {name} "), format!("stop {name}"), format!("status {name} ")].into();
        let touched: Vec<_> = touched.iter().map(String::as_str).collect();
        let notes: Vec<_> = cluster.since(mark, &touched);
        let notes: Vec<_> = notes.iter().filter(|note| note.text != format!("stop {name}-0")).collect();
        assert!(notes.is_empty(), "{name} was not to be touched: {notes:?}");
    }
    for name in moved {
        assert_eq!(cluster.since(mark, &[&format!("start {name} ")]).len(), 1);
    }
}

fn generation(synced: &str) -> String {
    synced.split(' ').take(2).collect::<Vec<_>>().join(" ") + " "
}

#[test]
fn g07_nothing_of_a_killed_follower_moves_before_session_and_delay_are_over_then_all_does() {
    let mut cluster = with_tasks(3);
    let follower = cluster.follower();
    let lost = cluster.runs_on(follower);
    assert!(!lost.is_empty());
    let (mark, killed) = (cluster.mark(), cluster.world.now);
    cluster.crash(follower);
    cluster.run(SESSION_TIMEOUT + DELAY + 3 * HEARTBEAT);
    let starts = cluster.since(mark, &["start"]);
    assert_eq!(starts.len(), lost.len(), "{}", cluster.told(mark));
    for start in starts {
        // The last heartbeat may have been that long ago.
        assert!(start.at >= killed + SESSION_TIMEOUT - HEARTBEAT + DELAY, "{start:?}");
    }
    assert_eq!(cluster.since(mark, &["stop"]), []);
    cluster.check_at_rest();
}

#[test]
fn g08_a_worker_that_is_back_within_the_delay_gets_its_work_back_and_others_are_not_touched() {
    let mut cluster = with_delay(3, 20_000);
    let follower = cluster.follower();
    let lost = cluster.runs_on(follower);
    let mark = cluster.mark();
    cluster.crash(follower);
    cluster.run(15_000);
    cluster.world.start(follower);
    cluster.run(30_000);
    assert_eq!(cluster.runs_on(follower), lost);
    for note in cluster.since(mark, &["start", "stop"]) {
        assert_eq!(note.worker, Some(follower), "{note:?}");
    }
    cluster.check_at_rest();
}

#[test]
fn g09_a_new_leader_starts_what_the_killed_one_ran_at_once() {
    let mut cluster = with_tasks(3);
    let leader = cluster.leader();
    let lost = cluster.runs_on(leader);
    let (mark, killed) = (cluster.mark(), cluster.world.now);
    cluster.crash(leader);
    cluster.run(SESSION_TIMEOUT + HEARTBEAT + 500);
    let starts = cluster.since(mark, &["start"]);
    assert_eq!(starts.len(), lost.len(), "{}", cluster.told(mark));
    assert!(starts.iter().all(|start| start.at < killed + SESSION_TIMEOUT + DELAY));
    cluster.check_at_rest();
}

#[test]
fn g10_a_worker_that_was_frozen_past_the_delay_gives_up_what_others_run_now() {
    let mut cluster = with_tasks(3);
    let follower = cluster.follower();
    let held = cluster.runs_on(follower);
    cluster.trouble(Trouble::Frozen { worker: follower }, 60_000);
    cluster.run(59_000);
    for name in &held {
        assert_eq!(cluster.world.owners(&instance(name)).len(), 2, "{name} was given away");
    }
    let mark = cluster.mark();
    cluster.run(20_000);
    let revoking = cluster.since(mark, &["synced"]);
    assert!(revoking.iter().any(|note| !note.text.contains("revoked []")), "{revoking:?}");
    for name in &held {
        cluster.owner(name);
    }
    cluster.check_at_rest();
}

#[test]
fn g11_without_a_coordinator_everything_stops_and_starts_once_when_it_is_back() {
    let mut cluster = with_tasks(2);
    let mark = cluster.mark();
    cluster.trouble(Trouble::BrokerDown, 60_000);
    cluster.run(SESSION_TIMEOUT + HEARTBEAT + 200);
    assert!(cluster.runs_on(0).is_empty() && cluster.runs_on(1).is_empty(), "{}", cluster.told(mark));
    assert_eq!(cluster.shows(0, "a"), "UNASSIGNED [UNASSIGNED, UNASSIGNED, UNASSIGNED, UNASSIGNED]");
    cluster.run(90_000);
    for name in ["a", "a-0", "a-1", "a-2", "a-3"] {
        cluster.owner(name);
        assert_eq!(cluster.since(mark, &[&format!("start {name} ")]).len(), 1, "{}", cluster.told(mark));
    }
    cluster.check_at_rest();
}

#[test]
fn g12_the_second_of_two_revoking_rebalances_in_a_row_waits_a_moment() {
    // The third worker has to come just when the second one's first round is over.
    let waits = (0..60).find(|after| {
        let mut cluster = Cluster::stopped(Conditions::steady(3));
        cluster.world.start(0);
        cluster.run(10_000);
        cluster.create("a", &[("tasks.max", "4")]);
        cluster.create("b", &[("tasks.max", "4")]);
        cluster.world.start(1);
        cluster.run_until("assign");
        cluster.run(*after);
        let mark = cluster.mark();
        cluster.world.start(2);
        cluster.run(20_000);
        let delayed = cluster.since(mark, &["synced"]).iter().any(|note| note.text.ends_with("delay 40"));
        cluster.check_at_rest();
        delayed
    });
    assert!(waits.is_some(), "no moment leads to two revoking rounds in a row");
}

#[test]
fn g13_without_a_delay_lost_work_is_given_away_in_the_same_round() {
    let mut cluster = with_delay(3, 0);
    let follower = cluster.follower();
    let lost = cluster.runs_on(follower);
    let mark = cluster.mark();
    cluster.crash(follower);
    cluster.run(SESSION_TIMEOUT + HEARTBEAT + 500);
    let rounds = cluster.since(mark, &["synced"]);
    let generation = generation(&rounds[0].text);
    let first: Vec<_> = rounds.iter().filter(|note| note.text.starts_with(&generation)).collect();
    for name in lost {
        let given = first.iter().filter(|note| words(&note.text, "assigned").contains(&name)).count();
        assert_eq!(given, 1, "{name} was lost: {rounds:?}");
    }
    cluster.check_at_rest();
}

/// What stands in the brackets behind a word.
fn words(text: &str, before: &str) -> Vec<String> {
    let (_, rest) = text.split_once(&format!("{before} [")).unwrap();
    let (list, _) = rest.split_once(']').unwrap();
    list.split(' ').map(str::to_owned).collect()
}

#[test]
fn g14_what_was_assigned_in_a_round_that_failed_is_assigned_in_the_next() {
    let mut cluster = with_tasks(3);
    cluster.send(cluster.leader(), create("b", &[("tasks.max", "3")]));
    cluster.run_until("assign");
    // The assignments are on their way to the coordinator.
    cluster.crash(cluster.leader());
    cluster.run(60_000);
    for name in ["a", "a-0", "a-1", "a-2", "a-3", "b", "b-0", "b-1", "b-2"] {
        cluster.owner(name);
    }
    cluster.check_at_rest();
}

#[test]
fn g15_a_worker_that_can_not_catch_up_leaves_and_starts_nothing_until_it_has() {
    let mut cluster = with_tasks(2);
    let follower = cluster.follower();
    let mark = cluster.mark();
    cluster.trouble(Trouble::SlowLog { worker: follower, lag: 15_000 }, 14_000);
    cluster.ask(cluster.leader(), create("b", &[("tasks.max", "4")])).unwrap();
    cluster.run(11_000);
    let of_follower = |cluster: &Cluster, what: &str| {
        let notes = cluster.since(mark, &[what]);
        notes.into_iter().filter(|note| note.worker == Some(follower)).collect::<Vec<_>>()
    };
    let left = of_follower(&cluster, "leave");
    assert!(!left.is_empty(), "{}", cluster.told(mark));
    assert_eq!(of_follower(&cluster, "start"), []);
    cluster.run(40_000);
    assert!(!of_follower(&cluster, "start").is_empty(), "{}", cluster.told(mark));
    cluster.check_at_rest();
}

#[test]
fn g16_a_worker_that_has_read_more_than_the_assignment_rests_on_starts_nothing_and_joins_again() {
    let mut seen = 0;
    for after in 0..15 {
        let mut cluster = with_tasks(2);
        cluster.send(cluster.leader(), create("b", &[]));
        cluster.run_until("assign");
        let mark = cluster.mark();
        cluster.send(cluster.leader(), create("c", &[]));
        cluster.run(after);
        cluster.run(3_000);
        // Synced, and joined again in the same moment, without a start between.
        let notes = cluster.since(mark, &["synced", "join", "start"]);
        seen += notes
            .windows(2)
            .filter(|pair| {
                let [synced, join] = pair else { return false };
                synced.text.starts_with("synced")
                    && join.text == "join"
                    && synced.worker == join.worker
                    && synced.at == join.at
                    && !synced.text.contains("assigned []")
            })
            .count();
        cluster.check_at_rest();
    }
    assert!(seen > 0, "the log never grew between assignment and sync");
}

#[test]
fn g17_a_leader_that_can_not_read_as_far_as_a_member_refuses_the_round_and_the_group_recovers() {
    let mut cluster = with_tasks(2);
    let (leader, follower) = (cluster.leader(), cluster.follower());
    let running = (cluster.runs_on(0), cluster.runs_on(1));
    let mark = cluster.mark();
    cluster.trouble(Trouble::SlowLog { worker: leader, lag: 12_000 }, 13_000);
    // Somebody else is faster than the leader can read.
    cluster.world.append_from_outside(Some(connector_record("b")));
    cluster.run(9_000);
    let rounds = cluster.since(mark, &["synced"]);
    assert!(rounds.iter().any(|note| note.text.contains("ConfigMismatch")), "{}", cluster.told(mark));
    assert_eq!((cluster.runs_on(0), cluster.runs_on(1)), running, "running work is kept");
    cluster.run(20_000);
    cluster.owner("b");
    assert_ne!(leader, follower);
    cluster.check_at_rest();
}

fn connector_record(name: &str) -> bulkhead_herder::api::ConfigRecord {
    let config = bulkhead_simulation::cluster::config(&[("name", name)]);
    bulkhead_herder::api::ConfigRecord::Connector {
        name: bulkhead_model::ConnectorName::new(name),
        config: Some(config.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()),
    }
}

#[test]
fn g18_a_worker_whose_herder_is_blocked_leaves_its_work_to_others_and_comes_back() {
    let mut cluster = with_tasks(3);
    let follower = cluster.follower();
    let held = cluster.runs_on(follower);
    cluster.trouble(Trouble::Blocked { worker: follower }, 75_000);
    cluster.run(74_000);
    for name in &held {
        let owners = cluster.world.owners(&instance(name));
        assert!(owners.iter().any(|owner| *owner != follower), "{name} runs on {owners:?}");
    }
    cluster.run(40_000);
    let view = cluster.world.view(follower).unwrap();
    assert!(view.group.settled);
    cluster.check_at_rest();
}

#[test]
fn g19_a_connector_created_while_a_rebalance_runs_is_not_lost() {
    for after in 0..40 {
        let mut cluster = Cluster::stopped(Conditions::steady(2));
        cluster.world.start(0);
        cluster.run(10_000);
        cluster.create("a", &[("tasks.max", "4")]);
        cluster.world.start(1);
        cluster.run(after);
        cluster.send(0, create("b", &[("tasks.max", "2")]));
        cluster.run(20_000);
        for name in ["b", "b-0", "b-1"] {
            cluster.owner(name);
        }
        cluster.check_at_rest();
    }
}
