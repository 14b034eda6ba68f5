//! Create, put, patch, delete, pause, resume and stop.

use bulkhead_model::work::{Command, OffsetsError, OffsetsOutcome};
use bulkhead_model::{ConfigPatch, ConnectorName, RawConfig, TargetState};

use crate::Herder;
use crate::api::{ConfigRecord, Refusal, Reply, RequestId};
use crate::changes::{Change, Step, Store, Then};
use crate::questions::Question;
use crate::validate::{ConfigInfos, Preparation};
use crate::waiting::Wait;

impl Herder {
    /// Takes a connector configuration from POST, PUT or PATCH.
    pub(crate) fn store(&mut self, id: RequestId, name: &ConnectorName, config: ConfigPatch, how: Store) {
        let config = match how {
            Store::Create { .. } | Store::Put => with_name(name, config),
            // PATCH may change the name inside the configuration, as in Connect.
            Store::Patch => Ok(config),
        };
        match config {
            Ok(config) => self.submit(name, Change::Store { id, config, how }),
            Err(refusal) => self.reply(id, Err(refusal)),
        }
    }

    /// A change's turn has come. It is refused, or ends up as a step that is waited for.
    pub(crate) fn begin(&mut self, name: &ConnectorName, change: Change) {
        match change {
            Change::Store { id, config, how } => self.begin_store(name, id, config, how),
            Change::Delete { id } => self.begin_delete(name, id),
            Change::SetTarget { id, state } => self.begin_set_target(name, id, state),
            Change::Restart { id, request } => self.begin_restart(name, id, request),
            Change::AlterOffsets { id, offsets } => self.begin_alter_offsets(name, id, offsets),
            Change::PublishTasks { revision, configs } => self.begin_publish_tasks(name, revision, configs),
            Change::StoreTasks { id, configs } => self.begin_store_tasks(name, id, configs),
            Change::DropTasks => self.begin_drop_tasks(name),
        }
    }

    fn begin_store(&mut self, name: &ConnectorName, id: RequestId, config: ConfigPatch, how: Store) {
        let config = match how {
            Store::Create { .. } | Store::Put => config,
            Store::Patch => match self.cluster.get(name) {
                Some(connector) => patched(&connector.config, config),
                None => return self.reply(id, Err(not_found(name))),
            },
        };
        match self.prepare_validation(config) {
            Ok(Preparation::Ask(submission)) => {
                self.changes.enter(name, Step::Validating { id, how });
                self.ask_validation(name, submission);
            }
            Ok(Preparation::Answer(infos)) => self.reply(id, Err(invalid(&infos))),
            Err(refusal) => self.reply(id, Err(refusal)),
        }
    }

    /// The worker's verdict is here.
    pub(crate) fn validated(
        &mut self,
        name: &ConnectorName,
        config: &ConfigPatch,
        verdict: Result<ConfigInfos, Refusal>,
    ) {
        let Some(Step::Validating { id, how }) = self.changes.leave(name) else {
            return;
        };
        match verdict {
            Ok(infos) if infos.error_count == 0 => self.write_connector(name, id, complete(config), how),
            Ok(infos) => self.reply(id, Err(invalid(&infos))),
            Err(refusal) => self.reply(id, Err(refusal)),
        }
        self.advance(name);
    }

    fn write_connector(&mut self, name: &ConnectorName, id: RequestId, config: RawConfig, how: Store) {
        if let Err(refusal) = self.must_lead() {
            return self.reply(id, Err(refusal));
        }
        match how {
            Store::Create { .. } if self.cluster.contains(name) => {
                self.reply(id, Err(Refusal::Exists(format!("Connector {name} already exists"))));
            }
            Store::Create { initial_state, offsets: Some(offsets) } => {
                let token = self.questions.ask(Question::OffsetsGiven(name.clone()));
                self.changes.enter(name, Step::GivingOffsets { id, config: config.clone(), initial_state });
                self.command(Command::AlterOffsets { token, connector: name.clone(), config, offsets: Some(offsets) });
            }
            Store::Create { initial_state, offsets: None } => {
                self.append_connector(name, id, config, initial_state);
            }
            Store::Put | Store::Patch => self.append_connector(name, id, config, None),
        }
    }

    /// A connector that is to be created has its offsets, or can't have them.
    pub(crate) fn offsets_given(&mut self, name: &ConnectorName, answer: Result<OffsetsOutcome, OffsetsError>) {
        let Some(Step::GivingOffsets { id, config, initial_state }) = self.changes.leave(name) else {
            return;
        };
        match answer {
            Ok(_) => self.append_connector(name, id, config, initial_state),
            Err(error) => self.reply(id, Err(error.into())),
        }
        self.advance(name);
    }

    fn append_connector(
        &mut self,
        name: &ConnectorName,
        id: RequestId,
        config: RawConfig,
        initial_state: Option<TargetState>,
    ) {
        let exists = self.cluster.contains(name);
        let target = initial_state.map(|state| ConfigRecord::TargetState { name: name.clone(), state: Some(state) });
        let connector = ConfigRecord::Connector { name: name.clone(), config: Some(config) };
        let no_tasks = self.cluster.has_old_tasks(name).then(|| ConfigRecord::Commit { name: name.clone(), tasks: 0 });
        let records = no_tasks.into_iter().chain(target).chain([connector]).collect();
        self.write(name, [records], Then::Stored { id, created: !exists });
    }

    /// A configuration is in the log: the answer goes out now, or when its effect is there.
    pub(crate) fn stored(&mut self, id: RequestId, name: &ConnectorName, created: bool) {
        if self.settings.mode.answers_after_the_effect() {
            self.wait(id, Wait::Settled { name: name.clone(), created });
        } else {
            self.reply_connector(id, name, created);
        }
    }

    pub(crate) fn reply_connector(&mut self, id: RequestId, name: &ConnectorName, created: bool) {
        let answer = match self.connector_info(name) {
            Some(info) if created => Ok(Reply::Created(info)),
            Some(info) => Ok(Reply::Connector(info)),
            None => Err(Refusal::Conflict(format!("Connector {name} was deleted meanwhile"))),
        };
        self.reply(id, answer);
    }

    fn begin_delete(&mut self, name: &ConnectorName, id: RequestId) {
        if !self.cluster.contains(name) {
            return self.reply(id, Err(not_found(name)));
        }
        let connector = ConfigRecord::Connector { name: name.clone(), config: None };
        let target = ConfigRecord::TargetState { name: name.clone(), state: None };
        self.write(name, [vec![connector, target]], Then::Done { id });
    }

    fn begin_set_target(&mut self, name: &ConnectorName, id: RequestId, state: TargetState) {
        if !self.cluster.contains(name) {
            return self.reply(id, Err(Refusal::NotFound(format!("Unknown connector {name}"))));
        }
        let target = ConfigRecord::TargetState { name: name.clone(), state: Some(state) };
        let no_tasks = ConfigRecord::Commit { name: name.clone(), tasks: 0 };
        let batches = match state {
            TargetState::Started | TargetState::Paused => vec![vec![target]],
            // Only the first is the leader's privilege.
            TargetState::Stopped if self.claims() => vec![vec![no_tasks], vec![target]],
            TargetState::Stopped => vec![vec![no_tasks, target]],
        };
        self.write(name, batches, Then::Done { id });
    }
}

pub(crate) fn not_found(name: &ConnectorName) -> Refusal {
    Refusal::NotFound(format!("Connector {name} not found"))
}

/// The configuration with its name, which it may leave out but not contradict.
fn with_name(name: &ConnectorName, mut config: ConfigPatch) -> Result<ConfigPatch, Refusal> {
    match config.get("name") {
        Some(Some(other)) if other != name.as_str() => Err(Refusal::BadRequest(format!(
            "The name {other} in the configuration is not the name {name} in the request"
        ))),
        Some(Some(_)) => Ok(config),
        Some(None) | None => {
            config.insert("name".to_owned(), Some(name.as_str().to_owned()));
            Ok(config)
        }
    }
}

/// Values replace or add, nulls remove (KIP-477).
fn patched(config: &RawConfig, patch: ConfigPatch) -> ConfigPatch {
    let mut result: ConfigPatch = config.iter().map(|(key, value)| (key.to_owned(), Some(value.to_owned()))).collect();
    for (key, value) in patch {
        match value {
            Some(value) => result.insert(key, Some(value)),
            None => result.shift_remove(&key),
        };
    }
    result
}

/// A configuration that passed validation and so has no nulls.
fn complete(config: &ConfigPatch) -> RawConfig {
    config.iter().filter_map(|(key, value)| Some((key.as_str(), value.as_deref()?))).collect()
}

/// All that is wrong, a line each, in the form Connect gives it.
fn invalid(infos: &ConfigInfos) -> Refusal {
    let mut message =
        format!("Connector configuration is invalid and contains the following {} error(s):", infos.error_count);
    let values = infos.configs.iter().filter_map(|config| config.value.as_ref());
    for error in values.flat_map(|value| &value.errors) {
        message.push('\n');
        message.push_str(error);
    }
    message.push_str("\nThe endpoint `/connector-plugins/{connectorType}/config/validate` gives this list as well");
    Refusal::BadRequest(message)
}

#[cfg(test)]
mod tests;
