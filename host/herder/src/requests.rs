//! Requests: what is answered at once, and where the others go.

use bulkhead_model::ConnectorName;

use crate::Herder;
use crate::api::{Refusal, Reply, Request, RequestId};
use crate::changes::{Change, Store};
use crate::lifecycle::not_found;

impl Herder {
    pub(crate) fn request(&mut self, id: RequestId, request: Request) {
        match request {
            Request::Ping => self.reply(id, Ok(Reply::Done)),
            Request::CreateConnector { name, config, initial_state, offsets: _ } => {
                self.store(id, &trimmed(&name), config, Store::Create { initial_state });
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
            Request::PublishTasks { .. } | Request::Fence { .. } | Request::SetLoggerLevel { .. } => {
                self.reply(id, Err(Refusal::BadRequest("only workers of a cluster take this request".to_owned())));
            }
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

/// The name of a new connector, without the space around it as Java sees it.
fn trimmed(name: &ConnectorName) -> ConnectorName {
    ConnectorName::new(name.as_str().trim_matches(|c: char| c <= ' '))
}
