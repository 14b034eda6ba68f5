use bulkhead_model::Instance;
use bulkhead_model::work::{self, Run};

use super::*;
use crate::api::{Event, Request};
use crate::testing::{AppendError, Sim, create, orders, patch, source, text};

#[test]
fn a_connector_is_answered_for_when_it_runs_and_has_its_tasks() {
    let mut sim = Sim::new();
    assert_eq!(sim.create(&[("tasks.max", "2")]), "created orders [0, 1]");
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING, 1 RUNNING]");
    assert_eq!(sim.take_told(), "start orders 1 Started, start orders-0 2 Started, start orders-1 3 Started");
}

#[test]
fn the_name_is_trimmed_and_put_into_the_configuration() {
    let mut sim = Sim::new();
    assert_eq!(text(sim.ask(create(" \torders\n", &[]))), "created orders [0]");
    let config = sim.ask(Request::ConnectorConfig { name: orders() });
    assert_eq!(text(config), "connector.class=io.example.NumbersSourceConnector topic=numbers name=orders");
}

#[test]
fn put_does_not_trim_the_name() {
    let mut sim = Sim::new();
    let name = ConnectorName::new("orders ");
    assert_eq!(text(sim.ask(Request::PutConfig { name, config: source(&[]) })), "created orders  [0]");
}

#[test]
fn another_name_inside_the_configuration_is_refused_before_anything_else() {
    let mut sim = Sim::new();
    let answer = sim.create(&[("name", "other"), ("tasks.max", "0")]);
    assert_eq!(answer, "400 The name other in the configuration is not the name orders in the request");
    assert!(sim.put(&[("name", "other")]).starts_with("400 The name other"));
}

#[test]
fn an_existing_connector_is_reported_only_if_the_configuration_is_valid() {
    let mut sim = Sim::new();
    sim.create(&[]);
    assert_eq!(sim.create(&[]), "409 Connector orders already exists");
    assert!(sim.create(&[("tasks.max", "0")]).starts_with("400 "));
}

#[test]
fn an_invalid_configuration_is_refused_with_all_its_errors() {
    let mut sim = Sim::new();
    let answer = sim.create(&[("tasks.max", "x"), ("test.validate", "no such table")]);
    assert_eq!(
        answer,
        "400 Connector configuration is invalid and contains the following 3 error(s):\n\
         no such table\n\
         Invalid value x for configuration tasks.max: Not a number of type INT\n\
         Invalid value null for configuration tasks.max: Value must be non-null\n\
         The endpoint `/connector-plugins/{connectorType}/config/validate` gives this list as well"
    );
    assert!(sim.log.is_empty());
}

#[test]
fn a_class_must_be_given_and_known() {
    let mut sim = Sim::new();
    let config = patch(&[("topic", "t")]);
    let answer = sim.ask(Request::PutConfig { name: orders(), config });
    assert_eq!(text(answer), "400 Connector config contains no connector type (connector.class)");
    let answer = sim.create(&[("connector.class", "no.such.Class")]);
    assert_eq!(
        answer,
        "400 Connector class no.such.Class was not found; known connector classes: \
         io.example.FileSinkConnector, io.example.NumbersSourceConnector"
    );
}

#[test]
fn a_connector_that_fails_to_start_is_the_answer_but_stays() {
    let mut sim = Sim::new();
    assert_eq!(sim.create(&[("test.start", "no disk")]), "500 no disk");
    assert_eq!(sim.status("orders"), "FAILED []");
    assert_eq!(sim.put(&[]), "connector orders [0]");
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING]");
}

#[test]
fn a_plugin_that_breaks_down_while_it_validates_is_the_answer() {
    assert_eq!(Sim::new().create(&[("test.validate", "crash")]), "500 the plugin crashed");
}

#[test]
fn a_change_that_could_not_be_written_is_a_failure() {
    let mut sim = Sim::new();
    sim.append_errors.push_back(AppendError::Lost);
    assert_eq!(sim.create(&[]), "500 The change could not be written to the config log: no broker");
    assert_eq!(sim.create(&[]), "created orders [0]");
}

#[test]
fn a_connector_may_be_created_paused_or_stopped_and_has_no_tasks_then() {
    for (state, shown) in [(TargetState::Paused, "PAUSED []"), (TargetState::Stopped, "STOPPED []")] {
        let mut sim = Sim::new();
        let initial_state = Some(state);
        let answer =
            sim.ask(Request::CreateConnector { name: orders(), config: source(&[]), initial_state, offsets: None });
        assert_eq!(text(answer), "created orders []");
        assert_eq!(sim.status("orders"), shown);
        assert_eq!(sim.set_target(TargetState::Started), "done");
        assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING]");
    }
}

#[test]
fn an_update_keeps_the_target_state_and_a_paused_connector_its_tasks() {
    let mut sim = Sim::new();
    sim.create(&[]);
    sim.set_target(TargetState::Paused);
    assert_eq!(sim.put(&[("batch", "3")]), "connector orders [0]");
    assert_eq!(sim.status("orders"), "PAUSED [0 PAUSED]");
    sim.take_told();
    sim.set_target(TargetState::Started);
    assert_eq!(
        sim.take_told(),
        "set orders 3 Started, set orders-0 2 Started, stop orders-0 2, start orders-0 4 Started"
    );
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING]");
}

#[test]
fn pause_keeps_the_tasks_and_stop_drops_them() {
    let mut sim = Sim::new();
    sim.create(&[]);
    assert_eq!(sim.set_target(TargetState::Paused), "done");
    assert_eq!(sim.status("orders"), "PAUSED [0 PAUSED]");
    assert_eq!(sim.set_target(TargetState::Stopped), "done");
    assert_eq!(sim.status("orders"), "STOPPED []");
    assert_eq!(text(sim.ask(Request::TaskInfos { name: orders() })), "");
    assert_eq!(sim.set_target(TargetState::Paused), "done");
    assert_eq!(sim.status("orders"), "PAUSED []");
    assert_eq!(sim.set_target(TargetState::Started), "done");
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING]");
}

#[test]
fn target_states_may_be_repeated_without_effect() {
    let mut sim = Sim::new();
    sim.create(&[]);
    for state in [TargetState::Started, TargetState::Paused, TargetState::Stopped] {
        sim.set_target(state);
        sim.take_told();
        assert_eq!(sim.set_target(state), "done");
        assert_eq!(sim.take_told(), "");
    }
}

#[test]
fn unknown_connectors_are_not_found() {
    let mut sim = Sim::new();
    let name = orders();
    let requests = [
        Request::ConnectorInfo { name: name.clone() },
        Request::ConnectorConfig { name: name.clone() },
        Request::TaskInfos { name: name.clone() },
        Request::DeleteConnector { name: name.clone() },
        Request::PatchConfig { name: name.clone(), patch: patch(&[]) },
        Request::SetTargetState { name: name.clone(), state: TargetState::Paused },
        Request::SetTargetState { name: name.clone(), state: TargetState::Stopped },
        Request::RestartConnector { name: name.clone() },
        Request::RestartTask { id: name.task(0) },
        Request::Offsets { name: name.clone() },
        Request::AlterOffsets { name: name.clone(), offsets: None },
    ];
    for request in requests {
        let answer = sim.ask(request.clone());
        assert_eq!(answer.unwrap_err().status(), 404, "{request:?}");
    }
    assert!(sim.log.is_empty());
}

#[test]
fn a_patch_replaces_adds_and_removes() {
    let mut sim = Sim::new();
    sim.create(&[("batch", "3"), ("note", "x")]);
    let mut changes = patch(&[("batch", "4"), ("new", "y")]);
    changes.insert("note".to_owned(), None);
    changes.insert("never.set".to_owned(), None);
    let answer = sim.ask(Request::PatchConfig { name: orders(), patch: changes });
    assert_eq!(text(answer), "connector orders [0]");
    let config = sim.ask(Request::ConnectorConfig { name: orders() });
    assert_eq!(
        text(config),
        "connector.class=io.example.NumbersSourceConnector topic=numbers batch=4 name=orders new=y"
    );
}

#[test]
fn a_patch_may_not_remove_what_is_required() {
    let mut sim = Sim::new();
    sim.create(&[]);
    for key in ["topic", "name", "connector.class"] {
        let patch = [(key.to_owned(), None)].into_iter().collect();
        let answer = sim.ask(Request::PatchConfig { name: orders(), patch });
        assert_eq!(answer.unwrap_err().status(), 400, "{key}");
    }
}

#[test]
fn patches_that_come_at_the_same_time_both_count() {
    let mut sim = Sim::new();
    sim.create(&[]);
    for (key, value) in [("a", "1"), ("b", "2")] {
        sim.send(Request::PatchConfig { name: orders(), patch: patch(&[(key, value)]) });
    }
    sim.settle();
    let config = text(sim.ask(Request::ConnectorConfig { name: orders() }));
    assert!(config.ends_with("name=orders a=1 b=2"), "{config}");
}

#[test]
fn of_two_creations_at_the_same_time_one_wins() {
    let mut sim = Sim::new();
    let first = sim.send(create("orders", &[]));
    let second = sim.send(create("orders", &[]));
    sim.settle();
    assert_eq!(text(sim.answer(first).unwrap()), "created orders [0]");
    assert_eq!(text(sim.answer(second).unwrap()), "409 Connector orders already exists");
}

#[test]
fn a_deleted_connector_leaves_no_status() {
    let mut sim = Sim::new();
    sim.create(&[]);
    sim.break_down(&Instance::Task(orders().task(0)));
    assert_eq!(sim.status("orders"), "RUNNING [0 FAILED]");
    assert_eq!(text(sim.ask(Request::DeleteConnector { name: orders() })), "done");
    assert_eq!(sim.status("orders"), "none");
    assert!(sim.worker.running.is_empty());
    assert!(sim.herder.view().task_status(&orders().task(0)).is_none());
}

#[test]
fn a_connector_may_be_created_again_while_the_old_one_stops() {
    let mut sim = Sim::new();
    sim.create(&[]);
    sim.set_target(TargetState::Paused);
    sim.take_told();
    let deleted = sim.send(Request::DeleteConnector { name: orders() });
    let created = sim.send(create("orders", &[("tasks.max", "2")]));
    sim.settle();
    assert_eq!(text(sim.answer(deleted).unwrap()), "done");
    assert_eq!(text(sim.answer(created).unwrap()), "created orders [0, 1]");
    // The target state went with the old one.
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING, 1 RUNNING]");
}

#[test]
fn who_waits_for_a_connector_that_is_deleted_is_told_so() {
    let mut sim = Sim::new();
    sim.slow = true;
    let created = sim.send(create("orders", &[]));
    let deleted = sim.send(Request::DeleteConnector { name: orders() });
    sim.settle();
    assert_eq!(sim.answer(deleted).map(text), Some("done".to_owned()));
    let answer = "409 orders was deleted or stopped before the request was done";
    assert_eq!(sim.answer(created).map(text), Some(answer.to_owned()));
}

#[test]
fn an_instance_that_was_told_old_values_is_restarted_once() {
    let mut sim = Sim::new();
    sim.create(&[]);
    sim.take_told();
    for _ in 0..2 {
        let instance = Instance::Task(orders().task(0));
        sim.deliver(Event::Work(work::Event::ValuesChanged { run: Run(2), instance }));
    }
    sim.settle();
    assert_eq!(sim.take_told(), "stop orders-0 2, start orders-0 3 Started");
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING]");
}
