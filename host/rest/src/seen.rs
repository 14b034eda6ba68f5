//! The instances of a connector, with all that is known of each.

use std::collections::BTreeMap;

use bulkhead_herder::api::{ConnectorInfo, ReportedState};
use bulkhead_herder::{ClusterView, RestartView};
use bulkhead_model::Instance;

use crate::ports::{InstanceUsage, SandboxView};

/// The connector or one of its tasks.
#[derive(Debug)]
pub(crate) struct Seen<'a> {
    pub(crate) instance: Instance,
    /// None before any worker reported one.
    pub(crate) status: Option<&'a ReportedState>,
    restart: Option<&'a RestartView>,
    /// None if it doesn't run on this worker.
    pub(crate) usage: Option<InstanceUsage>,
}

impl Seen<'_> {
    /// Automatic restarts; none if the instance belongs to another worker.
    pub(crate) fn restarts(&self) -> Option<u32> {
        self.restart.map(|restart| restart.restarts).or_else(|| self.usage.as_ref().map(|_| 0))
    }

    /// When the next automatic restart is due, in milliseconds since 1970.
    pub(crate) fn next_restart(&self) -> Option<u64> {
        Some(self.restart?.next?.0)
    }

    pub(crate) fn last_error(&self) -> Option<&str> {
        Some(self.restart?.last_error.as_str())
    }
}

/// The connector first, then its tasks by number.
pub(crate) fn instances<'a>(
    view: &'a ClusterView,
    connector: &'a ConnectorInfo,
    sandbox: &'a dyn SandboxView,
) -> impl Iterator<Item = Seen<'a>> {
    let name = &connector.name;
    let statuses = view.statuses.get(name);
    let of_tasks: BTreeMap<_, _> = statuses.iter().flat_map(|statuses| &statuses.tasks).map(|(n, s)| (*n, s)).collect();
    let own = (Instance::Connector(name.clone()), statuses.map(|statuses| &statuses.connector));
    let tasks = connector.tasks.iter();
    let tasks = tasks.map(move |task| (Instance::Task(task.clone()), of_tasks.get(&task.number).copied()));
    std::iter::once(own).chain(tasks).map(|(instance, status)| {
        let (restart, usage) = (view.restarts.get(&instance), sandbox.usage(&instance));
        Seen { instance, status, restart, usage }
    })
}
