//! A worker that does as it is told.

use std::collections::BTreeMap;

use bulkhead_model::config::ConfigValue;
use bulkhead_model::plugin::PluginKind;
use bulkhead_model::work::{Command, Event, OffsetsOutcome, Run, Token, Validation, ValidationError};
use bulkhead_model::{ConnectorName, Instance, RawConfig, TargetState};

use super::{SINK, source_def};

/// Keeps what runs. How an instance fares is said by `test.…` keys of its connector:
/// `test.start` and `test.task.start` are errors at start, `test.tasks` is the number of tasks,
/// `test.configs` an error of `task_configs`, `test.validate` a complaint.
#[derive(Default)]
pub(crate) struct FakeWorker {
    pub(crate) running: BTreeMap<Instance, (Run, TargetState)>,
    /// Offset alterations that were carried out.
    pub(crate) altered: Vec<ConnectorName>,
}

impl FakeWorker {
    pub(crate) fn carry_out(&mut self, command: Command) -> Vec<Event> {
        match command {
            Command::StartConnector { run, connector, config, target } => {
                let error = config.get("test.start").filter(|_| target == TargetState::Started);
                self.start(run, Instance::Connector(connector), target, error)
            }
            Command::StartTask { run, task, connector, target, .. } => {
                self.start(run, Instance::Task(task), target, connector.get("test.task.start"))
            }
            Command::Stop { run, instance } => {
                self.running.retain(|other, (present, _)| *other != instance || *present != run);
                vec![Event::Stopped { run, instance }]
            }
            Command::SetTarget { run, instance, target } => self.set_target(run, instance, target),
            Command::TaskConfigs { token, run, connector, config } => {
                self.task_configs(token, run, &connector, &config)
            }
            Command::Validate { token, config } => vec![Event::Validated { token, answer: validate(&config) }],
            Command::AlterOffsets { token, connector, .. } => self.alter_offsets(token, connector),
            Command::ForgetTopics { .. } => Vec::new(),
            Command::ReadOffsets { token, .. } => vec![Event::OffsetsRead { token, answer: Ok(Vec::new()) }],
        }
    }

    fn start(&mut self, run: Run, instance: Instance, target: TargetState, error: Option<&str>) -> Vec<Event> {
        if let Some(error) = error {
            return vec![Event::Failed { run, instance, trace: error.to_owned() }];
        }
        let former = self.running.insert(instance.clone(), (run, target));
        assert_eq!(former, None, "{instance} was started while it ran");
        vec![Event::Started { run, instance, target, version: Some("1.0".to_owned()) }]
    }

    fn set_target(&mut self, run: Run, instance: Instance, target: TargetState) -> Vec<Event> {
        match self.running.get_mut(&instance) {
            Some((present, reached)) if *present == run => {
                assert_ne!(*reached, TargetState::Stopped, "{instance} was stopped and got another target");
                *reached = target;
                vec![Event::TargetReached { run, instance, target }]
            }
            _ => Vec::new(),
        }
    }

    fn task_configs(&self, token: Token, run: Run, connector: &ConnectorName, config: &RawConfig) -> Vec<Event> {
        let present = self.running.get(&Instance::Connector(connector.clone())).map(|(run, _)| *run);
        if present != Some(run) {
            return Vec::new();
        }
        let count = config.get("test.tasks").or(config.get("tasks.max")).map_or(1, |text| text.parse().unwrap());
        let configs = match config.get("test.configs") {
            Some(error) => Err(error.to_owned()),
            None => Ok((0..count).map(|number: u32| [("number", number.to_string())].into()).collect()),
        };
        vec![Event::TaskConfigs { token, configs }]
    }

    fn alter_offsets(&mut self, token: Token, connector: ConnectorName) -> Vec<Event> {
        let tasks = self.running.keys().filter(|instance| instance.task_number().is_some());
        let left: Vec<_> = tasks.filter(|task| *task.connector() == connector).collect();
        assert!(left.is_empty(), "offsets were altered under the hands of {left:?}");
        self.altered.push(connector);
        vec![Event::OffsetsAltered { token, answer: Ok(OffsetsOutcome::FrameworkOnly) }]
    }

    /// An instance ends by itself.
    pub(crate) fn break_down(&mut self, instance: &Instance) -> Vec<Event> {
        let Some((run, _)) = self.running.remove(instance) else { return Vec::new() };
        vec![Event::Failed { run, instance: instance.clone(), trace: "boom".to_owned() }]
    }

    /// A connector asks for its tasks to be worked out anew.
    pub(crate) fn want_reconfiguration(&self, connector: &ConnectorName) -> Option<Event> {
        let (run, _) = self.running.get(&Instance::Connector(connector.clone()))?;
        Some(Event::ReconfigurationWanted { run: *run, connector: connector.clone() })
    }

    /// A task writes to a topic.
    pub(crate) fn use_topic(&self, instance: &Instance, topic: &str) -> Option<Event> {
        let Instance::Task(task) = instance else { return None };
        let (run, _) = self.running.get(instance)?;
        Some(Event::TopicUsed { run: *run, task: task.clone(), topic: topic.to_owned() })
    }
}

fn validate(config: &RawConfig) -> Result<Validation, ValidationError> {
    let complaint = config.get("test.validate");
    if complaint == Some("crash") {
        return Err(ValidationError::Failed("the plugin crashed".to_owned()));
    }
    let sink = config.connector_class() == Some(SINK);
    let verdict = |error: &str| ConfigValue {
        name: "test.validate".to_owned(),
        value: None,
        recommended: Vec::new(),
        errors: vec![error.to_owned()],
        visible: true,
    };
    Ok(Validation {
        kind: if sink { PluginKind::Sink } else { PluginKind::Source },
        version: Some("1.0".to_owned()),
        config_def: if sink { Default::default() } else { source_def() },
        values: complaint.into_iter().map(verdict).collect(),
        refused_grants: Vec::new(),
        resolution: Default::default(),
    })
}

/// Commands about instances, in short.
pub(super) fn describe(command: &Command) -> Option<String> {
    match command {
        Command::StartConnector { run, connector, target, .. } => {
            Some(format!("start {connector} {} {target:?}", run.0))
        }
        Command::StartTask { run, task, target, .. } => Some(format!("start {task} {} {target:?}", run.0)),
        Command::Stop { run, instance } => Some(format!("stop {instance} {}", run.0)),
        Command::SetTarget { run, instance, target } => Some(format!("set {instance} {} {target:?}", run.0)),
        Command::TaskConfigs { .. }
        | Command::Validate { .. }
        | Command::AlterOffsets { .. }
        | Command::ReadOffsets { .. }
        | Command::ForgetTopics { .. } => None,
    }
}
