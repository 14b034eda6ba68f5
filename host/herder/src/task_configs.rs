//! Asking connectors for task configurations, comparing and publishing them.

use std::collections::BTreeMap;

use bulkhead_model::work::{Command, Run, Token};
use bulkhead_model::{ConnectorName, Instance, RawConfig, TargetState};

use crate::Herder;
use crate::api::{ConfigRecord, ForwardError, Millis, Refusal, RequestId};
use crate::changes::{Change, Then};
use crate::cluster_config::Revision;
use crate::lifecycle::not_found;
use crate::questions::Question;

const FIRST_RETRY_MILLIS: u64 = 250;
const LAST_RETRY_MILLIS: u64 = 60_000;

/// Connectors whose tasks are being worked out. One that isn't here has the tasks it wants.
#[derive(Debug, Default)]
pub(crate) struct Reconfigurations {
    under_way: BTreeMap<ConnectorName, Reconfiguration>,
}

#[derive(Debug)]
struct Reconfiguration {
    phase: Phase,
    /// The connector asked for it once more meanwhile.
    again: bool,
    failures: u32,
}

#[derive(Debug)]
enum Phase {
    Asking(Token),
    Publishing,
    Failed { error: String, retry: Millis },
}

/// Where the tasks of a connector stand, for whoever waits for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TaskProgress<'a> {
    Settled,
    Pending,
    Failed(&'a str),
}

impl Reconfigurations {
    pub(crate) fn progress(&self, name: &ConnectorName) -> TaskProgress<'_> {
        match self.under_way.get(name).map(|reconfiguration| &reconfiguration.phase) {
            None => TaskProgress::Settled,
            Some(Phase::Asking(_) | Phase::Publishing) => TaskProgress::Pending,
            Some(Phase::Failed { error, .. }) => TaskProgress::Failed(error),
        }
    }

    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        let retries = self.under_way.values().filter_map(|reconfiguration| match reconfiguration.phase {
            Phase::Failed { retry, .. } => Some(retry),
            Phase::Asking(_) | Phase::Publishing => None,
        });
        retries.min()
    }

    fn due(&self, now: Millis) -> Vec<ConnectorName> {
        let due = self.under_way.iter().filter(
            |(_, reconfiguration)| matches!(reconfiguration.phase, Phase::Failed { retry, .. } if retry <= now),
        );
        due.map(|(name, _)| name.clone()).collect()
    }
}

impl Herder {
    /// Asks a running connector for its tasks.
    pub(crate) fn reconfigure(&mut self, name: &ConnectorName) {
        let failures = match self.reconfigurations.under_way.get_mut(name) {
            Some(Reconfiguration { phase: Phase::Asking(_) | Phase::Publishing, again, .. }) => {
                *again = true;
                return;
            }
            Some(reconfiguration) => reconfiguration.failures,
            None => 0,
        };
        let Some((run, config)) = self.run_to_ask(name) else { return self.drop_reconfiguration(name) };
        let token = self.questions.ask(Question::TaskConfigs(name.clone()));
        let reconfiguration = Reconfiguration { phase: Phase::Asking(token), again: false, failures };
        self.reconfigurations.under_way.insert(name.clone(), reconfiguration);
        self.command(Command::TaskConfigs { token, run, connector: name.clone(), config });
    }

    /// Tasks were committed. If that wasn't on behalf of the connector that runs here, it is asked whether
    /// they are the ones it wants: a stop may have come half-way into the log.
    pub(crate) fn check_tasks(&mut self, name: &ConnectorName) {
        let is_ours = matches!(self.reconfigurations.progress(name), TaskProgress::Pending);
        if !is_ours && self.run_to_ask(name).is_some() {
            self.reconfigure(name);
        }
    }

    /// None if the connector doesn't run here or is not meant to.
    fn run_to_ask(&self, name: &ConnectorName) -> Option<(Run, RawConfig)> {
        let run = self.instances.running(&Instance::Connector(name.clone()))?;
        let connector = self.cluster.get(name)?;
        (self.cluster.target(name) == TargetState::Started).then(|| (run, connector.config.clone()))
    }

    /// The connector ends or is replaced: its next run will be asked anew. What is being published
    /// already goes its way.
    pub(crate) fn drop_reconfiguration(&mut self, name: &ConnectorName) {
        match self.reconfigurations.under_way.get_mut(name) {
            Some(Reconfiguration { phase: Phase::Publishing, again, .. }) => *again = false,
            Some(Reconfiguration { phase: Phase::Asking(token), .. }) => {
                self.questions.withdraw(*token);
                self.reconfigurations.under_way.remove(name);
            }
            Some(Reconfiguration { phase: Phase::Failed { .. }, .. }) => {
                self.reconfigurations.under_way.remove(name);
            }
            None => {}
        }
    }

    pub(crate) fn task_configs_answered(&mut self, name: &ConnectorName, answer: Result<Vec<RawConfig>, String>) {
        if self.cluster.target(name) != TargetState::Started {
            return self.reconfigured(name);
        }
        match answer {
            Ok(configs) => self.compare_task_configs(name, configs),
            Err(error) => self.reconfiguration_failed(name, error),
        }
    }

    fn compare_task_configs(&mut self, name: &ConnectorName, configs: Vec<RawConfig>) {
        let Some(connector) = self.cluster.get(name) else {
            return self.reconfigured(name);
        };
        if configs.is_empty() {
            tracing::warn!(connector = %name, "The connector has given no task configurations; it has no tasks.");
        }
        let configs = self.complete_task_configs(&connector.config, configs);
        if let Some(trace) = too_many_tasks(name, &connector.config, configs.len()) {
            self.reconfigured(name);
            return self.fail_connector(name, trace);
        }
        if !connector.tasks_differ(&configs) {
            return self.reconfigured(name);
        }
        let revision = connector.revision;
        if let Some(reconfiguration) = self.reconfigurations.under_way.get_mut(name) {
            reconfiguration.phase = Phase::Publishing;
        }
        match self.leads() {
            true => self.submit(name, Change::PublishTasks { revision, configs }),
            false => self.send_to_leader(name, &configs),
        }
    }

    fn send_to_leader(&mut self, name: &ConnectorName, configs: &[RawConfig]) {
        let body = serde_json::to_vec(configs).map_err(|error| error.to_string());
        if let Err(error) = body.and_then(|body| self.forward_tasks(name, body)) {
            self.reconfiguration_failed(name, error);
        }
    }

    pub(crate) fn tasks_forwarded(&mut self, name: &ConnectorName, outcome: Result<(), ForwardError>) {
        match outcome {
            Ok(()) => self.reconfigured(name),
            Err(ForwardError { message, .. }) => {
                self.tasks_not_published(name, format!("The leader did not take the task configurations: {message}"));
            }
        }
    }

    /// A connector that can't go on: its run ends and its status says why.
    fn fail_connector(&mut self, name: &ConnectorName, trace: String) {
        let instance = Instance::Connector(name.clone());
        let actions = self.instances.fail(&instance, trace);
        self.perform(&instance, actions);
    }

    /// What a task's configuration has besides what its connector gave it.
    fn complete_task_configs(&self, connector: &RawConfig, configs: Vec<RawConfig>) -> Vec<RawConfig> {
        let class = connector.connector_class().unwrap_or_default();
        let class = self.plugins.connector(class).map_or(class, |plugin| plugin.full_name(class));
        let complete = |mut config: RawConfig| {
            config.set("task.class", task_class(class));
            for key in ["topics", "topics.regex"] {
                if let Some(value) = connector.get(key) {
                    config.set(key, value);
                }
            }
            config
        };
        configs.into_iter().map(complete).collect()
    }

    pub(crate) fn begin_publish_tasks(&mut self, name: &ConnectorName, revision: Revision, configs: Vec<RawConfig>) {
        let connector = self.cluster.get(name).filter(|connector| connector.revision == revision);
        if connector.is_none() || self.cluster.target(name) == TargetState::Stopped {
            return self.reconfigured(name);
        }
        self.write(name, task_records(name, configs), Then::TasksPublished);
    }

    /// Publishes what another worker's connector wants.
    pub(crate) fn begin_store_tasks(&mut self, name: &ConnectorName, id: RequestId, configs: Vec<RawConfig>) {
        let refusal = match self.cluster.get(name) {
            None => Some(not_found(name)),
            Some(_) if self.cluster.target(name) == TargetState::Stopped && !configs.is_empty() => {
                Some(Refusal::BadRequest(format!(
                    "Cannot submit non-empty set of task configs for stopped connector {name}"
                )))
            }
            Some(_) => self.must_lead().err(),
        };
        match refusal {
            Some(refusal) => self.reply(id, Err(refusal)),
            None => self.write(name, task_records(name, configs), Then::Done { id }),
        }
    }

    pub(crate) fn tasks_not_published(&mut self, name: &ConnectorName, error: String) {
        if self.instances.running(&Instance::Connector(name.clone())).is_none() {
            return self.reconfigured(name);
        }
        self.reconfiguration_failed(name, error);
    }

    /// The connector has the tasks it wants, unless it has changed its mind meanwhile.
    pub(crate) fn reconfigured(&mut self, name: &ConnectorName) {
        let ended = self.reconfigurations.under_way.remove(name);
        if ended.is_some_and(|reconfiguration| reconfiguration.again) {
            self.reconfigure(name);
        }
    }

    fn reconfiguration_failed(&mut self, name: &ConnectorName, error: String) {
        tracing::warn!(connector = %name, error, "Tasks could not be reconfigured; trying again.");
        let now = self.now;
        let Some(reconfiguration) = self.reconfigurations.under_way.get_mut(name) else {
            return;
        };
        reconfiguration.phase = Phase::Failed { error, retry: now.plus(backoff(reconfiguration.failures)) };
        reconfiguration.failures = reconfiguration.failures.saturating_add(1);
    }

    pub(crate) fn retry_reconfigurations(&mut self) {
        for name in self.reconfigurations.due(self.now) {
            self.reconfigure(&name);
        }
    }
}

/// First the tasks, then the commit that makes them count.
fn task_records(name: &ConnectorName, configs: Vec<RawConfig>) -> impl Iterator<Item = Vec<ConfigRecord>> {
    let commit = ConfigRecord::Commit { name: name.clone(), tasks: u32::try_from(configs.len()).unwrap_or(u32::MAX) };
    let tasks: Vec<_> =
        (0..).zip(configs).map(|(number, config)| ConfigRecord::Task { id: name.task(number), config }).collect();
    [tasks, vec![commit]].into_iter().filter(|batch| !batch.is_empty())
}

/// 250 ms, doubled with every failure up to a minute.
fn backoff(failures: u32) -> u64 {
    FIRST_RETRY_MILLIS.saturating_mul(1 << failures.min(16)).min(LAST_RETRY_MILLIS)
}

/// Connect names a class for every task. A component has no such class; what REST shows is made from
/// the connector's.
fn task_class(connector_class: &str) -> String {
    format!("{}Task", connector_class.strip_suffix("Connector").unwrap_or(connector_class))
}

/// The trace, if the connector made more tasks than it may.
fn too_many_tasks(name: &ConnectorName, config: &RawConfig, count: usize) -> Option<String> {
    let max = config.get("tasks.max").map_or(Ok(1), |text| text.trim().parse::<usize>()).ok()?;
    let enforced = !config.get("tasks.max.enforce").is_some_and(|text| text.trim().eq_ignore_ascii_case("false"));
    (enforced && count > max).then(|| {
        format!("Connector {name} made {count} task configurations, which is more than its tasks.max of {max} allows")
    })
}

#[cfg(test)]
mod tests;
