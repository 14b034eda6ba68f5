//! Offsets: read in any state, altered and reset while the connector is stopped (KIP-875).

use bulkhead_model::offset::OffsetEntry;
use bulkhead_model::work::{Command, OffsetsError, OffsetsOutcome};
use bulkhead_model::{ConnectorName, TargetState};

use crate::Herder;
use crate::api::{Refusal, Reply, RequestId};
use crate::changes::{Change, Step};
use crate::lifecycle::not_found;
use crate::questions::Question;

impl Herder {
    pub(crate) fn read_offsets(&mut self, id: RequestId, name: ConnectorName) {
        let Some(connector) = self.cluster.get(&name) else {
            return self.reply(id, Err(not_found(&name)));
        };
        let config = connector.config.clone();
        let token = self.questions.ask(Question::OffsetsRead(id));
        self.command(Command::ReadOffsets { token, connector: name, config });
    }

    pub(crate) fn offsets_read(&mut self, id: RequestId, answer: Result<Vec<OffsetEntry>, OffsetsError>) {
        self.reply(id, answer.map(Reply::Offsets).map_err(Refusal::from));
    }

    pub(crate) fn alter_offsets(&mut self, id: RequestId, name: &ConnectorName, offsets: Option<Vec<OffsetEntry>>) {
        if offsets.as_ref().is_some_and(Vec::is_empty) {
            let message = "The field \"offsets\" is missing or empty; the offsets of a connector are reset with DELETE";
            return self.reply(id, Err(Refusal::BadRequest(message.to_owned())));
        }
        self.submit(name, Change::AlterOffsets { id, offsets });
    }

    pub(crate) fn begin_alter_offsets(
        &mut self,
        name: &ConnectorName,
        id: RequestId,
        offsets: Option<Vec<OffsetEntry>>,
    ) {
        let Some(connector) = self.cluster.get(name) else {
            return self.reply(id, Err(not_found(name)));
        };
        if let Err(refusal) = self.must_be_settled() {
            return self.reply(id, Err(refusal));
        }
        if self.cluster.target(name) != TargetState::Stopped || !connector.tasks.configs.is_empty() {
            let message = "Connectors must be in the STOPPED state before their offsets can be modified. This can be \
                           done for the specified connector by issuing a 'PUT' request to the \
                           '/connectors/{name}/stop' endpoint";
            return self.reply(id, Err(Refusal::BadRequest(message.replace("{name}", name.as_str()))));
        }
        self.changes.enter(name, Step::AwaitingEndOfTasks { id, offsets });
        self.go_on_altering_offsets(name);
    }

    /// Alters the offsets once no task is left that could commit its own over them.
    pub(crate) fn go_on_altering_offsets(&mut self, name: &ConnectorName) {
        let awaited = matches!(self.changes.present(name), Some(Step::AwaitingEndOfTasks { .. }));
        if !awaited || self.instances.has_live_tasks(name) {
            return;
        }
        let Some(Step::AwaitingEndOfTasks { id, offsets }) = self.changes.leave(name) else {
            return;
        };
        let Some(connector) = self.cluster.get(name) else {
            self.reply(id, Err(not_found(name)));
            return self.advance(name);
        };
        let config = connector.config.clone();
        self.changes.enter(name, Step::AlteringOffsets { id, reset: offsets.is_none() });
        let token = self.questions.ask(Question::OffsetsAltered(name.clone()));
        self.command(Command::AlterOffsets { token, connector: name.clone(), config, offsets });
    }

    pub(crate) fn offsets_altered(&mut self, name: &ConnectorName, answer: Result<OffsetsOutcome, OffsetsError>) {
        let Some(Step::AlteringOffsets { id, reset }) = self.changes.leave(name) else {
            return;
        };
        let answer = answer.map(|outcome| Reply::OffsetsAltered { outcome, reset });
        self.reply(id, answer.map_err(Refusal::from));
        self.advance(name);
    }
}

impl From<OffsetsError> for Refusal {
    fn from(error: OffsetsError) -> Self {
        match error {
            OffsetsError::Refused(message) => Self::BadRequest(message),
            OffsetsError::Failed(message) => Self::Failed(message),
        }
    }
}

#[cfg(test)]
mod tests;
