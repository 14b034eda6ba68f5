//! A worker that does as it is told.

use std::collections::BTreeMap;

use bulkhead_model::config::ConfigValue;
use bulkhead_model::plugin::PluginKind;
use bulkhead_model::work::{Command, Event, OffsetsOutcome, Run, Token, Validation, ValidationError};
use bulkhead_model::{ConnectorName, Instance, RawConfig, TargetState};

use crate::plugins::source_def;

/// Keeps what runs. How an instance fares is said by `test.…` keys of its connector:
/// `test.start` and `test.task.start` are errors at start, `test.tasks` is the number of tasks whatever
/// `tasks.max` says, `test.configs` an error of `task_configs`, `test.validate` a complaint.
#[derive(Debug, Default)]
pub(crate) struct FakeWorker {
    pub(crate) running: BTreeMap<Instance, Life>,
    /// Until when an instance is busy with what it was told before.
    busy: BTreeMap<Instance, u64>,
    /// What a worker must never be told.
    pub(crate) complaints: Vec<String>,
}

/// One run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    pub(crate) run: Run,
    pub(crate) target: TargetState,
    /// When the worker was told to start it.
    pub(crate) given: u64,
}

impl FakeWorker {
    /// When the command will have been carried out, if that takes so long: what is told to one instance
    /// happens in order.
    pub(crate) fn due(&mut self, now: u64, command: &Command, takes: u64) -> u64 {
        let Some(instance) = command.instance() else { return now + takes };
        let busy = self.busy.entry(instance).or_default();
        *busy = now.max(*busy) + takes;
        *busy
    }

    /// `given`: when the command was; `demand`: how many tasks the connector has work for.
    pub(crate) fn carry_out(&mut self, given: u64, command: Command, demand: Option<u32>) -> Option<Event> {
        match command {
            Command::StartConnector { run, connector, config, target } => {
                let error = config.get("test.start").filter(|_| target == TargetState::Started);
                Some(self.start(given, run, Instance::Connector(connector), target, error))
            }
            Command::StartTask { run, task, connector, target, .. } => {
                if target == TargetState::Stopped {
                    self.complaints.push(format!("{task} was started as STOPPED"));
                }
                Some(self.start(given, run, Instance::Task(task), target, connector.get("test.task.start")))
            }
            Command::Stop { run, instance } => {
                self.running.retain(|other, life| *other != instance || life.run != run);
                Some(Event::Stopped { run, instance })
            }
            Command::SetTarget { run, instance, target } => self.set_target(run, instance, target),
            Command::TaskConfigs { token, run, connector, config } => {
                self.task_configs(token, run, connector, &config, demand)
            }
            Command::Validate { token, config } => Some(Event::Validated { token, answer: validate(&config) }),
            Command::AlterOffsets { token, connector, .. } => Some(self.alter_offsets(token, &connector)),
            Command::ForgetTopics { .. } => None,
            Command::ReadOffsets { token, .. } => Some(Event::OffsetsRead { token, answer: Ok(Vec::new()) }),
        }
    }

    fn start(&mut self, given: u64, run: Run, instance: Instance, target: TargetState, error: Option<&str>) -> Event {
        if let Some(life) = self.running.get(&instance) {
            self.complaints.push(format!("{instance} was started ({run}) while it ran ({})", life.run));
        }
        if let Some(error) = error {
            return Event::Failed { run, instance, trace: error.to_owned() };
        }
        self.running.insert(instance.clone(), Life { run, target, given });
        Event::Started { run, instance, target, version: Some("1.0".to_owned()) }
    }

    fn set_target(&mut self, run: Run, instance: Instance, target: TargetState) -> Option<Event> {
        let life = self.running.get_mut(&instance).filter(|life| life.run == run)?;
        if life.target == TargetState::Stopped {
            self.complaints.push(format!("{instance} was stopped and got another target"));
        }
        life.target = target;
        Some(Event::TargetReached { run, instance, target })
    }

    fn task_configs(
        &self,
        token: Token,
        run: Run,
        connector: ConnectorName,
        config: &RawConfig,
        demand: Option<u32>,
    ) -> Option<Event> {
        self.running.get(&Instance::Connector(connector)).filter(|life| life.run == run)?;
        let configs = match config.get("test.configs") {
            Some(error) => Err(error.to_owned()),
            None => Ok(task_configs(config, demand)),
        };
        Some(Event::TaskConfigs { token, configs })
    }

    fn alter_offsets(&mut self, token: Token, connector: &ConnectorName) -> Event {
        let tasks = self.running.keys().filter(|instance| instance.task_number().is_some());
        let left: Vec<_> = tasks.filter(|task| task.connector() == connector).collect();
        if !left.is_empty() {
            self.complaints.push(format!("offsets were altered under the hands of {left:?}"));
        }
        Event::OffsetsAltered { token, answer: Ok(OffsetsOutcome::FrameworkOnly) }
    }

    /// An instance ends by itself.
    pub(crate) fn break_down(&mut self, instance: &Instance) -> Option<Event> {
        let run = self.running.remove(instance)?.run;
        Some(Event::Failed { run, instance: instance.clone(), trace: "boom".to_owned() })
    }

    /// A connector asks for its tasks to be worked out anew.
    pub(crate) fn want_reconfiguration(&self, connector: &ConnectorName) -> Option<Event> {
        let run = self.running.get(&Instance::Connector(connector.clone()))?.run;
        Some(Event::ReconfigurationWanted { run, connector: connector.clone() })
    }

    /// A task writes to a topic.
    pub(crate) fn use_topic(&self, instance: &Instance, topic: &str) -> Option<Event> {
        let Instance::Task(task) = instance else { return None };
        let run = self.running.get(instance)?.run;
        Some(Event::TopicUsed { run, task: task.clone(), topic: topic.to_owned() })
    }
}

/// What a connector with this configuration makes of it.
pub(crate) fn task_configs(config: &RawConfig, demand: Option<u32>) -> Vec<RawConfig> {
    let number = |key: &str| config.get(key).and_then(|text| text.parse::<u32>().ok());
    let max = number("tasks.max").unwrap_or(1);
    let count = number("test.tasks").unwrap_or(demand.map_or(max, |demand| demand.min(max)));
    let note = config.get("note").unwrap_or_default();
    (0..count).map(|number| [("number", number.to_string()), ("note", note.to_owned())].into()).collect()
}

fn validate(config: &RawConfig) -> Result<Validation, ValidationError> {
    let complaint = config.get("test.validate");
    if complaint == Some("crash") {
        return Err(ValidationError::Failed("the plugin crashed".to_owned()));
    }
    let verdict = |error: &str| ConfigValue {
        name: "test.validate".to_owned(),
        value: None,
        recommended: Vec::new(),
        errors: vec![error.to_owned()],
        visible: true,
    };
    Ok(Validation {
        kind: PluginKind::Source,
        version: Some("1.0".to_owned()),
        config_def: source_def(),
        values: complaint.into_iter().map(verdict).collect(),
        refused_grants: Vec::new(),
        resolution: Default::default(),
    })
}
