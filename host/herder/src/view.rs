//! The read side: what GETs are answered from, as of the herder's last step.

use std::collections::BTreeMap;
use std::sync::Arc;

use bulkhead_model::plugin::PluginCatalog;
use bulkhead_model::{ConnectorName, TaskId};

use crate::api::{ConnectorInfo, ConnectorStatus, ReportedState};

/// A snapshot; cheap to clone behind its `Arc`.
#[derive(Clone, Debug, Default)]
pub struct ClusterView {
    pub plugins: Arc<PluginCatalog>,
    pub connectors: BTreeMap<ConnectorName, Arc<ConnectorView>>,
    /// Statuses outlive their connector for a moment, so they are kept apart.
    pub statuses: BTreeMap<ConnectorName, Arc<ConnectorStatus>>,
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
}
