use super::*;
use crate::api::Request;
use crate::testing::{Sim, orders, text};

fn entry() -> OffsetEntry {
    OffsetEntry { partition: Some(serde_json::Map::new()), offset: None }
}

fn alter() -> Request {
    Request::AlterOffsets { name: orders(), offsets: Some(vec![entry()]) }
}

fn reset() -> Request {
    Request::AlterOffsets { name: orders(), offsets: None }
}

#[test]
fn offsets_are_altered_and_reset_only_when_stopped() {
    let mut sim = Sim::new();
    sim.create(&[]);
    for state in [TargetState::Started, TargetState::Paused] {
        sim.set_target(state);
        for request in [alter(), reset()] {
            let answer = text(sim.ask(request));
            assert!(answer.starts_with("400 Connectors must be in the STOPPED state"), "{answer}");
        }
    }
    sim.set_target(TargetState::Stopped);
    assert_eq!(text(sim.ask(alter())), "altered FrameworkOnly reset=false");
    assert_eq!(text(sim.ask(reset())), "altered FrameworkOnly reset=true");
}

#[test]
fn an_empty_list_is_refused_even_for_an_unknown_connector() {
    let request = Request::AlterOffsets { name: orders(), offsets: Some(Vec::new()) };
    assert_eq!(Sim::new().ask(request).unwrap_err().status(), 400);
}

#[test]
fn offsets_are_read_in_any_state() {
    let mut sim = Sim::new();
    sim.create(&[]);
    assert_eq!(text(sim.ask(Request::Offsets { name: orders() })), "0 offsets");
}

#[test]
fn what_the_connector_refuses_is_a_bad_request_and_what_breaks_a_failure() {
    assert_eq!(Refusal::from(OffsetsError::Refused("no".to_owned())).status(), 400);
    assert_eq!(Refusal::from(OffsetsError::Failed("no".to_owned())).status(), 500);
}

#[test]
fn offsets_wait_for_tasks_that_are_still_stopping_and_hold_up_a_resume() {
    let mut sim = Sim::new();
    sim.create(&[]);
    sim.slow = true;
    let stopped = sim.send(Request::SetTargetState { name: orders(), state: TargetState::Stopped });
    let altered = sim.send(alter());
    let resumed = sim.send(Request::SetTargetState { name: orders(), state: TargetState::Started });
    sim.settle();
    assert_eq!(sim.answer(stopped).map(text), Some("done".to_owned()));
    assert_eq!(sim.answer(altered), None);
    assert_eq!(sim.herder.stage(), "waiting for the tasks of connector orders to stop");
    sim.slow = false;
    sim.settle();
    assert_eq!(sim.answer(altered).map(text), Some("altered FrameworkOnly reset=false".to_owned()));
    assert_eq!(sim.answer(resumed).map(text), Some("done".to_owned()));
    assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING]");
    assert_eq!(sim.worker.altered.len(), 1);
}
