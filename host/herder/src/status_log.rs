//! Writing to the status log, and what comes back from it.

use std::collections::{BTreeMap, BTreeSet};

use bulkhead_model::work::Command;
use bulkhead_model::{ConnectorName, Instance, State};

use crate::Herder;
use crate::api::{Effect, Millis, Status, StatusRecord, Token};
use crate::membership::Membership;
use crate::questions::Question;
use crate::statuses::StatusKey;

/// How long a status that could not be written waits for its next try.
const RETRY_MILLIS: u64 = 1_000;

/// Keeps trying until the newest status of everything is written.
#[derive(Debug, Default)]
pub(crate) struct StatusWrites {
    /// The last append for each key that isn't acknowledged.
    newest: BTreeMap<StatusKey, Token>,
    failed: BTreeMap<StatusKey, (Millis, StatusRecord)>,
    /// Instances of which others said something while this worker could not tell whether they are its own.
    disputed: BTreeSet<Instance>,
}

impl StatusWrites {
    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        self.failed.values().map(|(due, _)| *due).min()
    }
}

impl Herder {
    pub(crate) fn report(&mut self, instance: &Instance, state: State, version: Option<String>) {
        let version = match state {
            State::Running | State::Paused | State::Stopped | State::Failed { .. } => {
                version.or_else(|| self.plugin_version(instance.connector()))
            }
            State::Unassigned | State::Restarting => None,
        };
        let generation = self.membership.as_ref().map_or(0, Membership::status_generation);
        let status = Status { state, worker: self.settings.worker.clone(), generation, version };
        if self.may_report(instance, &status) {
            self.append_status(StatusRecord::of(instance, Some(status)));
        }
    }

    /// The last words of an instance must not hide what its next owner says. Whoever owns an instance may
    /// say anything, also when generations began anew because the group was deleted.
    fn may_report(&self, instance: &Instance, status: &Status) -> bool {
        let is_last_word = matches!(status.state, State::Unassigned | State::Failed { .. });
        if !is_last_word || self.assignment.includes(instance) {
            return true;
        }
        let present = self.statuses.of(instance);
        present.is_none_or(|present| present.worker == status.worker || present.generation <= status.generation)
    }

    /// Whether a status of it is on its way into the log.
    pub(crate) fn is_being_reported(&self, instance: &Instance) -> bool {
        self.status_writes.newest.contains_key(&StatusKey::Instance(instance.clone()))
    }

    pub(crate) fn is_reporting(&self) -> bool {
        !self.status_writes.newest.is_empty()
    }

    pub(crate) fn forget_status(&mut self, instance: &Instance) {
        self.append_status(StatusRecord::of(instance, None));
    }

    pub(crate) fn append_status(&mut self, record: StatusRecord) {
        let key = record.key();
        let token = self.questions.ask(Question::StatusAppend(record.clone()));
        self.status_writes.failed.remove(&key);
        self.status_writes.newest.insert(key, token);
        self.effects.push(Effect::AppendStatus { token, record });
    }

    pub(crate) fn status_appended(&mut self, token: Token, record: StatusRecord, outcome: Result<(), String>) {
        let key = record.key();
        if self.status_writes.newest.get(&key) != Some(&token) {
            return;
        }
        self.status_writes.newest.remove(&key);
        let Err(error) = outcome else {
            return;
        };
        tracing::warn!(connector = %key.connector(), error, "A status could not be written; trying again.");
        self.status_writes.failed.insert(key, (self.now.plus(RETRY_MILLIS), record));
    }

    pub(crate) fn retry_statuses(&mut self) {
        let now = self.now;
        let due: Vec<_> = self.status_writes.failed.extract_if(.., |_, (due, _)| *due <= now).collect();
        for (_, (_, record)) in due {
            if self.is_still_true(&record) {
                self.append_status(record);
            }
        }
    }

    /// Whether a status that could not be written is still worth it: others may have spoken since.
    fn is_still_true(&self, record: &StatusRecord) -> bool {
        match (record.key(), record.status()) {
            (StatusKey::Instance(instance), Some(status)) => self.may_report(&instance, status),
            // What was removed may have come again.
            (StatusKey::Instance(instance), None) => !self.cluster.has(&instance),
            (StatusKey::Topic(..), _) => true,
        }
    }

    pub(crate) fn status_record(&mut self, record: &StatusRecord) {
        self.statuses.apply(record);
        let key = record.key();
        self.touch(key.connector());
        if let StatusRecord::Topic { connector, used: false, .. } = record
            && self.instances.has_live_tasks(connector)
        {
            self.command(Command::ForgetTopics { connector: connector.clone() });
        }
        let Some(membership) = &self.membership else {
            return;
        };
        if !membership.may_start() {
            if let StatusKey::Instance(instance) = key
                && self.assignment.includes(&instance)
                && record.status().is_none_or(|status| status.worker != self.settings.worker)
            {
                self.status_writes.disputed.insert(instance);
            }
            return;
        }
        // Of two workers that both believe to own it, the one that came later has the last word.
        let is_older = |status: &Status| {
            let generation = i64::try_from(status.generation).unwrap_or(i64::MAX);
            membership.generation.is_some_and(|own| generation < i64::from(own))
        };
        match (key, record.status()) {
            (StatusKey::Instance(instance), Some(said)) if is_older(said) => {
                self.contradict(&instance, said);
                self.clean_up_status(&instance);
            }
            // It was stopped elsewhere before it was configured anew and came here.
            (StatusKey::Instance(instance), None) => self.insist(&instance),
            (StatusKey::Instance(_) | StatusKey::Topic(..), _) => {}
        }
    }

    /// Others may have taken this worker for dead, and said so of what it runs or given it to others for a
    /// while.
    pub(crate) fn report_found(&mut self) {
        for instance in self.assignment.instances() {
            if let Some(said) = self.statuses.of(&instance).cloned() {
                self.contradict(&instance, &said);
            }
        }
        for instance in std::mem::take(&mut self.status_writes.disputed) {
            self.insist(&instance);
        }
    }

    /// Says again what is the state of an instance of this worker, if the log says something else. Also if
    /// it is a farewell that came too late to be believed here: whoever reads the log anew finds it last.
    fn contradict(&mut self, instance: &Instance, said: &Status) {
        let is_so = self.instances.state(instance).is_some_and(|(state, _)| state == said.state);
        if !is_so || said.worker != self.settings.worker {
            self.insist(instance);
        }
    }

    /// Says again what is the state of an instance, if it is this worker's.
    fn insist(&mut self, instance: &Instance) {
        if !self.assignment.includes(instance) || self.is_being_reported(instance) {
            return;
        }
        if let Some((state, version)) = self.instances.state(instance) {
            self.report(instance, state, version);
        }
    }

    fn plugin_version(&self, name: &ConnectorName) -> Option<String> {
        let class = self.cluster.get(name)?.config.connector_class()?;
        self.plugins.connector(class).ok()?.version.clone()
    }
}
