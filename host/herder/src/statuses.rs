//! What the status log says: the states that workers report, and the topics connectors use.

use std::collections::{BTreeMap, BTreeSet};

use bulkhead_model::{ConnectorName, Instance, State, TaskId};

use crate::api::{Status, StatusRecord};

/// A fold of [`StatusRecord`]s.
#[derive(Debug, Default)]
pub(crate) struct Statuses {
    connectors: BTreeMap<ConnectorName, Status>,
    tasks: BTreeMap<TaskId, Status>,
    topics: BTreeMap<ConnectorName, BTreeSet<String>>,
}

/// What a record is about: a later record with the same key replaces it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum StatusKey {
    Instance(Instance),
    Topic(ConnectorName, String),
}

impl Statuses {
    pub(crate) fn apply(&mut self, record: &StatusRecord) {
        match record {
            StatusRecord::Connector { name, status } => set(&mut self.connectors, name, status.as_ref()),
            StatusRecord::Task { id, status: Some(status) } if self.is_overtaken(id, status) => {}
            StatusRecord::Task { id, status } => set(&mut self.tasks, id, status.as_ref()),
            StatusRecord::Topic { connector, topic, used: true, .. } => {
                self.topics.entry(connector.clone()).or_default().insert(topic.clone());
            }
            StatusRecord::Topic { connector, topic, used: false, .. } => self.forget_topic(connector, topic),
        }
    }

    /// Whether a task's farewell comes after another worker has said that it runs it now.
    fn is_overtaken(&self, id: &TaskId, status: &Status) -> bool {
        let is_farewell = status.state == State::Unassigned;
        let newer = |present: &Status| {
            present.state == State::Running
                && present.generation >= status.generation
                && present.worker != status.worker
        };
        is_farewell && self.tasks.get(id).is_some_and(newer)
    }

    fn forget_topic(&mut self, connector: &ConnectorName, topic: &str) {
        let Some(topics) = self.topics.get_mut(connector) else {
            return;
        };
        topics.remove(topic);
        if topics.is_empty() {
            self.topics.remove(connector);
        }
    }

    pub(crate) fn connector(&self, name: &ConnectorName) -> Option<&Status> {
        self.connectors.get(name)
    }

    pub(crate) fn of(&self, instance: &Instance) -> Option<&Status> {
        match instance {
            Instance::Connector(name) => self.connectors.get(name),
            Instance::Task(id) => self.tasks.get(id),
        }
    }

    /// Whatever has a status; tasks first, so that a connector is the last of its own to go.
    pub(crate) fn instances(&self) -> impl Iterator<Item = Instance> {
        let tasks = self.tasks.keys().cloned().map(Instance::Task);
        tasks.chain(self.connectors.keys().cloned().map(Instance::Connector))
    }

    /// Connectors that use topics.
    pub(crate) fn with_topics(&self) -> impl Iterator<Item = &ConnectorName> {
        self.topics.keys()
    }

    /// By task number.
    pub(crate) fn tasks(&self, name: &ConnectorName) -> impl Iterator<Item = (u32, &Status)> {
        let of_connector = name.task(0)..=name.task(u32::MAX);
        self.tasks.range(of_connector).map(|(id, status)| (id.number, status))
    }

    /// In alphabetical order.
    pub(crate) fn topics(&self, name: &ConnectorName) -> impl Iterator<Item = &String> {
        self.topics.get(name).into_iter().flatten()
    }

    pub(crate) fn uses_topic(&self, name: &ConnectorName, topic: &str) -> bool {
        self.topics.get(name).is_some_and(|topics| topics.contains(topic))
    }
}

fn set<K: Ord + Clone>(statuses: &mut BTreeMap<K, Status>, key: &K, status: Option<&Status>) {
    match status {
        Some(status) => statuses.insert(key.clone(), status.clone()),
        None => statuses.remove(key),
    };
}

impl StatusRecord {
    pub(crate) fn key(&self) -> StatusKey {
        match self {
            Self::Connector { name, .. } => StatusKey::Instance(Instance::Connector(name.clone())),
            Self::Task { id, .. } => StatusKey::Instance(Instance::Task(id.clone())),
            Self::Topic { connector, topic, .. } => StatusKey::Topic(connector.clone(), topic.clone()),
        }
    }

    pub(crate) fn status(&self) -> Option<&Status> {
        match self {
            Self::Connector { status, .. } | Self::Task { status, .. } => status.as_ref(),
            Self::Topic { .. } => None,
        }
    }

    /// The status of an instance; none removes it.
    pub(crate) fn of(instance: &Instance, status: Option<Status>) -> Self {
        match instance {
            Instance::Connector(name) => Self::Connector { name: name.clone(), status },
            Instance::Task(id) => Self::Task { id: id.clone(), status },
        }
    }
}

impl StatusKey {
    pub(crate) fn connector(&self) -> &ConnectorName {
        match self {
            Self::Instance(instance) => instance.connector(),
            Self::Topic(connector, _) => connector,
        }
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_model::WorkerId;

    use super::*;
    use crate::api::Millis;

    fn running() -> Option<Status> {
        Some(Status { state: State::Running, worker: WorkerId("w:1".into()), generation: 0, version: None })
    }

    #[test]
    fn tasks_are_listed_by_number_and_per_connector() {
        let mut statuses = Statuses::default();
        for (connector, number) in [("a", 10), ("a", 2), ("a-1", 0), ("b", 1)] {
            let id = ConnectorName::new(connector).task(number);
            statuses.apply(&StatusRecord::Task { id, status: running() });
        }
        let numbers =
            |name: &str| statuses.tasks(&ConnectorName::new(name)).map(|(number, _)| number).collect::<Vec<_>>();
        assert_eq!(numbers("a"), [2, 10]);
        assert_eq!(numbers("a-1"), [0]);
        assert_eq!(numbers("c"), [0; 0]);
    }

    #[test]
    fn a_topic_is_in_use_until_it_is_forgotten() {
        let mut statuses = Statuses::default();
        let name = ConnectorName::new("a");
        let record = |used| StatusRecord::Topic {
            connector: ConnectorName::new("a"),
            topic: "t".to_owned(),
            task: 0,
            used,
            discovered: Millis(1),
        };
        statuses.apply(&record(true));
        assert!(statuses.uses_topic(&name, "t"));
        statuses.apply(&record(false));
        assert_eq!(statuses.topics(&name).count(), 0);
    }
}
