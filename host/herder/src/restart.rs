//! Restarts of connectors and tasks (KIP-745).

use std::collections::BTreeMap;

use bulkhead_model::work::Run;
use bulkhead_model::{ConnectorName, Instance, TaskId};

use crate::Herder;
use crate::api::{ConfigRecord, ConnectorStatus, Millis, Refusal, RequestId, RestartRequest, Status};
use crate::changes::Then;
use crate::statuses::Statuses;
use crate::view::reported;
use crate::waiting::Wait;

/// Which instances a request is about, by the states they are in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RestartPlan {
    pub(crate) connector: bool,
    pub(crate) tasks: Vec<u32>,
}

/// Requests that were read and not carried out yet, one for each connector.
#[derive(Debug, Default)]
pub(crate) struct PendingRestarts(BTreeMap<ConnectorName, RestartRequest>);

impl PendingRestarts {
    /// Of two requests the one that restarts more stays.
    fn add(&mut self, request: RestartRequest) {
        let stays = self.0.get(&request.connector).is_some_and(|present| present.rank() >= request.rank());
        if !stays {
            self.0.insert(request.connector.clone(), request);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl RestartRequest {
    /// How much it restarts.
    fn rank(&self) -> u8 {
        match (self.only_failed, self.include_tasks) {
            (true, false) => 0,
            (true, true) => 1,
            (false, false) => 2,
            (false, true) => 3,
        }
    }

    fn concerns(&self, status: &Status) -> bool {
        !self.only_failed || status.state.is_failed()
    }
}

impl RestartPlan {
    /// None if nothing is known of the connector's state.
    pub(crate) fn new(request: &RestartRequest, statuses: &Statuses) -> Option<Self> {
        let connector = request.concerns(statuses.connector(&request.connector)?);
        let tasks =
            statuses.tasks(&request.connector).filter(|(_, status)| request.include_tasks && request.concerns(status));
        Some(Self { connector, tasks: tasks.map(|(number, _)| number).collect() })
    }

    fn instances(&self, name: &ConnectorName) -> impl Iterator<Item = Instance> {
        let connector = self.connector.then(|| Instance::Connector(name.clone()));
        connector.into_iter().chain(self.tasks.iter().map(|&number| Instance::Task(name.task(number))))
    }

    /// Present states, traces included, with RESTARTING for what will be restarted.
    fn mark(&self, mut status: ConnectorStatus) -> ConnectorStatus {
        const RESTARTING: &str = "RESTARTING";
        if self.connector {
            status.connector.state = RESTARTING;
        }
        for (number, task) in &mut status.tasks {
            if self.tasks.contains(number) {
                task.state = RESTARTING;
            }
        }
        status
    }
}

impl Herder {
    /// A restart with flags: it is written, then every worker acts on what is its own.
    pub(crate) fn begin_restart(&mut self, name: &ConnectorName, id: RequestId, request: RestartRequest) {
        if !self.cluster.contains(name) {
            return self.reply(id, Err(unknown_connector(name)));
        }
        if let Err(refusal) = self.must_be_settled() {
            return self.reply(id, Err(refusal));
        }
        let plan = RestartPlan::new(&request, &self.statuses);
        let Some((plan, status)) = plan.zip(self.connector_status(name)) else {
            return self.reply(id, Err(Refusal::NotFound(format!("Status for connector {name} not found"))));
        };
        let then = Then::Restarting { id, status: plan.mark(status) };
        self.write(name, [vec![ConfigRecord::Restart(request)]], then);
    }

    /// A restart request was read from the log. Those from before this worker came up are history.
    pub(crate) fn restart_requested(&mut self, request: RestartRequest) {
        if self.is_up() {
            self.pending_restarts.add(request);
        }
    }

    /// When pending restarts may be carried out: not beside a change of what runs here.
    pub(crate) fn restarts_due(&self) -> Option<Millis> {
        (!self.pending_restarts.is_empty() && self.is_settled()).then_some(self.now)
    }

    /// Carries out what was asked for, by the present states and of what is this worker's at present.
    pub(crate) fn run_pending_restarts(&mut self) {
        if self.restarts_due().is_none() {
            return;
        }
        for request in std::mem::take(&mut self.pending_restarts).0.into_values() {
            let Some(plan) = RestartPlan::new(&request, &self.statuses) else {
                continue;
            };
            for instance in plan.instances(&request.connector) {
                self.restart_by_hand(&instance);
            }
        }
    }

    /// An operator wants it: what automatic restarts have come to is forgotten.
    fn restart_by_hand(&mut self, instance: &Instance) {
        self.auto_restarts.forget(instance);
        self.restart_instance(instance);
    }

    /// A restart of the connector alone, answered when it is up again.
    pub(crate) fn restart_connector(&mut self, id: RequestId, name: ConnectorName) {
        if !self.cluster.contains(&name) {
            return self.reply(id, Err(unknown_connector(&name)));
        }
        self.restart_own(id, &Instance::Connector(name.clone()), |after| Wait::ConnectorRestarted { name, after });
    }

    /// A restart of one task, answered when it is on its way.
    pub(crate) fn restart_task(&mut self, id: RequestId, task: TaskId) {
        let Some(connector) = self.cluster.get(&task.connector) else {
            return self.reply(id, Err(unknown_connector(&task.connector)));
        };
        if !connector.has_task(task.number) {
            return self.reply(id, Err(Refusal::NotFound(format!("Unknown task: {task}"))));
        }
        self.restart_own(id, &Instance::Task(task.clone()), |after| Wait::TaskRestarted { task, after });
    }

    /// Restarts an instance of this worker; a run later than the present ones is waited for.
    fn restart_own(&mut self, id: RequestId, instance: &Instance, wait: impl FnOnce(Run) -> Wait) {
        if let Err(refusal) = self.must_be_settled().and_then(|()| self.must_own(instance)) {
            return self.reply(id, Err(refusal));
        }
        let after = self.instances.last_run();
        self.restart_by_hand(instance);
        self.wait(id, wait(after));
    }

    pub(crate) fn restart_instance(&mut self, instance: &Instance) {
        let actions = self.instances.restart(instance);
        self.perform(instance, actions);
    }

    pub(crate) fn connector_status(&self, name: &ConnectorName) -> Option<ConnectorStatus> {
        let connector = self.statuses.connector(name)?;
        let tasks = self.statuses.tasks(name).map(|(number, status)| (number, reported(status)));
        Some(ConnectorStatus {
            name: name.clone(),
            kind: self.kind(name),
            connector: reported(connector),
            tasks: tasks.collect(),
        })
    }
}

fn unknown_connector(name: &ConnectorName) -> Refusal {
    Refusal::NotFound(format!("Unknown connector: {name}"))
}

#[cfg(test)]
mod tests;
