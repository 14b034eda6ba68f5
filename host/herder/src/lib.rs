//! The herder: decides what this worker runs and answers REST requests.
//!
//! Start at [`Herder::handle`]. **Invariant:** this crate has no async, no clock, no socket and no thread;
//! time arrives as an argument, randomness as an event. It depends on `bulkhead-model` only.
//!
//! A standalone worker runs this same herder: its logs are in memory, everything is assigned to it, and
//! requests are answered once their effect is there ([`Mode::Standalone`]).
//!
//! Every change goes the same way: it waits for its turn (`changes`), is decided, is appended to the
//! config log, and takes effect when the record comes back (`config_log`). The folds of the two logs
//! are `cluster_config` and `statuses`; `instances` compares what is configured with what runs, and
//! `waiting` holds the requests that are answered when their effect is there.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod api;
mod assignment;
pub mod assignor;
mod changes;
mod cluster_config;
mod config_log;
pub mod config_topic;
mod instances;
mod leftovers;
mod lifecycle;
pub mod offset_topic;
mod offsets;
pub mod protocol;
mod questions;
mod requests;
mod restart;
mod running;
pub mod session;
mod settings;
mod stage;
mod status_log;
pub mod status_topic;
mod statuses;
mod task_configs;
mod topics;
pub mod validate;
mod view;
mod waiting;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod vectors;

use std::collections::BTreeSet;
use std::sync::Arc;

use api::{Effect, Event, Millis, Refusal, Reply, RequestId, Token};
use bulkhead_model::plugin::PluginCatalog;
use bulkhead_model::{ConnectorName, work};
pub use settings::{ClusterSettings, KeySettings, Mode, Settings};
pub use view::{ClusterView, GroupView, RestartView};

use assignment::Assignment;
use changes::Changes;
use cluster_config::ClusterConfig;
use instances::Instances;
use leftovers::Leftovers;
use questions::{Question, Questions};
use status_log::StatusWrites;
use statuses::Statuses;
use task_configs::Reconfigurations;
use waiting::Wait;

/// See the crate's documentation.
#[derive(Debug)]
pub struct Herder {
    settings: Settings,
    plugins: Arc<PluginCatalog>,
    assignment: Assignment,
    cluster: ClusterConfig,
    statuses: Statuses,
    instances: Instances,
    changes: Changes,
    questions: Questions,
    reconfigurations: Reconfigurations,
    leftovers: Leftovers,
    status_writes: StatusWrites,
    waiting: Vec<(RequestId, Wait)>,
    view: Arc<ClusterView>,
    /// Connectors that look different since the view was made.
    touched: BTreeSet<ConnectorName>,
    /// The time of the present step.
    now: Millis,
    /// What the present step has come up with so far.
    effects: Vec<Effect>,
}

impl Herder {
    pub fn new(settings: Settings) -> Self {
        Self {
            assignment: settings.mode.assignment_at_start(),
            view: Arc::default(),
            settings,
            plugins: Arc::default(),
            cluster: ClusterConfig::default(),
            statuses: Statuses::default(),
            instances: Instances::default(),
            changes: Changes::default(),
            questions: Questions::default(),
            reconfigurations: Reconfigurations::default(),
            leftovers: Leftovers::default(),
            status_writes: StatusWrites::default(),
            waiting: Vec::new(),
            touched: BTreeSet::new(),
            now: Millis::default(),
            effects: Vec::new(),
        }
    }

    /// Takes one event, changes the state and says what is to be done, in order.
    ///
    /// Whoever sends replies should publish [`Self::view`] before, so that a client finds what it was
    /// promised.
    pub fn handle(&mut self, now: Millis, event: Event) -> Vec<Effect> {
        self.now = now;
        match event {
            Event::Request { id, request } => self.request(id, request),
            Event::Plugins(plugins) => self.plugins_changed(plugins),
            Event::ConfigRecord(record) => self.config_record(record),
            Event::StatusRecord(record) => self.status_record(&record),
            Event::Appended { token, outcome } => self.appended(token, outcome),
            Event::Work(event) => self.work(event),
            Event::Tick => self.tick(),
            Event::CaughtUp
            | Event::ReadToEnd { .. }
            | Event::Group(_)
            | Event::Forwarded { .. }
            | Event::SessionKey { .. }
            | Event::Shutdown => {}
        }
        self.answer_waiting();
        self.refresh_view();
        std::mem::take(&mut self.effects)
    }

    fn appended(&mut self, token: Token, outcome: Result<(), String>) {
        match self.questions.answered(token) {
            Some(Question::ConfigAppend(name)) => self.config_appended(&name, outcome),
            Some(Question::StatusAppend(record)) => self.status_appended(token, record, outcome),
            question => unexpected(token, question),
        }
    }

    /// An answer of the worker. Answers to questions that were withdrawn are dropped.
    fn worker_answered(&mut self, token: Token, event: work::Event) {
        match (self.questions.answered(token), event) {
            (Some(Question::Validation(name, submission)), work::Event::Validated { answer, .. }) => {
                let verdict = self.judge(&submission, answer);
                self.validated(&name, &submission.config, verdict);
            }
            (Some(Question::Judgement(id, submission)), work::Event::Validated { answer, .. }) => {
                let verdict = self.judge(&submission, answer);
                self.reply(id, verdict.map(Reply::Validated));
            }
            (Some(Question::TaskConfigs(name)), work::Event::TaskConfigs { configs, .. }) => {
                self.task_configs_answered(&name, configs);
            }
            (Some(Question::OffsetsRead(id)), work::Event::OffsetsRead { answer, .. }) => self.offsets_read(id, answer),
            (Some(Question::OffsetsAltered(name)), work::Event::OffsetsAltered { answer, .. }) => {
                self.offsets_altered(&name, answer);
            }
            (question, _) => unexpected(token, question),
        }
    }

    fn plugins_changed(&mut self, plugins: Arc<PluginCatalog>) {
        self.plugins = plugins;
        self.touched.extend(self.cluster.names().cloned());
        self.touched.extend(self.view.statuses.keys().cloned());
    }

    fn tick(&mut self) {
        self.retry_statuses();
        self.retry_reconfigurations();
        self.retry_leftovers();
    }

    fn reply(&mut self, id: RequestId, answer: Result<Reply, Refusal>) {
        self.effects.push(Effect::Reply { id, answer });
    }

    /// Notes that a connector looks different now.
    fn touch(&mut self, name: &ConnectorName) {
        self.touched.insert(name.clone());
    }

    /// When [`Event::Tick`] is due, if nothing else happens before.
    pub fn next_deadline(&self) -> Option<Millis> {
        let statuses = self.status_writes.next_deadline();
        let deadlines = [statuses, self.reconfigurations.next_deadline(), self.leftovers.next_deadline()];
        deadlines.into_iter().flatten().min()
    }

    /// What the REST resources that need no turn of the herder answer from.
    pub fn view(&self) -> Arc<ClusterView> {
        Arc::clone(&self.view)
    }
}

fn unexpected(token: Token, question: Option<Question>) {
    tracing::debug!(?token, ?question, "An answer that nobody waits for was dropped.");
}
