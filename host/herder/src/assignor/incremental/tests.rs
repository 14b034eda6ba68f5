use bulkhead_model::{ConnectorName, TaskId};
use serde_json::Value;

use super::*;
use crate::protocol::{Assignment, MemberMetadata};
use crate::vectors::{load, unhex};

fn name(value: &Value) -> ConnectorName {
    ConnectorName::new(value.as_str().unwrap())
}

/// `orders-3`.
fn task(value: &Value) -> TaskId {
    let (connector, number) = value.as_str().unwrap().rsplit_once('-').unwrap();
    ConnectorName::new(connector).task(number.parse().unwrap())
}

fn work(connectors: &Value, tasks: &Value) -> Work {
    Work {
        connectors: connectors.as_array().unwrap().iter().map(name).collect(),
        tasks: tasks.as_array().unwrap().iter().map(task).collect(),
    }
}

fn configured(counts: &Value, inconsistent: &Value) -> Configured {
    let inconsistent: Vec<&str> = inconsistent.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let tasks = |name: &String, count: &Value| if inconsistent.contains(&name.as_str()) { 0 } else { number(count) };
    counts.as_object().unwrap().iter().map(|(name, count)| (ConnectorName::new(name), tasks(name, count))).collect()
}

fn number<T: TryFrom<i64, Error: std::fmt::Debug>>(value: &Value) -> T {
    value.as_i64().unwrap().try_into().unwrap()
}

#[test]
fn g03_scenarios_end_as_with_connect() {
    let vectors = load("group-protocol.json");
    let scenarios = vectors["assignor_scenarios"].as_array().unwrap();
    assert_eq!(scenarios.len(), 15);
    for scenario in scenarios {
        let mut assignor = Assignor::default();
        for step in scenario["steps"].as_array().unwrap() {
            let members = step["members"].as_object().unwrap().iter();
            let members = members.map(|(id, held)| (id.clone(), work(&held["connectors"], &held["tasks"]))).collect();
            let outcome = assignor.assign(&Round {
                configured: &configured(&step["configured"], &step["inconsistent"]),
                members: &members,
                last_completed_generation: number(&step["last_completed_generation"]),
                generation: number(&step["generation"]),
                now: Millis(number(&step["now_ms"])),
                max_delay_ms: number(&scenario["max_delay_ms"]),
            });
            let shares = step["result"].as_object().unwrap().iter().map(|(id, share)| {
                let share = Share {
                    assigned: work(&share["assigned_connectors"], &share["assigned_tasks"]),
                    revoked: work(&share["revoked_connectors"], &share["revoked_tasks"]),
                };
                (id.clone(), share)
            });
            let expected = Outcome { members: shares.collect(), delay_ms: number(&step["delay_ms"]) };
            assert_eq!(outcome, expected, "{}: {}", scenario["name"], step["note"]);
        }
    }
}

/// A captured rebalance: what the leader was told and what it said.
struct Captured {
    generation: i32,
    now: Millis,
    configured: Configured,
    members: IndexMap<String, Work>,
    said: Outcome,
}

impl Captured {
    fn new(rebalance: &Value) -> Self {
        let held = |member: &Value| {
            let metadata = MemberMetadata::decode(&unhex(&member["metadata_hex"])).unwrap();
            let held = metadata.allocation.map_or_else(Work::default, |held| held.assigned);
            (member["member_id"].as_str().unwrap().to_owned(), held)
        };
        let mut delay_ms = 0;
        let share = |member: &Value| {
            let Assignment { assigned, revoked, delay_ms: delay, .. } =
                Assignment::decode(&unhex(&member["assignment_hex"])).unwrap();
            delay_ms = delay;
            (member["member_id"].as_str().unwrap().to_owned(), Share { assigned, revoked })
        };
        Self {
            generation: number(&rebalance["generation"]),
            now: Millis(number(&rebalance["time_ms"])),
            configured: configured(&rebalance["configured"], &Value::Null),
            members: rebalance["members"].as_array().unwrap().iter().map(held).collect(),
            said: Outcome {
                members: rebalance["assignments"].as_array().unwrap().iter().map(share).collect(),
                delay_ms,
            },
        }
    }

    /// The assignor afterwards, if it says the same with the members in this order.
    fn replay(&self, assignor: &Assignor, order: &[usize]) -> Option<Assignor> {
        let mut assignor = assignor.clone();
        let in_order = |place: &usize| self.members.get_index(*place).map(|(id, held)| (id.clone(), held.clone()));
        let outcome = assignor.assign(&Round {
            configured: &self.configured,
            members: &order.iter().filter_map(in_order).collect(),
            last_completed_generation: self.generation - 1,
            generation: self.generation,
            now: self.now,
            max_delay_ms: 8_000,
        });
        // The leader's clock was read a little before the log line from which the time comes.
        let same_delay =
            (outcome.delay_ms == 0) == (self.said.delay_ms == 0) && outcome.delay_ms.abs_diff(self.said.delay_ms) < 50;
        (same_delay && outcome.members == self.said.members).then_some(assignor)
    }
}

/// Which member keeps one more than others depends on the order of a hash map in the real leader.
const ORDERS: [&[usize]; 6] = [&[0, 1, 2], &[0, 2, 1], &[1, 0, 2], &[1, 2, 0], &[2, 0, 1], &[2, 1, 0]];

#[test]
fn leaders_of_real_clusters_said_the_same() {
    let vectors = load("group-protocol.json");
    let rebalances = vectors["captured_rebalances"].as_array().unwrap().iter();
    let with_assignment =
        |rebalance: &&Value| rebalance["protocol"] != "default" && rebalance["assignments"][0]["decoded"]["error"] == 0;
    let (mut leader, mut assignor, mut count) = (Value::Null, Assignor::default(), 0);
    for rebalance in rebalances.filter(with_assignment) {
        if rebalance["leader"] != leader {
            (leader, assignor) = (rebalance["leader"].clone(), Assignor::default());
        }
        let captured = Captured::new(rebalance);
        let replayed = ORDERS.iter().find_map(|order| captured.replay(&assignor, order));
        assignor = replayed.unwrap_or_else(|| panic!("{} {}", rebalance["group"], rebalance["generation"]));
        count += captured.members.len();
    }
    assert_eq!(count, 55);
}

/// Connect's new leader leaves it where it is until the round after.
#[test]
fn a_new_leader_takes_away_what_was_deleted_before_it_led() {
    let held: Work = [Instance::Connector(ConnectorName::new("gone"))].into_iter().collect();
    let outcome = Assignor::default().assign(&Round {
        configured: &Configured::new(),
        members: &[("w1".to_owned(), held.clone())].into(),
        last_completed_generation: 6,
        generation: 7,
        now: Millis(0),
        max_delay_ms: 0,
    });
    assert_eq!(outcome.members["w1"], Share { assigned: Work::default(), revoked: held });
}
