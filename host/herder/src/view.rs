//! The read side: what GETs are answered from, as of the herder's last step.

use std::collections::BTreeMap;
use std::sync::Arc;

use bulkhead_model::plugin::{PluginCatalog, PluginKind};
use bulkhead_model::{ConnectorName, Instance, RawConfig, TaskId};

use crate::Herder;
use crate::api::{
    ConnectorInfo, ConnectorKind, ConnectorStatus, Millis, Refusal, Reply, ReportedState, Status, TaskInfo,
};
use crate::membership::Membership;
use crate::protocol::ConnectProtocol;
use crate::validate::{ConfigKeyInfo, plugin_keys};

/// A snapshot; cheap to clone behind its `Arc`.
#[derive(Clone, Debug, Default)]
pub struct ClusterView {
    pub plugins: Arc<PluginCatalog>,
    pub connectors: BTreeMap<ConnectorName, Arc<ConnectorView>>,
    /// Statuses outlive their connector for a moment, so they are kept apart.
    pub statuses: BTreeMap<ConnectorName, Arc<ConnectorStatus>>,
    /// Instances of this worker that failed, and what comes of it.
    pub restarts: BTreeMap<Instance, RestartView>,
    /// The worker's place in its group; as at first, in a standalone worker.
    pub group: GroupView,
}

/// What automatic restarts have come to for an instance of this worker (`restart.policy`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartView {
    /// Automatic restarts since the instance last ran quietly for a while.
    pub restarts: u32,
    /// When the next one is due; none if there is none.
    pub next: Option<Millis>,
    /// First line of the last failure.
    pub last_error: String,
}

/// What is known of the group of workers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupView {
    /// Of the last rebalance that this worker took part in.
    pub generation: Option<i32>,
    pub protocol: Option<ConnectProtocol>,
    /// URL of the leader, ending in a slash.
    pub leader: Option<String>,
    /// This worker is the leader.
    pub leads: bool,
    /// Completed rebalances since the worker started.
    pub rebalances: u64,
    /// All that is assigned here has been started, and no rebalance is under way or expected.
    pub settled: bool,
}

/// One connector.
#[derive(Clone, Debug)]
pub struct ConnectorView {
    pub info: ConnectorInfo,
    /// Topics in use (KIP-558).
    pub topics: Vec<String>,
}

impl ClusterView {
    pub fn task_status(&self, task: &TaskId) -> Option<&ReportedState> {
        let status = self.statuses.get(&task.connector)?;
        status.tasks.iter().find(|(number, _)| *number == task.number).map(|(_, state)| state)
    }

    /// The keys of a plugin as `GET /connector-plugins/{plugin}/config` lists them: of a connector its
    /// own, then those that every connector has. Of several versions the latest that is wanted counts (KIP-891).
    pub fn plugin_keys(&self, name: &str, wanted: Option<&str>) -> Result<Vec<ConfigKeyInfo>, Refusal> {
        plugin_keys(&self.plugins, name, wanted)
    }
}

impl Herder {
    /// Makes anew what was touched. Whoever holds the former snapshot keeps it.
    pub(crate) fn refresh_view(&mut self) {
        let touched = std::mem::take(&mut self.touched);
        let same_plugins = Arc::ptr_eq(&self.plugins, &self.view.plugins);
        let restarts = self.auto_restarts.view();
        let group = self.membership.as_ref().map(Membership::view).unwrap_or_default();
        if touched.is_empty() && same_plugins && restarts.is_none() && group == self.view.group {
            return;
        }
        let mut view = ClusterView::clone(&self.view);
        view.group = group;
        if let Some(restarts) = restarts {
            view.restarts = restarts;
        }
        view.plugins = Arc::clone(&self.plugins);
        for name in touched {
            set(&mut view.connectors, &name, self.connector_view(&name));
            set(&mut view.statuses, &name, self.connector_status(&name));
        }
        self.view = Arc::new(view);
    }

    fn connector_view(&self, name: &ConnectorName) -> Option<ConnectorView> {
        let info = self.connector_info(name)?;
        Some(ConnectorView { info, topics: self.statuses.topics(name).cloned().collect() })
    }

    pub(crate) fn connector_info(&self, name: &ConnectorName) -> Option<ConnectorInfo> {
        let connector = self.cluster.get(name)?;
        Some(ConnectorInfo {
            name: name.clone(),
            config: connector.config.clone(),
            tasks: connector.task_numbers().map(|number| name.task(number)).collect(),
            kind: self.kind(name),
        })
    }

    pub(crate) fn task_infos(&self, name: &ConnectorName) -> Option<Reply> {
        let connector = self.cluster.get(name)?;
        let tasks = connector.task_numbers().zip(&connector.tasks.configs);
        Some(Reply::Tasks(
            tasks.map(|(number, config)| TaskInfo { id: name.task(number), config: config.clone() }).collect(),
        ))
    }

    /// Unknown if the connector isn't configured or its class isn't installed.
    pub(crate) fn kind(&self, name: &ConnectorName) -> ConnectorKind {
        let config = self.cluster.get(name).map(|connector| &connector.config);
        let in_any_version = |config: &RawConfig| self.plugins.connector(config.connector_class()?).ok();
        let plugin =
            config.and_then(|config| self.plugins.connector_of(config).ok().or_else(|| in_any_version(config)));
        match plugin.map(|plugin| plugin.kind) {
            Some(PluginKind::Source) => ConnectorKind::Source,
            Some(PluginKind::Sink) => ConnectorKind::Sink,
            None
            | Some(
                PluginKind::Transformation
                | PluginKind::Predicate
                | PluginKind::Converter
                | PluginKind::HeaderConverter,
            ) => ConnectorKind::Unknown,
        }
    }
}

fn set<V>(map: &mut BTreeMap<ConnectorName, Arc<V>>, name: &ConnectorName, value: Option<V>) {
    match value {
        Some(value) => map.insert(name.clone(), Arc::new(value)),
        None => map.remove(name),
    };
}

/// A status as REST shows it.
pub(crate) fn reported(status: &Status) -> ReportedState {
    ReportedState {
        state: status.state.name(),
        worker: status.worker.clone(),
        trace: status.state.trace().map(str::to_owned),
        version: status.version.clone(),
    }
}
