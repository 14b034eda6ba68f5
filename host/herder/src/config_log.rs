//! Writing to the config log, and what its records set off.

use std::collections::VecDeque;

use bulkhead_model::ConnectorName;

use crate::Herder;
use crate::api::{ConfigRecord, LoggedConfig, NotWritten, Refusal, Reply};
use crate::changes::{Change, Step, Then, Write};
use crate::cluster_config::Connector;
use crate::questions::Question;

impl Herder {
    /// Asks for a change; it begins when its turn comes.
    pub(crate) fn submit(&mut self, name: &ConnectorName, change: Change) {
        self.changes.add(name, change);
        self.advance(name);
    }

    /// Begins the next changes of a connector, until one has to wait for something.
    pub(crate) fn advance(&mut self, name: &ConnectorName) {
        while let Some(change) = self.changes.next(name) {
            self.begin(name, change);
        }
    }

    /// Appends the batches one after the other, each when the one before it was read back.
    pub(crate) fn write(
        &mut self,
        name: &ConnectorName,
        batches: impl IntoIterator<Item = Vec<ConfigRecord>>,
        then: Then,
    ) {
        self.write_next(name, batches.into_iter().collect(), then);
    }

    fn write_next(&mut self, name: &ConnectorName, mut batches: VecDeque<Vec<ConfigRecord>>, then: Then) {
        let Some(records) = batches.pop_front() else {
            return self.written(name, then);
        };
        self.changes.enter(name, Step::Writing(Write::new(&records, batches, then)));
        let token = self.questions.ask(Question::ConfigAppend(name.clone()));
        self.append(token, records);
    }

    pub(crate) fn config_record(&mut self, logged: LoggedConfig) {
        self.config_offset = logged.next_offset;
        let Some(record) = logged.record else {
            return;
        };
        let name = record.connector().cloned();
        let shape = name.as_ref().map(|name| self.shape(name));
        self.cluster.apply(&record);
        self.changes.read(&record);
        let is_commit = matches!(record, ConfigRecord::Commit { .. });
        match record {
            ConfigRecord::Restart(request) => self.restart_requested(request),
            ConfigRecord::LoggerLevel { logger, level } => self.level_set(logger, level),
            ConfigRecord::Connector { .. }
            | ConfigRecord::TargetState { .. }
            | ConfigRecord::Task { .. }
            | ConfigRecord::Commit { .. }
            | ConfigRecord::TaskCount { .. }
            | ConfigRecord::SessionKey(_) => {}
        }
        if let Some(name) = name {
            self.connector_changed(&name);
            if shape != Some(self.shape(&name)) {
                self.sharing_changed();
            }
            if is_commit {
                self.check_tasks(&name);
            }
        }
    }

    fn connector_changed(&mut self, name: &ConnectorName) {
        self.touch(name);
        if !self.cluster.contains(name) && self.leads() {
            self.forget_topics(name);
        }
        self.reconcile(name);
        self.go_on_writing(name);
        if self.leads() {
            self.drop_leftovers(name);
        }
    }

    /// What of a connector is shared out among the workers: itself, and so many tasks.
    fn shape(&self, name: &ConnectorName) -> Option<u32> {
        self.cluster.get(name).map(Connector::task_count)
    }

    pub(crate) fn config_appended(&mut self, name: &ConnectorName, outcome: Result<(), NotWritten>) {
        match outcome {
            Ok(()) => {
                if let Some(write) = self.changes.writing(name) {
                    write.acknowledged = true;
                }
                self.go_on_writing(name);
            }
            Err(error) => self.write_failed(name, &error),
        }
    }

    fn go_on_writing(&mut self, name: &ConnectorName) {
        if !self.changes.writing(name).is_some_and(|write| write.is_complete()) {
            return;
        }
        let Some(Step::Writing(write)) = self.changes.leave(name) else {
            return;
        };
        self.write_next(name, write.later, write.then);
        self.advance(name);
    }

    fn written(&mut self, name: &ConnectorName, then: Then) {
        match then {
            Then::Stored { id, created } => self.stored(id, name, created),
            Then::Done { id } => self.reply(id, Ok(Reply::Done)),
            Then::Restarting { id, status } => self.reply(id, Ok(Reply::Restarting(status))),
            Then::TasksPublished => self.reconfigured(name),
            Then::TasksDropped => {}
        }
    }

    /// The change may still come to be: what is said here is that nobody knows.
    fn write_failed(&mut self, name: &ConnectorName, error: &NotWritten) {
        let Some(Step::Writing(write)) = self.changes.leave(name) else {
            return;
        };
        tracing::warn!(connector = %name, %error, "A change could not be written to the config log.");
        match write.then {
            Then::Stored { id, .. } | Then::Done { id } | Then::Restarting { id, .. } => {
                self.reply(id, Err(unwritten(error)));
            }
            Then::TasksPublished => self.tasks_not_published(
                name,
                format!("The task configurations could not be written to the config log: {error}"),
            ),
            Then::TasksDropped => self.tasks_not_dropped(name),
        }
        self.advance(name);
    }
}

/// A leader that was replaced is a conflict, which the client may leave to time; anything else has failed.
fn unwritten(error: &NotWritten) -> Refusal {
    match error {
        NotWritten::Fenced(_) => Refusal::Conflict(
            "Cannot complete request because another worker has begun to lead, so that the change could not be written \
             to the config log. This is likely to be transient, and the request can be sent again"
                .to_owned(),
        ),
        NotWritten::Failed(error) => {
            Refusal::Failed(format!("The change could not be written to the config log: {error}"))
        }
    }
}
