use crate::api::{Event, Request};
use crate::testing::{Sim, create, orders, text};
use bulkhead_model::{Instance, work};

fn topics(sim: &Sim) -> Vec<String> {
    sim.herder.view().connectors["orders"].topics.clone()
}

fn used(sim: &Sim, topic: &str) -> work::Event {
    sim.worker.use_topic(&Instance::Task(orders().task(0)), topic).unwrap()
}

fn with_topics(topics: &[&str]) -> Sim {
    let mut sim = Sim::new();
    sim.create(&[]);
    for topic in topics {
        let event = used(&sim, topic);
        sim.deliver(Event::Work(event));
    }
    sim.settle();
    sim
}

#[test]
fn topics_are_kept_until_they_are_reset() {
    let mut sim = with_topics(&["b", "a", "b"]);
    assert_eq!(topics(&sim), ["a", "b"]);
    assert_eq!(text(sim.ask(Request::ResetTopics { name: orders() })), "done");
    assert_eq!(topics(&sim), [""; 0]);
}

#[test]
fn a_reset_of_an_unknown_connector_is_fine() {
    assert_eq!(text(Sim::new().ask(Request::ResetTopics { name: orders() })), "done");
}

#[test]
fn a_connector_created_again_has_no_topics_of_the_old_one() {
    let mut sim = with_topics(&["a"]);
    sim.ask(Request::DeleteConnector { name: orders() }).unwrap();
    sim.ask(create("orders", &[])).unwrap();
    assert_eq!(topics(&sim), [""; 0]);
}

#[test]
fn a_task_that_is_gone_uses_no_topic_any_more() {
    let mut sim = with_topics(&[]);
    let late = used(&sim, "a");
    sim.ask(Request::RestartTask { id: orders().task(0) }).unwrap();
    sim.deliver(Event::Work(late));
    sim.settle();
    assert_eq!(topics(&sim), [""; 0]);
}
