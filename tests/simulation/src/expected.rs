//! What the config log says, worked out once more and on its own: the herders are measured by it.

use std::collections::{BTreeMap, BTreeSet};

use bulkhead_herder::api::ConfigRecord;
use bulkhead_model::{ConnectorName, Instance, RawConfig, TargetState};

/// A fold of the config log.
#[derive(Debug, Default)]
pub struct Expected {
    pub connectors: BTreeMap<ConnectorName, Connector>,
    targets: BTreeMap<ConnectorName, TargetState>,
    deferred: BTreeMap<ConnectorName, BTreeMap<u32, RawConfig>>,
    /// Connectors whose tasks workers can't agree on.
    pub beyond_repair: BTreeSet<ConnectorName>,
}

/// A connector and its tasks.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Connector {
    pub config: RawConfig,
    pub tasks: Vec<RawConfig>,
    /// The configuration of the connector when its tasks were committed.
    pub applied: Option<RawConfig>,
    /// The last commit came without all its tasks.
    pub inconsistent: bool,
}

impl Expected {
    pub fn of<'a>(history: impl IntoIterator<Item = &'a ConfigRecord>) -> Self {
        let mut expected = Self::default();
        history.into_iter().for_each(|record| expected.take(record));
        expected
    }

    fn take(&mut self, record: &ConfigRecord) {
        match record {
            ConfigRecord::Connector { name, config: Some(config) } => {
                self.connectors.entry(name.clone()).or_default().config = config.clone();
            }
            ConfigRecord::Connector { name, config: None } => {
                self.connectors.remove(name);
                self.deferred.remove(name);
            }
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

    fn commit(&mut self, name: &ConnectorName, count: u32) {
        let deferred = self.deferred.remove(name).unwrap_or_default();
        let Some(connector) = self.connectors.get_mut(name) else { return };
        let tasks: Option<Vec<_>> = (0..count).map(|number| deferred.get(&number).cloned()).collect();
        connector.inconsistent = tasks.is_none();
        connector.applied = tasks.is_some().then(|| connector.config.clone());
        connector.tasks = tasks.unwrap_or_default();
    }

    pub fn target(&self, name: &ConnectorName) -> TargetState {
        self.targets.get(name).copied().unwrap_or_default()
    }

    /// Everything that is to run somewhere.
    pub fn instances(&self) -> BTreeSet<Instance> {
        let mut all = BTreeSet::new();
        for (name, connector) in &self.connectors {
            all.insert(Instance::Connector(name.clone()));
            if self.target(name) != TargetState::Stopped {
                all.extend((0..).zip(&connector.tasks).map(|(number, _)| Instance::Task(name.task(number))));
            }
        }
        all
    }
}
