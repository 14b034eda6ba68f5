//! Membership and how work is shared out.

use std::collections::BTreeSet;
use std::time::Duration;

use bulkhead_e2e::{Cluster, DELAY, HEARTBEAT, Instance, Kafka, Kind, Owners, SESSION, apache, eventually, real_kafka};

use crate::statuses;
use crate::witness::{self, borrowed, check_single, check_succession, check_successions, lives, now};
use crate::{SOON, cluster, cluster_with};

/// How long stopping the old and starting the new instance of a handful of tasks may take on a busy machine.
const MOVE: Duration = Duration::from_secs(3);

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap()
}

fn owned_by(owners: &Owners, id: &str) -> BTreeSet<Instance> {
    owners.iter().filter(|(_, owner)| owner.worker == id).map(|(instance, _)| instance.clone()).collect()
}

#[test]
fn g05_an_eager_member_makes_all_of_them_eager_until_it_leaves() {
    let Some(mut cluster) = cluster("g05", 2) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 6);
    cluster.settled(&borrowed(&connectors)).unwrap();
    let speaks = |cluster: &Cluster, protocol: &str| {
        let chosen = || (cluster.topics.group(&cluster.group).ok()?.protocol == protocol).then_some(());
        eventually(&format!("the group speaks {protocol}"), SOON, chosen).unwrap();
    };
    speaks(&cluster, "sessioned");
    let eager = cluster.add_with(Kind::Bulkhead, &[("connect.protocol", "eager")]).unwrap();
    speaks(&cluster, "default");
    cluster.settled(&borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
    cluster.terminate(eager).unwrap();
    speaks(&cluster, "sessioned");
    cluster.settled(&borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
    check_successions(&cluster, &connectors, Duration::ZERO);
}

#[test]
fn g06_a_second_worker_gets_what_the_first_gives_up_and_the_rest_runs_on() {
    let Some(mut cluster) = cluster("g06", 1) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 4);
    let before = cluster.settled(&borrowed(&connectors)).unwrap();
    let joins = now();
    cluster.add(Kind::Bulkhead).unwrap();
    let after = cluster.settled(&borrowed(&connectors)).unwrap();
    let moved: BTreeSet<_> = after.keys().filter(|part| after[*part] != before[*part]).cloned().collect();
    assert_eq!(moved.len(), 4, "half of 4 connectors and 4 tasks");
    let statuses = statuses::since(&cluster, joins);
    let by_instance = statuses::by_instance(&statuses);
    assert_eq!(by_instance.keys().cloned().collect::<BTreeSet<_>>(), moved, "only what moves has news");
    for (instance, news) in by_instance {
        let told: Vec<_> = news.iter().map(|status| (status.state.as_deref().unwrap(), &status.worker)).collect();
        let [from, to] = [cluster.id(0), cluster.id(1)];
        assert_eq!(told, [("UNASSIGNED", &from), ("RUNNING", &to)], "{instance}");
    }
    check_single(&cluster, &connectors);
    for (name, _) in &connectors {
        let lives = lives(&cluster, name);
        let task = Instance { connector: name.clone(), task: Some(0) };
        assert_eq!(lives.len(), 1 + usize::from(moved.contains(&task)), "{name}");
        check_succession(name, &lives, Duration::ZERO);
    }
}

#[test]
fn g07_work_of_a_killed_follower_waits_for_session_and_delay_and_then_moves() {
    let Some(mut cluster) = cluster("g07", 3) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 6);
    let before = cluster.settled(&borrowed(&connectors)).unwrap();
    let victim = cluster.follower().unwrap();
    let lost = owned_by(&before, &cluster.id(victim));
    let killed = now();
    cluster.kill(victim).unwrap();
    let after = cluster.settled_within(SESSION + DELAY + MOVE, &borrowed(&connectors)).unwrap();
    let moved: BTreeSet<_> = after.keys().filter(|part| after[*part] != before[*part]).cloned().collect();
    assert_eq!(moved, lost);
    let statuses = statuses::since(&cluster, killed);
    let earliest = killed + millis(SESSION + DELAY) - 2 * millis(HEARTBEAT);
    for status in &statuses {
        assert!(lost.contains(&status.instance), "nothing else has news: {status:?}");
        if status.state.as_deref() == Some("RUNNING") {
            assert!(status.timestamp >= earliest, "{} ms too early: {status:?}", earliest - status.timestamp);
        }
    }
    check_single(&cluster, &connectors);
}

#[test]
fn g08_a_worker_that_is_back_within_the_delay_gets_its_work_back() {
    let Some(mut cluster) = cluster_with("g08", 3, &[("scheduled.rebalance.max.delay.ms", "8000")]) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 6);
    let before = cluster.settled(&borrowed(&connectors)).unwrap();
    let victim = cluster.follower().unwrap();
    let lost = owned_by(&before, &cluster.id(victim));
    let killed = now();
    cluster.kill(victim).unwrap();
    cluster.wait_for_members(2, SESSION + MOVE).unwrap();
    cluster.start(victim).unwrap();
    let after = cluster.settled(&borrowed(&connectors)).unwrap();
    assert_eq!(after, before, "everybody has what they had");
    for status in statuses::since(&cluster, killed) {
        assert!(lost.contains(&status.instance), "nothing else has news: {status:?}");
    }
    check_single(&cluster, &connectors);
}

#[test]
fn g09_work_of_a_killed_leader_moves_at_once() {
    let Some(mut cluster) = cluster_with("g09", 3, &[("scheduled.rebalance.max.delay.ms", "60000")]) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 6);
    cluster.settled(&borrowed(&connectors)).unwrap();
    let leader = cluster.leader().unwrap();
    cluster.kill(leader).unwrap();
    cluster.settled_within(SESSION + MOVE, &borrowed(&connectors)).unwrap();
    assert_ne!(cluster.leader().unwrap(), leader);
    check_single(&cluster, &connectors);
}

#[test]
fn g10_a_worker_that_was_frozen_for_long_leaves_one_owner_to_each_task() {
    let Some(mut cluster) = cluster("g10", 3) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 6);
    cluster.settled(&borrowed(&connectors)).unwrap();
    let frozen = cluster.follower().unwrap();
    cluster.freeze(frozen).unwrap();
    cluster.settled_within(SESSION + DELAY + MOVE, &borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
    cluster.thaw(frozen).unwrap();
    cluster.wait_for_members(3, SOON).unwrap();
    cluster.settled(&borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
    check_successions(&cluster, &connectors, Duration::from_secs(1));
}

#[test]
fn g11_without_a_coordinator_a_worker_stops_its_tasks_and_starts_them_once_afterwards() {
    if real_kafka("g11").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let broker = apache::Kafka::fetch().unwrap().start_broker(folder.path()).unwrap();
    let cluster = Cluster::new(&Kafka::At(broker.address()), "g11").unwrap().with_workers(2).unwrap();
    let connectors = witness::create(&cluster, &cluster.rest(0), 4);
    cluster.settled(&borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
    let frozen = now();
    broker.freeze().unwrap();
    // While the broker stands still, nothing outside of the workers tells how far they are.
    std::thread::sleep(SESSION + HEARTBEAT + MOVE);
    let thawed = now();
    broker.thaw().unwrap();
    cluster.settled(&borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
    for (name, _) in &connectors {
        let lives = lives(&cluster, name);
        // The first worker that finds the coordinator again may have everything until the second comes.
        assert!((2..=3).contains(&lives.len()), "{name}: {lives:?}");
        check_succession(name, &lives, Duration::ZERO);
        assert!(lives[0].to() > frozen - 1000 && lives[0].to() < thawed, "{name} stopped by itself: {lives:?}");
    }
}

#[test]
fn g13_without_a_delay_work_of_a_killed_follower_moves_with_its_session() {
    let Some(mut cluster) = cluster_with("g13", 3, &[("scheduled.rebalance.max.delay.ms", "0")]) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 6);
    cluster.settled(&borrowed(&connectors)).unwrap();
    let victim = cluster.follower().unwrap();
    cluster.kill(victim).unwrap();
    cluster.settled_within(SESSION + MOVE, &borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
    check_successions(&cluster, &connectors, Duration::ZERO);
}

#[test]
fn g18_a_worker_that_comes_late_to_a_rebalance_loses_its_work_and_returns() {
    let properties = [("rebalance.timeout.ms", "2000"), ("session.timeout.ms", "30000")];
    let Some(mut cluster) = cluster_with("g18", 2, &properties) else { return };
    let connectors = witness::create(&cluster, &cluster.rest(0), 6);
    cluster.settled(&borrowed(&connectors)).unwrap();
    let late = cluster.follower().unwrap();
    cluster.freeze(late).unwrap();
    cluster.add(Kind::Bulkhead).unwrap();
    cluster.settled(&borrowed(&connectors)).unwrap();
    cluster.thaw(late).unwrap();
    cluster.wait_for_members(3, SOON).unwrap();
    cluster.settled(&borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
}

#[test]
fn g19_connectors_created_while_a_worker_joins_run_without_another_request() {
    let Some(mut cluster) = cluster("g19", 1) else { return };
    let joining = cluster.enlist(Kind::Bulkhead, &[]).unwrap();
    cluster.spawn(joining).unwrap();
    let rest = cluster.rest(0);
    let mut connectors = Vec::new();
    // From before it joins until after.
    let joined = || {
        let name = format!("w{}", connectors.len());
        rest.create(&name, &witness::config(&cluster.topic(&name), "ok", "1")).unwrap();
        connectors.push((name, 1));
        (cluster.topics.group(&cluster.group).ok()?.members == 2 && connectors.len() >= 4).then_some(())
    };
    eventually("it is a member", SOON, joined).unwrap();
    cluster.wait_until_it_is_up(joining).unwrap();
    cluster.settled(&borrowed(&connectors)).unwrap();
    check_single(&cluster, &connectors);
}
