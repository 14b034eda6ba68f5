//! What the config log says: connectors, their tasks and what operators want of them.
//!
//! A fold of [`ConfigRecord`]s. Task configurations take effect in two phases: task records wait until
//! a commit says how many of them there are, so that half a set never runs.

use std::collections::BTreeMap;

use bulkhead_model::{ConnectorName, Instance, RawConfig, TargetState};

use crate::api::ConfigRecord;

/// Tells one version of a configuration from every other, also across a deletion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Revision(u64);

#[cfg(test)]
impl Revision {
    pub(crate) fn test(number: u64) -> Self {
        Self(number)
    }
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct ClusterConfig {
    connectors: BTreeMap<ConnectorName, Connector>,
    /// Apart from the connectors: the target state of a new one is written before it (KIP-980).
    targets: BTreeMap<ConnectorName, TargetState>,
    /// Task records whose commit hasn't come.
    deferred: BTreeMap<ConnectorName, BTreeMap<u32, RawConfig>>,
    last_revision: Revision,
}

/// A connector as configured.
#[derive(Debug)]
pub(crate) struct Connector {
    pub(crate) config: RawConfig,
    /// New with every record of the connector, also if it says the same.
    pub(crate) revision: Revision,
    pub(crate) tasks: TaskSet,
}

/// The tasks of a connector as last committed.
#[derive(Debug, Default)]
pub(crate) struct TaskSet {
    pub(crate) configs: Vec<RawConfig>,
    /// New with every commit.
    pub(crate) revision: Revision,
    /// The connector configuration they were made from.
    pub(crate) applied: RawConfig,
    /// A commit came without all of its task records: the set counts as empty until it is written anew.
    pub(crate) inconsistent: bool,
}

impl ClusterConfig {
    pub(crate) fn apply(&mut self, record: &ConfigRecord) {
        match record {
            ConfigRecord::Connector { name, config: Some(config) } => self.put(name, config),
            ConfigRecord::Connector { name, config: None } => self.remove(name),
            ConfigRecord::TargetState { name, state: Some(state) } => {
                self.targets.insert(name.clone(), *state);
            }
            ConfigRecord::TargetState { name, state: None } => {
                self.targets.remove(name);
            }
            ConfigRecord::Task { id, config } => {
                self.deferred.entry(id.connector.clone()).or_default().insert(id.number, config.clone());
            }
            ConfigRecord::Commit { name, tasks } => self.commit(name, *tasks),
            ConfigRecord::Restart(_)
            | ConfigRecord::TaskCount { .. }
            | ConfigRecord::SessionKey(_)
            | ConfigRecord::LoggerLevel { .. } => {}
        }
    }

    fn put(&mut self, name: &ConnectorName, config: &RawConfig) {
        let revision = self.next_revision();
        match self.connectors.get_mut(name) {
            Some(connector) => {
                connector.config = config.clone();
                connector.revision = revision;
            }
            None => {
                let connector = Connector { config: config.clone(), revision, tasks: TaskSet::default() };
                self.connectors.insert(name.clone(), connector);
            }
        }
    }

    fn remove(&mut self, name: &ConnectorName) {
        self.connectors.remove(name);
        self.deferred.remove(name);
    }

    fn commit(&mut self, name: &ConnectorName, count: u32) {
        let deferred = self.deferred.remove(name).unwrap_or_default();
        let revision = self.next_revision();
        let Some(connector) = self.connectors.get_mut(name) else {
            return;
        };
        let configs: Option<Vec<_>> = (0..count).map(|number| deferred.get(&number).cloned()).collect();
        connector.tasks = TaskSet {
            inconsistent: configs.is_none(),
            configs: configs.unwrap_or_default(),
            revision,
            applied: connector.config.clone(),
        };
    }

    fn next_revision(&mut self) -> Revision {
        self.last_revision.0 += 1;
        self.last_revision
    }

    pub(crate) fn get(&self, name: &ConnectorName) -> Option<&Connector> {
        self.connectors.get(name)
    }

    pub(crate) fn contains(&self, name: &ConnectorName) -> bool {
        self.connectors.contains_key(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &ConnectorName> {
        self.connectors.keys()
    }

    pub(crate) fn target(&self, name: &ConnectorName) -> TargetState {
        self.targets.get(name).copied().unwrap_or_default()
    }

    /// Whether there is such a connector or task, wherever it runs.
    pub(crate) fn has(&self, instance: &Instance) -> bool {
        let connector = self.get(instance.connector());
        connector.is_some_and(|connector| instance.task_number().is_none_or(|number| connector.has_task(number)))
    }
}

impl Connector {
    pub(crate) fn has_task(&self, number: u32) -> bool {
        self.task(number).is_some()
    }

    pub(crate) fn task(&self, number: u32) -> Option<&RawConfig> {
        self.tasks.configs.get(usize::try_from(number).ok()?)
    }

    pub(crate) fn task_numbers(&self) -> impl Iterator<Item = u32> + use<> {
        0..u32::try_from(self.tasks.configs.len()).unwrap_or(u32::MAX)
    }

    /// Whether these task configurations must be written: they differ from what is there, or what is
    /// there was made from another configuration of the connector.
    pub(crate) fn tasks_differ(&self, configs: &[RawConfig]) -> bool {
        self.tasks.inconsistent || self.tasks.configs != configs || self.applied_differs()
    }

    fn applied_differs(&self) -> bool {
        // A connector that never had tasks needs no empty set written.
        self.tasks.revision != Revision::default() && self.tasks.applied != self.config
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> ConnectorName {
        ConnectorName::new("orders")
    }

    fn connector(text: &str) -> ConfigRecord {
        ConfigRecord::Connector { name: name(), config: Some([("topic", text)].into()) }
    }

    fn task(number: u32) -> ConfigRecord {
        ConfigRecord::Task { id: name().task(number), config: [("n", number.to_string())].into() }
    }

    fn commit(tasks: u32) -> ConfigRecord {
        ConfigRecord::Commit { name: name(), tasks }
    }

    fn fold(records: &[ConfigRecord]) -> ClusterConfig {
        let mut config = ClusterConfig::default();
        records.iter().for_each(|record| config.apply(record));
        config
    }

    fn tasks(records: &[ConfigRecord]) -> String {
        let config = fold(records);
        let connector = config.get(&name()).unwrap();
        format!("{}{}", connector.tasks.configs.len(), if connector.tasks.inconsistent { " inconsistent" } else { "" })
    }

    #[test]
    fn task_records_take_effect_with_their_commit() {
        assert_eq!(tasks(&[connector("a"), task(0), task(1)]), "0");
        assert_eq!(tasks(&[connector("a"), task(0), task(1), commit(2)]), "2");
        assert_eq!(tasks(&[connector("a"), task(0), task(1), commit(1)]), "1");
    }

    #[test]
    fn a_commit_without_all_its_tasks_leaves_none_until_the_next() {
        assert_eq!(tasks(&[connector("a"), task(1), commit(2)]), "0 inconsistent");
        assert_eq!(tasks(&[connector("a"), task(1), commit(2), task(0), commit(1)]), "1");
        assert_eq!(tasks(&[connector("a"), task(1), commit(2), commit(0)]), "0");
    }

    #[test]
    fn an_update_keeps_the_tasks_and_a_deletion_drops_them() {
        assert_eq!(tasks(&[connector("a"), task(0), commit(1), connector("b")]), "1");
        let gone = ConfigRecord::Connector { name: name(), config: None };
        assert_eq!(tasks(&[connector("a"), task(0), commit(1), gone, commit(1), connector("a")]), "0");
    }

    #[test]
    fn tasks_are_written_again_when_the_connector_configuration_changed() {
        let config = fold(&[connector("a"), task(0), commit(1), connector("a")]);
        let same = [[("n", "0")].into()];
        assert!(!config.get(&name()).unwrap().tasks_differ(&same));
        let config = fold(&[connector("a"), task(0), commit(1), connector("b")]);
        assert!(config.get(&name()).unwrap().tasks_differ(&same));
    }

    #[test]
    fn a_target_state_may_come_before_its_connector() {
        let stopped = ConfigRecord::TargetState { name: name(), state: Some(TargetState::Stopped) };
        let gone = ConfigRecord::TargetState { name: name(), state: None };
        assert_eq!(fold(&[stopped.clone(), connector("a")]).target(&name()), TargetState::Stopped);
        assert_eq!(fold(&[connector("a"), stopped, gone]).target(&name()), TargetState::Started);
    }
}
