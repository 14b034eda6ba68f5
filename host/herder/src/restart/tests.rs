use bulkhead_model::TargetState;

use super::*;
use crate::api::{Millis, Request, StatusRecord};
use crate::testing::{Sim, orders, text};
use bulkhead_model::{State, WorkerId};

fn restart(include_tasks: bool, only_failed: bool) -> Request {
    Request::Restart(RestartRequest { connector: orders(), only_failed, include_tasks })
}

fn task(number: u32) -> Instance {
    Instance::Task(orders().task(number))
}

fn connector() -> Instance {
    Instance::Connector(orders())
}

/// Two tasks, the second failed.
fn with_a_failed_task() -> Sim {
    let mut sim = Sim::new();
    sim.create(&[("tasks.max", "2")]);
    sim.break_down(&task(1));
    sim.take_told();
    sim
}

#[test]
fn the_plan_follows_flags_and_states() {
    let statuses = |connector_failed: bool| {
        let mut statuses = Statuses::default();
        let status = |failed: bool| {
            let state = if failed { State::Failed { trace: "boom".to_owned() } } else { State::Running };
            Some(Status { state, worker: WorkerId("w:1".into()), generation: 0, version: None })
        };
        statuses.apply(&StatusRecord::Connector { name: orders(), status: status(connector_failed) });
        statuses.apply(&StatusRecord::Task { id: orders().task(0), status: status(false) });
        statuses.apply(&StatusRecord::Task { id: orders().task(1), status: status(true) });
        statuses
    };
    let plan = |include_tasks, only_failed, connector_failed| {
        let request = RestartRequest { connector: orders(), only_failed, include_tasks };
        let plan = RestartPlan::new(&request, &statuses(connector_failed)).unwrap();
        (plan.connector, plan.tasks)
    };
    assert_eq!(plan(true, false, false), (true, vec![0, 1]));
    assert_eq!(plan(false, true, false), (false, vec![]));
    assert_eq!(plan(false, true, true), (true, vec![]));
    assert_eq!(plan(true, true, false), (false, vec![1]));
    assert_eq!(plan(false, false, false), (true, vec![]));
}

#[test]
fn a_restart_with_tasks_replaces_everything() {
    let mut sim = with_a_failed_task();
    assert_eq!(text(sim.ask(restart(true, false))), "restarting RESTARTING [0 RESTARTING, 1 RESTARTING]");
    assert_eq!(
        sim.take_told(),
        "stop orders 1, stop orders-0 2, start orders-1 4 Started, start orders 5 Started, start orders-0 6 Started"
    );
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING, 1 RUNNING]");
}

#[test]
fn a_restart_of_what_failed_leaves_the_rest_alone() {
    let mut sim = with_a_failed_task();
    assert_eq!(text(sim.ask(restart(true, true))), "restarting RUNNING [0 RUNNING, 1 RESTARTING]");
    assert_eq!(sim.take_told(), "start orders-1 4 Started");
    assert_eq!(text(sim.ask(restart(true, true))), "restarting RUNNING [0 RUNNING, 1 RUNNING]");
    assert_eq!(sim.take_told(), "");
}

#[test]
fn the_answer_keeps_the_trace_of_what_failed() {
    let mut sim = with_a_failed_task();
    let Ok(crate::api::Reply::Restarting(status)) = sim.ask(restart(true, true)) else { panic!("no status") };
    let (_, failed) = &status.tasks[1];
    assert_eq!((failed.state, failed.trace.as_deref()), ("RESTARTING", Some("boom")));
}

#[test]
fn a_restart_without_flags_is_answered_when_the_connector_runs_again() {
    let mut sim = with_a_failed_task();
    assert_eq!(text(sim.ask(Request::RestartConnector { name: orders() })), "done");
    assert_eq!(sim.take_told(), "stop orders 1, start orders 4 Started");
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING, 1 FAILED]");
}

#[test]
fn a_connector_that_fails_again_is_the_answer_to_its_restart() {
    let mut sim = Sim::new();
    sim.create(&[("test.start", "no disk")]);
    assert_eq!(text(sim.ask(Request::RestartConnector { name: orders() })), "500 no disk");
}

#[test]
fn a_task_restart_is_answered_even_if_the_task_fails_again() {
    let mut sim = Sim::new();
    sim.create(&[("test.task.start", "no folder")]);
    assert_eq!(sim.status("orders"), "RUNNING [0 FAILED]");
    assert_eq!(text(sim.ask(Request::RestartTask { id: orders().task(0) })), "done");
    assert_eq!(sim.status("orders"), "RUNNING [0 FAILED]");
}

#[test]
fn an_unknown_task_is_not_found_and_leaves_no_phantom() {
    let mut sim = with_a_failed_task();
    let answer = sim.ask(Request::RestartTask { id: orders().task(7) });
    assert_eq!(text(answer), "404 Unknown task: orders-7");
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING, 1 FAILED]");
    assert_eq!(sim.take_told(), "");
}

#[test]
fn a_restarted_connector_ends_in_its_target_state() {
    for (state, shown) in [(TargetState::Paused, "PAUSED"), (TargetState::Stopped, "STOPPED")] {
        let mut sim = Sim::new();
        sim.create(&[]);
        sim.set_target(state);
        let before = sim.status("orders");
        assert!(before.starts_with(shown));
        assert_eq!(text(sim.ask(Request::RestartConnector { name: orders() })), "done");
        assert_eq!(sim.status("orders"), before);
        assert!(text(sim.ask(restart(true, false))).starts_with("restarting RESTARTING"));
        assert_eq!(sim.status("orders"), before);
    }
}

#[test]
fn a_task_of_a_stopped_connector_is_unknown() {
    let mut sim = Sim::new();
    sim.create(&[]);
    sim.set_target(TargetState::Stopped);
    assert_eq!(text(sim.ask(Request::RestartTask { id: orders().task(0) })), "404 Unknown task: orders-0");
}

#[test]
fn a_restart_of_an_unknown_connector_is_not_found() {
    assert_eq!(text(Sim::new().ask(restart(true, false))), "404 Unknown connector: orders");
}

#[test]
fn restarts_that_come_together_are_done_together() {
    let mut sim = Sim::new();
    sim.create(&[]);
    sim.take_told();
    let ids: Vec<_> = (0..3).map(|_| sim.send(Request::RestartConnector { name: orders() })).collect();
    sim.settle();
    assert!(ids.iter().all(|id| text(sim.answer(*id).unwrap()) == "done"));
    assert_eq!(sim.take_told(), "stop orders 1, start orders 3 Started");
}

#[test]
fn a_failed_connector_is_restarted_with_its_old_trace_in_the_answer() {
    let mut sim = Sim::new();
    sim.create(&[]);
    sim.break_down(&connector());
    assert_eq!(sim.status("orders"), "FAILED [0 RUNNING]");
    sim.now = Millis(1);
    assert_eq!(text(sim.ask(restart(false, true))), "restarting RESTARTING [0 RUNNING]");
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING]");
}
