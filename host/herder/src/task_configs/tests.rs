use super::*;
use crate::api::{Event, Request};
use crate::testing::{AppendError, SINK, Sim, create, orders, patch, text};

#[test]
fn a_connector_that_grows_and_shrinks_has_exactly_the_tasks_it_wants() {
    let mut sim = Sim::new();
    sim.create(&[("tasks.max", "3")]);
    assert_eq!(sim.put(&[("tasks.max", "1")]), "connector orders [0]");
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING]");
    assert_eq!(sim.put(&[("tasks.max", "2")]), "connector orders [0, 1]");
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING, 1 RUNNING]");
}

#[test]
fn an_update_that_changes_nothing_restarts_no_task() {
    let mut sim = Sim::new();
    sim.create(&[]);
    sim.take_told();
    assert_eq!(sim.put(&[]), "connector orders [0]");
    assert_eq!(sim.take_told(), "stop orders 1, start orders 3 Started");
}

#[test]
fn an_update_restarts_all_tasks_even_if_their_configurations_are_the_same() {
    let mut sim = Sim::new();
    sim.create(&[]);
    sim.take_told();
    sim.put(&[("value.converter.schemas.enable", "false")]);
    assert_eq!(sim.take_told(), "stop orders 1, start orders 3 Started, stop orders-0 2, start orders-0 4 Started");
}

#[test]
fn a_connector_without_tasks_is_fine() {
    let mut sim = Sim::new();
    assert_eq!(sim.create(&[("test.tasks", "0")]), "created orders []");
    assert_eq!(sim.status("orders"), "RUNNING []");
    assert_eq!(sim.put(&[("test.tasks", "0"), ("note", "x")]), "connector orders []");
}

#[test]
fn more_tasks_than_allowed_fail_the_connector() {
    let mut sim = Sim::new();
    let answer = sim.create(&[("test.tasks", "3"), ("tasks.max", "2")]);
    let trace = "Connector orders made 3 task configurations, which is more than its tasks.max of 2 allows";
    assert_eq!(answer, format!("500 {trace}"));
    assert_eq!(sim.status("orders"), "FAILED []");
    assert!(sim.worker.running.is_empty());
    let relaxed = sim.put(&[("test.tasks", "3"), ("tasks.max", "2"), ("tasks.max.enforce", "False")]);
    assert_eq!(relaxed, "connector orders [0, 1, 2]");
}

#[test]
fn a_connector_that_cannot_say_its_tasks_is_asked_again() {
    let mut sim = Sim::new();
    assert_eq!(sim.create(&[("test.configs", "no tables")]), "500 no tables");
    assert_eq!(sim.status("orders"), "RUNNING []");
    let mut waits = Vec::new();
    for _ in 0..10 {
        let due = sim.herder.next_deadline().unwrap();
        waits.push(due.0 - sim.now.0);
        sim.now = due;
        sim.deliver(Event::Tick);
        sim.settle();
    }
    assert_eq!(waits, [250, 500, 1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000]);
    assert_eq!(sim.put(&[]), "connector orders [0]");
    assert_eq!(sim.herder.next_deadline(), None);
}

#[test]
fn tasks_that_could_not_be_published_are_published_later() {
    let mut sim = Sim::new();
    let id = sim.send(create("orders", &[]));
    while sim.log.is_empty() {
        let next = sim.choices()[0];
        sim.happen(next);
    }
    sim.append_errors.push_back(AppendError::Lost);
    sim.settle();
    let error = "500 The task configurations could not be written to the config log: no broker";
    assert_eq!(text(sim.answer(id).unwrap()), error);
    assert_eq!(sim.status("orders"), "RUNNING []");
    sim.now = sim.herder.next_deadline().unwrap();
    sim.deliver(Event::Tick);
    sim.settle();
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING]");
}

#[test]
fn a_task_has_what_its_connector_gave_it_and_its_class_and_topics() {
    let mut sim = Sim::new();
    let config = patch(&[("connector.class", SINK), ("topics", "a,b")]);
    sim.ask(Request::PutConfig { name: orders(), config }).unwrap();
    let tasks = sim.ask(Request::TaskInfos { name: orders() });
    assert_eq!(text(tasks), "orders-0: number=0 task.class=io.example.FileSinkTask topics=a,b");
}

#[test]
fn a_reconfiguration_asked_for_twice_is_done_twice_at_most() {
    let mut sim = Sim::new();
    sim.create(&[]);
    sim.take_told();
    for _ in 0..5 {
        let asked = sim.worker.want_reconfiguration(&orders()).unwrap();
        sim.deliver(Event::Work(asked));
    }
    let questions = sim.pending.commands.len();
    sim.settle();
    assert_eq!(questions, 1);
    assert_eq!(sim.take_told(), "");
}

#[test]
fn a_paused_connector_is_asked_when_it_is_resumed() {
    let mut sim = Sim::new();
    sim.create(&[]);
    sim.set_target(TargetState::Paused);
    let asked = sim.worker.want_reconfiguration(&orders()).unwrap();
    sim.deliver(Event::Work(asked));
    assert!(sim.pending.commands.is_empty());
    sim.send(Request::SetTargetState { name: orders(), state: TargetState::Started });
    sim.settle();
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING]");
}
