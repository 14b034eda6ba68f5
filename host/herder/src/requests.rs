//! Requests: what is answered at once, and where the others go.

use bulkhead_model::{ConnectorName, TargetState};

use crate::Herder;
use crate::api::{Refusal, Reply, Request, RequestId};
use crate::changes::{Change, Store};
use crate::lifecycle::not_found;

impl Herder {
    pub(crate) fn request(&mut self, id: RequestId, request: Request) {
        self.open.insert(id);
        if self.waits_for_a_leader(&request) {
            return self.early.push((id, request));
        }
        if let Err(refusal) = self.may_take(&request) {
            return self.reply(id, Err(refusal));
        }
        match request {
            Request::Ping => self.reply(id, Ok(Reply::Done)),
            Request::CreateConnector { name, config, initial_state, offsets } => {
                self.store(id, &trimmed(&name), config, Store::Create { initial_state, offsets });
            }
            Request::PutConfig { name, config } => self.store(id, &name, config, Store::Put),
            Request::PatchConfig { name, patch } => self.store(id, &name, patch, Store::Patch),
            Request::DeleteConnector { name } => self.submit(&name, Change::Delete { id }),
            Request::ConnectorInfo { name } => {
                self.read(id, &name, |herder| herder.connector_info(&name).map(Reply::Connector))
            }
            Request::ConnectorConfig { name } => self.read(id, &name, |herder| herder.connector_config(&name)),
            Request::TaskInfos { name } => self.read(id, &name, |herder| herder.task_infos(&name)),
            Request::SetTargetState { name, state } => self.submit(&name, Change::SetTarget { id, state }),
            Request::RestartConnector { name } => self.restart_connector(id, name),
            Request::Restart(request) => {
                let name = request.connector.clone();
                self.submit(&name, Change::Restart { id, request });
            }
            Request::RestartTask { id: task } => self.restart_task(id, task),
            Request::Offsets { name } => self.read_offsets(id, name),
            Request::AlterOffsets { name, offsets } => self.alter_offsets(id, &name, offsets),
            Request::ResetTopics { name } => {
                self.forget_topics(&name);
                self.reply(id, Ok(Reply::Done));
            }
            Request::ValidateConfig { config } => self.validate_config(id, config),
            Request::PublishTasks { name, configs, .. } => self.submit(&name, Change::StoreTasks { id, configs }),
            Request::Fence { name, .. } => self.fence(id, &name),
            Request::SetLoggerLevel { logger, level } => self.set_level(id, logger, level),
        }
    }

    /// While nobody leads the group, what only a leader may do waits until somebody does.
    fn waits_for_a_leader(&self, request: &Request) -> bool {
        self.nobody_leads() && self.ending.is_none() && is_for_leaders(request)
    }

    fn nobody_leads(&self) -> bool {
        self.membership.as_ref().is_some_and(|membership| membership.leader_url.is_none())
    }

    /// Takes what waited for a leader.
    pub(crate) fn take_early_requests(&mut self) {
        if self.nobody_leads() {
            return;
        }
        for (id, request) in std::mem::take(&mut self.early) {
            self.request(id, request);
        }
    }

    /// Whether this worker is the one to ask. What only an owner may do is looked at later.
    fn may_take(&self, request: &Request) -> Result<(), Refusal> {
        if self.ending.is_some() {
            return Err(shutting_down());
        }
        if let Request::PublishTasks { proof, .. } | Request::Fence { proof, .. } = request {
            self.check_proof(proof)?;
        }
        match is_for_leaders(request) {
            true => self.must_lead(),
            false => Ok(()),
        }
    }

    fn read(&mut self, id: RequestId, name: &ConnectorName, read: impl FnOnce(&Self) -> Option<Reply>) {
        let answer: Result<Reply, Refusal> = read(self).ok_or_else(|| not_found(name));
        self.reply(id, answer);
    }

    fn connector_config(&self, name: &ConnectorName) -> Option<Reply> {
        Some(Reply::Config(self.cluster.get(name)?.config.clone()))
    }
}

fn is_for_leaders(request: &Request) -> bool {
    match request {
        Request::CreateConnector { .. }
        | Request::PutConfig { .. }
        | Request::PatchConfig { .. }
        | Request::DeleteConnector { .. }
        | Request::SetTargetState { state: TargetState::Stopped, .. }
        | Request::Restart(_)
        | Request::AlterOffsets { .. }
        | Request::PublishTasks { .. }
        | Request::Fence { .. } => true,
        Request::Ping
        | Request::ConnectorInfo { .. }
        | Request::ConnectorConfig { .. }
        | Request::TaskInfos { .. }
        | Request::SetTargetState { state: TargetState::Started | TargetState::Paused, .. }
        | Request::RestartConnector { .. }
        | Request::RestartTask { .. }
        | Request::Offsets { .. }
        | Request::ResetTopics { .. }
        | Request::ValidateConfig { .. }
        | Request::SetLoggerLevel { .. } => false,
    }
}

pub(crate) fn shutting_down() -> Refusal {
    Refusal::Unavailable("The worker is shutting down".to_owned())
}

/// The name of a new connector, without the space around it as Java sees it.
fn trimmed(name: &ConnectorName) -> ConnectorName {
    ConnectorName::new(name.as_str().trim_matches(|c: char| c <= ' '))
}
