//! The words between the herder, which decides, and the worker, which runs.
//!
//! Every start of an instance has a [`Run`] number of its own, given by the herder; what the worker
//! reports carries it, so that news of an instance that was replaced meanwhile can be told apart.

use std::fmt;

use crate::config::{ConfigDef, ConfigValue, RawConfig, Resolution};
use crate::name::{ConnectorName, Instance, TaskId};
use crate::offset::OffsetEntry;
use crate::plugin::PluginKind;
use crate::state::TargetState;

/// One life of an instance, from its start to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Run(pub u64);

/// Ties an answer of the worker to the question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u64);

/// What the worker is to do. Commands for one instance are carried out in order.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Instantiate the connector and call its `start`, unless `target` is not STARTED: then it only
    /// reports the state it is in.
    StartConnector { run: Run, connector: ConnectorName, config: RawConfig, target: TargetState },
    /// Instantiate the task, call its `start`, then poll or put unless `target` is PAUSED.
    StartTask { run: Run, task: TaskId, connector: RawConfig, config: RawConfig, target: TargetState },
    /// Stop within the grace time, or drop the sandbox. Answered by [`Event::Stopped`], always: also
    /// for a run that is still starting, that failed meanwhile, or whose target was STOPPED.
    Stop { run: Run, instance: Instance },
    /// Pause or resume a running instance; STOPPED is for connectors only and frees the instance.
    /// What was STOPPED gets no other target: the herder ends that run and starts another.
    SetTarget { run: Run, instance: Instance, target: TargetState },
    /// Tell again of the topics that the connector's tasks use: what was told was forgotten (KIP-558).
    ForgetTopics { connector: ConnectorName },
    /// Ask the connector for its task configurations.
    TaskConfigs { token: Token, run: Run, connector: ConnectorName, config: RawConfig },
    /// Let the plugin check a configuration, in an instance of its own.
    Validate { token: Token, config: RawConfig },
    /// Let the plugin judge altered (or, with none, reset) offsets of a stopped connector, then
    /// write them. `KIP-875`.
    AlterOffsets { token: Token, connector: ConnectorName, config: RawConfig, offsets: Option<Vec<OffsetEntry>> },
    /// Read the committed offsets of a connector.
    ReadOffsets { token: Token, connector: ConnectorName, config: RawConfig },
}

impl Command {
    /// Whose command it is, where it is one of those that are carried out in order.
    pub fn instance(&self) -> Option<Instance> {
        match self {
            Self::StartConnector { connector, .. } | Self::TaskConfigs { connector, .. } => {
                Some(Instance::Connector(connector.clone()))
            }
            Self::StartTask { task, .. } => Some(Instance::Task(task.clone())),
            Self::Stop { instance, .. } | Self::SetTarget { instance, .. } => Some(instance.clone()),
            Self::Validate { .. }
            | Self::AlterOffsets { .. }
            | Self::ReadOffsets { .. }
            | Self::ForgetTopics { .. } => None,
        }
    }
}

/// What the worker reports.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The instance is up: RUNNING, or PAUSED or STOPPED if that was the target.
    Started {
        run: Run,
        instance: Instance,
        target: TargetState,
        version: Option<String>,
    },
    /// A change of target state has taken effect.
    TargetReached {
        run: Run,
        instance: Instance,
        target: TargetState,
    },
    /// The instance could not start, or ended by itself. It is gone.
    Failed {
        run: Run,
        instance: Instance,
        trace: String,
    },
    /// The instance is gone because it was told to stop.
    Stopped {
        run: Run,
        instance: Instance,
    },
    /// The connector asks for `task_configs` to be called again.
    ReconfigurationWanted {
        run: Run,
        connector: ConnectorName,
    },
    /// The configuration's references stand for other values than those that the instance was told.
    ValuesChanged {
        run: Run,
        instance: Instance,
    },
    /// An answer to [`Command::TaskConfigs`]; an error has the text for people.
    TaskConfigs {
        token: Token,
        configs: Result<Vec<RawConfig>, String>,
    },
    Validated {
        token: Token,
        answer: Result<Validation, ValidationError>,
    },
    OffsetsAltered {
        token: Token,
        answer: Result<OffsetsOutcome, OffsetsError>,
    },
    OffsetsRead {
        token: Token,
        answer: Result<Vec<OffsetEntry>, OffsetsError>,
    },
    /// The task wrote to or read from this topic for the first time in its run, or since
    /// [`Command::ForgetTopics`] (KIP-558).
    TopicUsed {
        run: Run,
        task: TaskId,
        topic: String,
    },
}

/// What a connector plugin says of a configuration: its definition and its own verdicts.
#[derive(Clone, Debug, PartialEq)]
pub struct Validation {
    pub kind: PluginKind,
    pub version: Option<String>,
    pub config_def: ConfigDef,
    /// What the plugin itself has to say; keys it has no opinion on are absent. The worker's checks by
    /// `config_def` are not in here: the herder does those.
    pub values: Vec<ConfigValue>,
    /// Whether the worker's grants allow what the configuration asks (`sandbox.*` keys), by key.
    pub refused_grants: Vec<ConfigValue>,
    /// What the configuration's references stand for: their values are judged, but never shown.
    pub resolution: Resolution,
}

/// Why a plugin could not be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValidationError {
    /// No plugin of this class: the text lists what there is.
    UnknownClass(String),
    /// The plugin failed or broke a limit while it validated.
    Failed(String),
}

/// How altering offsets ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OffsetsOutcome {
    /// The connector says that it agrees.
    Confirmed,
    /// Connect's offsets were changed; the connector has no opinion.
    FrameworkOnly,
}

/// Why offsets were not read or altered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OffsetsError {
    /// The request is wrong: bad entry, or the connector refuses it.
    Refused(String),
    /// Kafka, the store or the plugin failed.
    Failed(String),
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run {}", self.0)
    }
}
