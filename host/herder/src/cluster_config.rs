//! What the config log says: connectors, their tasks and what operators want of them.
//!
//! A fold of [`ConfigRecord`]s. Task configurations take effect in two phases: task records wait until
//! a commit says how many of them there are, so that half a set never runs.

use std::collections::{BTreeMap, BTreeSet};

use bulkhead_model::{ConnectorName, Instance, RawConfig, TargetState};

use crate::api::{ConfigRecord, SessionKey};

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
    /// Tasks that were committed before their connector was known. A connector that is configured anew
    /// has its record behind them, and compaction removes the one that was in front.
    orphans: BTreeMap<ConnectorName, Vec<RawConfig>>,
    /// How many tasks the last commit of each name spoke of, kept across the deletion of the connector:
    /// its commit stays in the log.
    committed: BTreeMap<ConnectorName, u32>,
    fencing: Fencing,
    last_revision: Revision,
    session_key: Option<SessionKey>,
}

/// Which connectors have tasks that may not start before the producers of older ones are fenced (KIP-618).
/// Kept across the deletion of a connector: its producers may live longer than it.
#[derive(Debug, Default)]
struct Fencing {
    /// How many tasks there were at the last fencing.
    counts: BTreeMap<ConnectorName, u32>,
    /// Those whose tasks were committed since.
    pending: BTreeSet<ConnectorName>,
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
    /// The connector configuration in force when they were last complete.
    pub(crate) applied: RawConfig,
    /// A commit came without all of its task records: the set counts as empty until it is written anew.
    pub(crate) inconsistent: bool,
    /// Their commit was read before the connector. They run, and whoever runs the connector writes its
    /// tasks anew, since these could be those of a connector that had the same name.
    adopted: bool,
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
            ConfigRecord::SessionKey(key) => self.session_key = Some(key.clone()),
            ConfigRecord::TaskCount { name, tasks } => self.fencing.record(name, *tasks),
            ConfigRecord::Restart(_) | ConfigRecord::LoggerLevel { .. } => {}
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
                let mut tasks = TaskSet::default();
                if let Some(configs) = self.orphans.remove(name) {
                    tasks = TaskSet { configs, revision, applied: config.clone(), adopted: true, inconsistent: false };
                }
                self.connectors.insert(name.clone(), Connector { config: config.clone(), revision, tasks });
            }
        }
    }

    fn remove(&mut self, name: &ConnectorName) {
        self.connectors.remove(name);
        self.deferred.remove(name);
        self.orphans.remove(name);
    }

    fn commit(&mut self, name: &ConnectorName, count: u32) {
        let deferred = self.deferred.remove(name).unwrap_or_default();
        let revision = self.next_revision();
        let configs: Option<Vec<_>> = (0..count).map(|number| deferred.get(&number).cloned()).collect();
        self.committed.insert(name.clone(), count);
        let Some(connector) = self.connectors.get_mut(name) else {
            if let Some(configs) = configs {
                self.orphans.insert(name.clone(), configs);
            }
            return;
        };
        connector.tasks.revision = revision;
        connector.tasks.inconsistent = configs.is_none();
        connector.tasks.adopted = false;
        if configs.is_some() {
            connector.tasks.applied = connector.config.clone();
        }
        connector.tasks.configs = configs.unwrap_or_default();
        self.fencing.pending.insert(name.clone());
    }

    fn next_revision(&mut self) -> Revision {
        self.last_revision.0 += 1;
        self.last_revision
    }

    /// With which internal requests are signed (KIP-507).
    pub(crate) fn session_key(&self) -> Option<&SessionKey> {
        self.session_key.as_ref()
    }

    pub(crate) fn get(&self, name: &ConnectorName) -> Option<&Connector> {
        self.connectors.get(name)
    }

    pub(crate) fn contains(&self, name: &ConnectorName) -> bool {
        self.connectors.contains_key(name)
    }

    /// Whether the log still has a commit of tasks of a connector that was deleted. Once compaction has
    /// removed what tells of the deletion, they would be taken for those of a new one of that name.
    pub(crate) fn has_old_tasks(&self, name: &ConnectorName) -> bool {
        !self.contains(name) && self.committed.get(name).is_some_and(|count| *count > 0)
    }

    pub(crate) fn connectors(&self) -> impl Iterator<Item = (&ConnectorName, &Connector)> {
        self.connectors.iter()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &ConnectorName> {
        self.connectors.keys()
    }

    pub(crate) fn target(&self, name: &ConnectorName) -> TargetState {
        self.targets.get(name).copied().unwrap_or_default()
    }

    /// How many producers of the connector's older tasks have to be fenced before its tasks may start;
    /// none if the tasks that it has now are the ones that were recorded last.
    #[allow(dead_code, reason = "asked by exactly-once sources")]
    pub(crate) fn pending_fencing(&self, name: &ConnectorName) -> Option<u32> {
        self.fencing.pending.contains(name).then(|| self.fencing.counts.get(name).copied().unwrap_or(0))
    }

    /// Whether there is such a connector or task, wherever it runs.
    pub(crate) fn has(&self, instance: &Instance) -> bool {
        let connector = self.get(instance.connector());
        connector.is_some_and(|connector| instance.task_number().is_none_or(|number| connector.has_task(number)))
    }
}

impl Fencing {
    fn record(&mut self, name: &ConnectorName, tasks: u32) {
        self.counts.insert(name.clone(), tasks);
        self.pending.remove(name);
    }
}

impl Connector {
    pub(crate) fn has_task(&self, number: u32) -> bool {
        self.task(number).is_some()
    }

    pub(crate) fn task(&self, number: u32) -> Option<&RawConfig> {
        self.tasks.configs.get(usize::try_from(number).ok()?)
    }

    pub(crate) fn task_count(&self) -> u32 {
        u32::try_from(self.tasks.configs.len()).unwrap_or(u32::MAX)
    }

    pub(crate) fn task_numbers(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.task_count()
    }

    /// Whether these task configurations must be written: they differ from what is there, or what is
    /// there was made from another configuration of the connector.
    pub(crate) fn tasks_differ(&self, configs: &[RawConfig]) -> bool {
        self.tasks.inconsistent || self.tasks.adopted || self.tasks.configs != configs || self.applied_differs()
    }

    fn applied_differs(&self) -> bool {
        // A connector that never had tasks needs no empty set written.
        self.tasks.revision != Revision::default() && self.tasks.applied != self.config
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::config_topic;
    use crate::vectors::load;

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

    #[test]
    fn tasks_that_were_committed_wait_for_fencing_until_their_number_is_recorded() {
        let recorded = |tasks| ConfigRecord::TaskCount { name: name(), tasks };
        let pending = |records: &[ConfigRecord]| fold(records).pending_fencing(&name());
        assert_eq!(pending(&[connector("a")]), None);
        assert_eq!(pending(&[connector("a"), task(0), commit(1)]), Some(0));
        assert_eq!(pending(&[connector("a"), task(0), commit(1), recorded(1)]), None);
        assert_eq!(pending(&[connector("a"), task(0), commit(1), recorded(1), commit(0)]), Some(1));
        let gone = ConfigRecord::Connector { name: name(), config: None };
        let again = [connector("a"), task(0), commit(1), recorded(1), gone, connector("a"), commit(0)];
        assert_eq!(pending(&again), Some(1));
        assert_eq!(pending(&[commit(0)]), None);
    }

    #[test]
    fn tasks_of_a_deleted_connector_never_come_back() {
        let gone = ConfigRecord::Connector { name: name(), config: None };
        let before = [connector("a"), task(0), gone.clone(), connector("b"), commit(1)];
        assert_eq!(tasks(&before), "0 inconsistent");
        let after = [connector("a"), gone, task(0), commit(1), connector("b"), commit(1)];
        assert_eq!(tasks(&after), "0 inconsistent");
    }

    #[test]
    fn an_incomplete_set_was_made_from_no_configuration() {
        let config = fold(&[connector("a"), task(0), commit(1), connector("b"), commit(1)]);
        let tasks = &config.get(&name()).unwrap().tasks;
        assert_eq!((tasks.inconsistent, &tasks.applied), (true, &[("topic", "a")].into()));
    }

    #[test]
    fn g21_a_damaged_topic_is_read_as_by_a_real_worker() {
        let vectors = load("config-reader.json");
        let (mut config, mut offset, mut ignored) = (ClusterConfig::default(), -1, Vec::new());
        for record in vectors["records"].as_array().unwrap() {
            let (key, value) = (record["key"].as_str().unwrap(), record["value"].as_str());
            let read = config_topic::decode(key.as_bytes(), value.map(str::as_bytes));
            if read.as_ref().map_or_else(|malformed| malformed.counts, |_| true) {
                offset = record["offset"].as_i64().unwrap() + 1;
            }
            match read {
                Ok(Some(record)) => config.apply(&record),
                Ok(None) | Err(_) => ignored.push(key),
            }
        }
        assert_eq!(ignored, ["junk", "task-x", "connector-bad", "connector-bad2", "target-state-c2"]);
        let expected = &vectors["expected"];
        let by_name = |value: fn(&ClusterConfig, &ConnectorName) -> Value| -> Value {
            config
                .names()
                .map(|name| (name.to_string(), value(&config, name)))
                .collect::<serde_json::Map<_, _>>()
                .into()
        };
        let tasks = by_name(|config, name| {
            let connector = config.get(name).unwrap();
            connector.task_numbers().map(|number| name.task(number).to_string()).collect()
        });
        let inconsistent = config.names().filter(|name| config.get(name).unwrap().tasks.inconsistent);
        assert_eq!(json!(offset), expected["config_offset"]);
        assert_eq!(json!(config.names().collect::<Vec<_>>()), expected["connectors"]);
        assert_eq!(json!(inconsistent.collect::<Vec<_>>()), expected["inconsistent"]);
        assert_eq!(tasks, expected["tasks"]);
        assert_eq!(by_name(|config, name| json!(config.target(name))), expected["target_state"]);
        assert_eq!(json!(config.session_key().unwrap().created), expected["session_key_created_at"]);
    }
}
