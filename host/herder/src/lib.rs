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
//! `waiting` holds the requests that are answered when their effect is there. Where a cluster prepares for exactly-once
//! sources, a leader appends what only it may under a `claim` on the log.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod api;
mod assignment;
pub mod assignor;
mod auto_restart;
mod changes;
mod claim;
mod cluster_config;
mod config_log;
pub mod config_topic;
mod ending;
mod instances;
mod internal;
mod leading;
mod leftovers;
mod lifecycle;
mod membership;
mod offsets;
pub mod protocol;
mod questions;
mod rebalance;
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

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Effect, Event, ForwardError, Millis, NotWritten, Refusal, Reply, Request, RequestId, Secret, Token};
pub use auto_restart::RestartPolicy;
use bulkhead_model::plugin::PluginCatalog;
use bulkhead_model::{ConnectorName, Instance, work};
pub use settings::{ClusterSettings, ConverterVersions, ExactlyOnce, KeySettings, Mode, Settings};
pub use view::{ClusterView, GroupView, RestartView};

use assignment::Assignment;
use assignor::incremental::Assignor;
use auto_restart::AutoRestarts;
use changes::Changes;
use claim::Claim;
use cluster_config::ClusterConfig;
use ending::Ending;
use instances::Instances;
use leading::NewKey;
use leftovers::Leftovers;
use membership::{Membership, Phase};
use questions::{Question, Questions};
use restart::PendingRestarts;
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
    pending_restarts: PendingRestarts,
    auto_restarts: AutoRestarts,
    /// None in a standalone worker.
    membership: Option<Membership>,
    /// Where the config log was read up to.
    config_offset: i64,
    assignor: Assignor,
    /// Who owns what, by URL; known while this worker leads.
    owners: BTreeMap<Instance, String>,
    new_key: NewKey,
    claim: Claim,
    ending: Option<Ending>,
    /// Requests that came while nobody led the group.
    early: Vec<(RequestId, Request)>,
    /// Requests that wait for their answer.
    open: BTreeSet<RequestId>,
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
            pending_restarts: PendingRestarts::default(),
            auto_restarts: AutoRestarts::default(),
            membership: settings.mode.cluster().cloned().map(Membership::new),
            config_offset: -1,
            assignor: Assignor::default(),
            owners: BTreeMap::new(),
            new_key: NewKey::default(),
            claim: Claim::default(),
            ending: None,
            early: Vec::new(),
            open: BTreeSet::new(),
            touched: BTreeSet::new(),
            now: Millis::default(),
            effects: Vec::new(),
            settings,
        }
    }

    /// Takes one event, changes the state and says what is to be done, in order.
    ///
    /// Whoever sends replies should publish [`Self::view`] before, so that a client finds what it was
    /// promised.
    pub fn handle(&mut self, now: Millis, event: Event) -> Vec<Effect> {
        self.now = now;
        self.instances.allow_starts(self.membership.as_ref().is_none_or(Membership::may_start));
        match event {
            Event::Request { id, request } => self.request(id, request),
            Event::Plugins(plugins) => self.plugins_changed(plugins),
            Event::ConfigRecord(record) => self.config_record(record),
            Event::StatusRecord(record) => self.status_record(&record),
            Event::Appended { token, outcome } => self.appended(token, outcome.map_err(NotWritten::Failed)),
            Event::AppendedAsLeader { token, outcome } => self.appended_as_leader(token, outcome),
            Event::LogClaimed { token, outcome } => self.log_claimed(token, outcome),
            Event::Work(event) => self.work(event),
            Event::CaughtUp => self.caught_up(),
            Event::ReadToEnd { token, outcome } => self.read_to_end(token, outcome),
            Event::Group(event) => self.group(event),
            Event::Forwarded { token, outcome } => self.forwarded(token, outcome),
            Event::SessionKey { token, key } => self.session_key(token, key),
            Event::Shutdown => self.shut_down(),
            Event::Tick => self.tick(),
        }
        self.go_on_rebalancing();
        self.take_early_requests();
        self.rotate_key();
        self.go_on_claiming();
        self.go_on_ending();
        self.answer_waiting();
        self.refresh_view();
        std::mem::take(&mut self.effects)
    }

    fn appended(&mut self, token: Token, outcome: Result<(), NotWritten>) {
        match self.questions.answered(token) {
            Some(Question::ConfigAppend(name)) => self.config_appended(&name, outcome),
            Some(Question::StatusAppend(record)) => {
                self.status_appended(token, record, outcome.map_err(|error| error.to_string()));
            }
            Some(Question::KeyAppend) => self.key_appended(outcome),
            Some(Question::LevelAppend(id)) => self.level_appended(id, outcome),
            question => unexpected(token, question),
        }
    }

    fn log_claimed(&mut self, token: Token, outcome: Result<(), String>) {
        match self.questions.answered(token) {
            Some(Question::Claim) => self.claimed(token, outcome),
            question => unexpected(token, question),
        }
    }

    fn read_to_end(&mut self, token: Token, outcome: Result<(), String>) {
        match self.questions.answered(token) {
            Some(Question::ConfigRead) => self.config_read(token, outcome),
            question => unexpected(token, question),
        }
    }

    fn forwarded(&mut self, token: Token, outcome: Result<(), ForwardError>) {
        match self.questions.answered(token) {
            Some(Question::TasksForwarded(name)) => self.tasks_forwarded(&name, outcome),
            question => unexpected(token, question),
        }
    }

    fn session_key(&mut self, token: Token, key: Secret) {
        match self.questions.answered(token) {
            Some(Question::SessionKey) => self.key_made(token, key),
            question => unexpected(token, question),
        }
    }

    /// Whether what is read from the logs is news.
    fn is_up(&self) -> bool {
        self.membership.as_ref().is_none_or(|membership| membership.phase != Phase::Starting)
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
            (Some(Question::OffsetsGiven(name)), work::Event::OffsetsAltered { answer, .. }) => {
                self.offsets_given(&name, answer);
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
        self.run_auto_restarts();
        self.run_pending_restarts();
        self.membership_tick();
    }

    fn reply(&mut self, id: RequestId, answer: Result<Reply, Refusal>) {
        self.open.remove(&id);
        self.effects.push(Effect::Reply { id, answer });
    }

    /// Notes that a connector looks different now.
    fn touch(&mut self, name: &ConnectorName) {
        self.touched.insert(name.clone());
    }

    /// When [`Event::Tick`] is due, if nothing else happens before.
    pub fn next_deadline(&self) -> Option<Millis> {
        let statuses = self.status_writes.next_deadline();
        let deadlines = [
            statuses,
            self.reconfigurations.next_deadline(),
            self.leftovers.next_deadline(),
            self.auto_restarts_due(),
            self.membership.as_ref().and_then(Membership::next_deadline),
            self.restarts_due(),
            self.key_due(),
            self.claim_due(),
        ];
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
