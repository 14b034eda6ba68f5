//! The assignor of protocol `default`: everything is dealt anew in every round.

use std::collections::BTreeMap;

use bulkhead_model::Instance;

use super::Configured;
use crate::protocol::Work;

/// Deals the connectors and after them the tasks, both in order, to the members in turn.
pub fn assign<'a>(configured: &Configured, members: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, Work> {
    let mut assigned: BTreeMap<String, Work> =
        members.into_iter().map(|member| (member.to_owned(), Work::default())).collect();
    let connectors = configured.keys().cloned().map(Instance::Connector);
    let tasks = configured.iter().flat_map(|(name, count)| (0..*count).map(|number| Instance::Task(name.task(number))));
    let mut members: Vec<&mut Work> = assigned.values_mut().collect();
    let turns = members.len().max(1);
    for (at, instance) in connectors.chain(tasks).enumerate() {
        if let Some(member) = members.get_mut(at % turns) {
            member.insert(instance);
        }
    }
    assigned
}

#[cfg(test)]
mod tests {
    use bulkhead_model::ConnectorName;

    use super::*;
    use crate::protocol::Assignment;
    use crate::vectors::{load, unhex};

    #[test]
    fn leaders_of_real_groups_said_the_same() {
        let vectors = load("group-protocol.json");
        let mut count = 0;
        for rebalance in vectors["captured_rebalances"].as_array().unwrap() {
            if rebalance["protocol"] != "default" {
                continue;
            }
            let tasks = rebalance["configured"].as_object().unwrap().iter();
            let tasks =
                tasks.map(|(name, tasks)| (ConnectorName::new(name), tasks.as_u64().unwrap().try_into().unwrap()));
            let given = rebalance["assignments"].as_array().unwrap();
            let given: BTreeMap<String, Work> = given
                .iter()
                .map(|member| {
                    let assignment = Assignment::decode(&unhex(&member["assignment_hex"])).unwrap();
                    (member["member_id"].as_str().unwrap().to_owned(), assignment.assigned)
                })
                .collect();
            assert_eq!(
                assign(&tasks.collect(), given.keys().map(String::as_str)),
                given,
                "{}",
                rebalance["generation"]
            );
            count += given.len();
        }
        assert_eq!(count, 5);
    }

    #[test]
    fn a_group_without_members_gets_nothing() {
        let configured = Configured::from([(ConnectorName::new("orders"), 2)]);
        assert_eq!(assign(&configured, []), BTreeMap::new());
    }
}
