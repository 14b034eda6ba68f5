//! What goes into the herder and what comes out of it.

use std::sync::Arc;

use bulkhead_model::offset::OffsetEntry;
use bulkhead_model::plugin::PluginCatalog;
use bulkhead_model::work;
use bulkhead_model::{ConfigPatch, ConnectorName, RawConfig, State, TargetState, TaskId, WorkerId};

use crate::validate::ConfigInfos;

/// Milliseconds since 1970, by the worker's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

impl Millis {
    pub(crate) fn plus(self, millis: u64) -> Self {
        Self(self.0.saturating_add(millis))
    }
}

/// Ties a reply to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// Ties the outcome of an effect to the effect.
pub use work::Token;

/// Something that happened. The driver hands them over one at a time.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A REST request that needs the herder.
    Request { id: RequestId, request: Request },
    /// The set of installed plugins, at start and whenever `plugin.path` changed.
    Plugins(Arc<PluginCatalog>),
    /// A record of the config log, in log order; our own come back this way as well.
    ConfigRecord(ConfigRecord),
    /// A record of the status log.
    StatusRecord(StatusRecord),
    /// An append is durable, or isn't.
    Appended { token: Token, outcome: Result<(), String> },
    /// News from the worker.
    Work(work::Event),
    /// The deadline of [`crate::Herder::next_deadline`] has passed.
    Tick,
}

/// Something to be done. The driver performs them in order and brings outcomes back as events.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Exactly one for each request.
    Reply {
        id: RequestId,
        answer: Result<Reply, Refusal>,
    },
    /// Write these in order. [`Event::Appended`] must follow, and whatever was written comes back as
    /// [`Event::ConfigRecord`]; which of the two is first doesn't matter.
    AppendConfig {
        token: Token,
        records: Vec<ConfigRecord>,
    },
    /// The same for the status log.
    AppendStatus {
        token: Token,
        record: StatusRecord,
    },
    Work(work::Command),
}

/// A record of the config log (config topic of a cluster, memory of a standalone worker).
#[derive(Clone, Debug, PartialEq)]
pub enum ConfigRecord {
    /// `connector-NAME`; none removes it.
    Connector { name: ConnectorName, config: Option<RawConfig> },
    /// `target-state-NAME`; none removes it.
    TargetState { name: ConnectorName, state: Option<TargetState> },
    /// `task-NAME-N`: takes effect with the commit.
    Task { id: TaskId, config: RawConfig },
    /// `commit-NAME`: the task records before it, this many, are now the connector's tasks.
    Commit { name: ConnectorName, tasks: u32 },
    /// `restart-connector-NAME` (KIP-745).
    Restart(RestartRequest),
}

/// Which instances a restart is about (KIP-745).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestartRequest {
    pub connector: ConnectorName,
    pub only_failed: bool,
    pub include_tasks: bool,
}

/// A record of the status log.
#[derive(Clone, Debug, PartialEq)]
pub enum StatusRecord {
    /// None removes the status.
    Connector {
        name: ConnectorName,
        status: Option<Status>,
    },
    Task {
        id: TaskId,
        status: Option<Status>,
    },
    /// The connector uses a topic (KIP-558); `used: false` forgets it.
    Topic {
        connector: ConnectorName,
        topic: String,
        task: u32,
        used: bool,
        discovered: Millis,
    },
}

/// What a worker says of an instance.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    pub state: State,
    pub worker: WorkerId,
    pub generation: u64,
    /// The plugin's version (KIP-891); none while no instance has reported one.
    pub version: Option<String>,
}

/// What REST asks of the herder. What REST answers from [`crate::ClusterView`] isn't here.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// `/health` (KIP-1017): answered as soon as the herder gets to it.
    Ping,
    /// POST: fails if the connector exists. `initial_state` as in KIP-980.
    CreateConnector {
        name: ConnectorName,
        config: ConfigPatch,
        initial_state: Option<TargetState>,
    },
    /// PUT config: creates or replaces.
    PutConfig {
        name: ConnectorName,
        config: ConfigPatch,
    },
    /// PATCH config (KIP-477): null removes a key.
    PatchConfig {
        name: ConnectorName,
        patch: ConfigPatch,
    },
    DeleteConnector {
        name: ConnectorName,
    },
    ConnectorInfo {
        name: ConnectorName,
    },
    ConnectorConfig {
        name: ConnectorName,
    },
    TaskInfos {
        name: ConnectorName,
    },
    SetTargetState {
        name: ConnectorName,
        state: TargetState,
    },
    /// POST restart without flags: the connector instance alone, answered when it is done.
    RestartConnector {
        name: ConnectorName,
    },
    /// POST restart with flags.
    Restart(RestartRequest),
    RestartTask {
        id: TaskId,
    },
    Offsets {
        name: ConnectorName,
    },
    /// PATCH offsets; with none, DELETE offsets: reset all.
    AlterOffsets {
        name: ConnectorName,
        offsets: Option<Vec<OffsetEntry>>,
    },
    ResetTopics {
        name: ConnectorName,
    },
    ValidateConfig {
        config: ConfigPatch,
    },
}

/// A good answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    Done,
    Created(ConnectorInfo),
    Connector(ConnectorInfo),
    Config(RawConfig),
    Tasks(Vec<TaskInfo>),
    /// 202 of a restart: present states with RESTARTING for those that will be restarted.
    Restarting(ConnectorStatus),
    Offsets(Vec<OffsetEntry>),
    OffsetsAltered {
        outcome: work::OffsetsOutcome,
        reset: bool,
    },
    Validated(ConfigInfos),
}

#[derive(Clone, Debug, PartialEq)]
pub struct ConnectorInfo {
    pub name: ConnectorName,
    pub config: RawConfig,
    pub tasks: Vec<TaskId>,
    /// `source`, `sink` or `unknown`.
    pub kind: ConnectorKind,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TaskInfo {
    pub id: TaskId,
    pub config: RawConfig,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectorKind {
    Source,
    Sink,
    /// The class isn't installed.
    Unknown,
}

/// The body of `GET /connectors/{name}/status`.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectorStatus {
    pub name: ConnectorName,
    pub kind: ConnectorKind,
    pub connector: ReportedState,
    /// By task number.
    pub tasks: Vec<(u32, ReportedState)>,
}

/// A state as REST shows it. The trace of a failure stays beside RESTARTING.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportedState {
    pub state: &'static str,
    pub worker: WorkerId,
    pub trace: Option<String>,
    pub version: Option<String>,
}

/// Why a request was not carried out. REST chooses the HTTP status from the variant
/// ([`Refusal::status`]), never from the text.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Refusal {
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Conflict(String),
    #[error("{0}")]
    BadRequest(String),
    /// The connector, its plugin or a log failed.
    #[error("{0}")]
    Failed(String),
}

impl Refusal {
    /// The HTTP status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::NotFound(_) => 404,
            Self::Conflict(_) => 409,
            Self::Failed(_) => 500,
        }
    }
}
