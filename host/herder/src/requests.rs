//! Requests: what is answered at once, and where the others go.

use bulkhead_model::{ConnectorName, TargetState};

use crate::Herder;
use crate::api::{Refusal, Reply, Request, RequestId};
use crate::changes::{Change, Store};
use crate::lifecycle::not_found;

impl Herder {
    pub(crate) fn request(&mut self, id: RequestId, request: Request) {
        self.open.insert(id);
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

    /// Whether this worker is the one to ask. What only an owner may do is looked at later.
    fn may_take(&self, request: &Request) -> Result<(), Refusal> {
        if self.ending.is_some() {
            return Err(shutting_down());
        }
        match request {
            Request::CreateConnector { .. }
            | Request::PutConfig { .. }
            | Request::PatchConfig { .. }
            | Request::DeleteConnector { .. }
            | Request::SetTargetState { state: TargetState::Stopped, .. }
            | Request::Restart(_)
            | Request::AlterOffsets { .. } => self.must_lead(),
            Request::PublishTasks { proof, .. } | Request::Fence { proof, .. } => {
                self.check_proof(proof)?;
                self.must_lead()
            }
            Request::Ping
            | Request::ConnectorInfo { .. }
            | Request::ConnectorConfig { .. }
            | Request::TaskInfos { .. }
            | Request::SetTargetState { .. }
            | Request::RestartConnector { .. }
            | Request::RestartTask { .. }
            | Request::Offsets { .. }
            | Request::ResetTopics { .. }
            | Request::ValidateConfig { .. }
            | Request::SetLoggerLevel { .. } => Ok(()),
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

pub(crate) fn shutting_down() -> Refusal {
    Refusal::Unavailable("The worker is shutting down".to_owned())
}

/// The name of a new connector, without the space around it as Java sees it.
fn trimmed(name: &ConnectorName) -> ConnectorName {
    ConnectorName::new(name.as_str().trim_matches(|c: char| c <= ' '))
}
