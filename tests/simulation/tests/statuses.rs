//! Acceptance: what workers say of their instances (numbers of the specification's checklist).

use bulkhead_herder::api::{Status, StatusRecord};
use bulkhead_model::{ConnectorName, State, TargetState};
use bulkhead_simulation::cluster::{Cluster, config, create, delete, put, set_target};
use bulkhead_simulation::{Conditions, Fault, Pace, worker_id};

fn status(state: State, worker: usize, generation: u64) -> StatusRecord {
    let status = Status { state, worker: worker_id(worker), generation, version: None };
    StatusRecord::Task { id: ConnectorName::new("a").task(0), status: Some(status) }
}

#[test]
fn g33_a_farewell_of_an_older_generation_never_replaces_running_of_a_newer_one() {
    let mut cluster = Cluster::of(2);
    cluster.create("a", &[]);
    let owner = cluster.owner("a-0");
    let other = 1 - owner;
    let generation = u64::try_from(cluster.world.view(0).unwrap().group.generation.unwrap()).unwrap();
    // The older one comes late.
    cluster.world.append_status_from_outside(status(State::Unassigned, other, generation - 1));
    cluster.run(1_000);
    assert_eq!(cluster.shows(0, "a"), "RUNNING [RUNNING]");
    // It comes in time, and the newer one after it.
    cluster.world.append_status_from_outside(status(State::Unassigned, other, generation - 1));
    cluster.world.append_status_from_outside(status(State::Running, owner, generation));
    cluster.run(1_000);
    for worker in [0, 1] {
        assert_eq!(cluster.shows(worker, "a"), "RUNNING [RUNNING]");
    }
    cluster.check_at_rest();
}

#[test]
fn g34_a_late_failure_of_a_former_run_never_replaces_the_status_of_its_successor() {
    let mut cluster = Cluster::of(1);
    cluster.create("a", &[]);
    let first = cluster.world.run_of(&bulkhead_simulation::cluster::instance("a-0")).unwrap();
    cluster.ask(0, put("a", &[("note", "x")])).unwrap();
    cluster.run(3_000);
    assert_ne!(cluster.world.run_of(&bulkhead_simulation::cluster::instance("a-0")), Some(first));
    cluster.world.report_failure(0, &bulkhead_simulation::cluster::instance("a-0"), first);
    cluster.run(1_000);
    assert_eq!(cluster.shows(0, "a"), "RUNNING [RUNNING]");
    cluster.check_at_rest();
}

#[test]
fn g35_a_deleted_connector_leaves_no_status_even_if_its_tasks_stop_late() {
    let pace = Pace { stop: (4_900, 5_000), ..Pace::STEADY };
    let mut cluster = Cluster::stopped(Conditions { pace, ..Conditions::steady(3) });
    for worker in 0..3 {
        cluster.world.start(worker);
    }
    cluster.run(30_000);
    cluster.create("a", &[("tasks.max", "4")]);
    cluster.run(30_000);
    cluster.ask(0, delete("a")).unwrap();
    cluster.run(30_000);
    for worker in 0..3 {
        assert_eq!(cluster.shows(worker, "a"), "none");
    }
    cluster.check_at_rest();
}

#[test]
fn g36_statuses_that_could_not_be_written_are_written_later_without_overtaking_newer_ones() {
    let mut cluster = Cluster::of(1);
    cluster.create("a", &[("tasks.max", "2")]);
    let mark = cluster.mark();
    cluster.world.inflict(Fault::Statuses { worker: 0, count: 3 });
    cluster.send(0, set_target("a", TargetState::Paused));
    cluster.run(100);
    cluster.send(0, set_target("a", TargetState::Started));
    cluster.run(10_000);
    assert_eq!(cluster.shows(0, "a"), "RUNNING [RUNNING, RUNNING]");
    let last = |name: &str| {
        let said = cluster.since(mark, &[&format!("status {name} ")]);
        said.last().map(|note| note.text.clone())
    };
    for name in ["a", "a-0", "a-1"] {
        assert_eq!(last(name), Some(format!("status {name} RUNNING on w0:8083")), "{}", cluster.told(mark));
    }
    cluster.check_at_rest();
}

#[test]
fn g37_a_topic_is_noted_once_and_forgotten_with_its_connector() {
    let mut cluster = Cluster::of(1);
    cluster.create("a", &[]);
    let mark = cluster.mark();
    // The connector itself is the first, its task the second.
    for _ in 0..3 {
        cluster.world.inflict(Fault::UseTopic { worker: 0, which: 1, topic: "orders" });
        cluster.run(1_000);
    }
    // A removal may be repeated.
    let noted = |cluster: &Cluster| {
        let mut notes: Vec<_> = cluster.since(mark, &["topic"]).into_iter().map(|note| note.text).collect();
        notes.dedup_by(|again, first| again == first && again.ends_with("false"));
        notes
    };
    assert_eq!(noted(&cluster), ["topic orders of a used: true"]);
    cluster.ask(0, delete("a")).unwrap();
    cluster.run(10_000);
    assert_eq!(noted(&cluster), ["topic orders of a used: true", "topic orders of a used: false"]);
    cluster.check_at_rest();
}

#[test]
fn g54_a_failure_before_running_is_seen_though_the_generations_began_anew() {
    let mut cluster = Cluster::of(2);
    cluster.create("a", &[("tasks.max", "2")]);
    cluster.ask(0, create("b", &[])).unwrap();
    cluster.run(10_000);
    let on_second = ["a-0", "a-1"].into_iter().find(|name| cluster.owner(name) == 1).unwrap();
    let before = cluster.world.view(0).unwrap().group.generation.unwrap();
    assert!(before > 3);
    cluster.world.inflict(Fault::Crash { worker: 0, back: None });
    cluster.world.inflict(Fault::Crash { worker: 1, back: None });
    cluster.run(90_000);
    cluster.world.inflict(Fault::ForgetGroup);
    // The tasks can't start any more, and only the other worker is there to say so.
    let name = ConnectorName::new("a");
    let connector = config(&[("tasks.max", "2"), ("name", "a"), ("test.task.start", "no folder")]);
    let connector = connector.into_iter().filter_map(|(key, value)| Some((key, value?))).collect();
    cluster
        .world
        .append_from_outside(Some(bulkhead_herder::api::ConfigRecord::Connector { name, config: Some(connector) }));
    cluster.run(1_000);
    cluster.world.start(0);
    cluster.run(20_000);
    assert!(cluster.world.view(0).unwrap().group.generation.unwrap() < before);
    let view = cluster.world.view(0).unwrap();
    let number = on_second.rsplit_once('-').unwrap().1.parse().unwrap();
    let shown = view.task_status(&ConnectorName::new("a").task(number)).unwrap();
    assert_eq!((shown.state, &shown.worker), ("FAILED", &worker_id(0)));
    cluster.check_at_rest();
}
