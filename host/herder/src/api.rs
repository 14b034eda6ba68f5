//! What goes into the herder and what comes out of it.

use std::fmt;
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
    ConfigRecord(LoggedConfig),
    /// A record of the status log.
    StatusRecord(StatusRecord),
    /// Both logs were read to their ends for the first time; from now on what is read is news. Never
    /// comes to a standalone worker.
    CaughtUp,
    /// An append is durable, or isn't.
    Appended { token: Token, outcome: Result<(), String> },
    /// The same for what was written under the claim on the config log.
    AppendedAsLeader { token: Token, outcome: Result<(), NotWritten> },
    /// What became of [`Effect::ClaimLog`].
    LogClaimed { token: Token, outcome: Result<(), String> },
    /// All that was in the config log when [`Effect::ReadToEnd`] was performed has been handed over.
    ReadToEnd { token: Token, outcome: Result<(), String> },
    /// News from the worker.
    Work(work::Event),
    /// News of the group's membership.
    Group(GroupEvent),
    /// What the leader said to [`Effect::ForwardTasks`].
    Forwarded { token: Token, outcome: Result<(), ForwardError> },
    /// Random bytes for [`Effect::NewSessionKey`].
    SessionKey { token: Token, key: Secret },
    /// The process is to end: stop everything, then [`Effect::Leave`] and [`Effect::Finished`].
    Shutdown,
    /// The deadline of [`crate::Herder::next_deadline`] has passed.
    Tick,
}

/// What was read from one place of the config log.
#[derive(Clone, Debug, PartialEq)]
pub struct LoggedConfig {
    /// The place behind it: offset of the record plus one. Connect calls this the config offset.
    pub next_offset: i64,
    /// None if the record is well-formed but says nothing to this version.
    pub record: Option<ConfigRecord>,
}

/// News from the consumer-group protocol; the bytes are Connect's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GroupEvent {
    /// Somebody joined or left: answer with [`Effect::Join`].
    RebalanceNeeded,
    /// This worker leads the coming generation: answer with [`Effect::Assign`].
    Elected {
        generation: i32,
        /// Name of the protocol that the broker chose.
        protocol: String,
        /// The id of this worker's member.
        member: String,
        /// Member ids and their metadata.
        members: Vec<(String, Vec<u8>)>,
    },
    /// The generation is complete.
    Synced { generation: i32, protocol: String, member: String, assignment: Vec<u8> },
    /// The coordinator doesn't know this member any more: it joins anew, with what it holds.
    Lost { reason: String },
    /// No coordinator can be reached: others may be given this worker's work.
    CoordinatorLost { reason: String },
    /// The client left the group because the herder gave no sign of life for the rebalance time-out.
    Left { reason: String },
}

/// Why records that only a leader may write are not known to be in the log. The claim on it is gone with them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotWritten {
    /// Another worker has claimed the log since: nothing was written, or it was taken back.
    #[error("another worker leads: {0}")]
    Fenced(String),
    #[error("{0}")]
    Failed(String),
}

/// Why the leader didn't take task configurations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForwardError {
    /// The HTTP status of its answer; none if there was no answer.
    pub status: Option<u16>,
    pub message: String,
}

/// Bytes that no log may show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub Vec<u8>);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[hidden, {} bytes]", self.0.len())
    }
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
    /// Claim the config log, so that nobody who claimed it before can write to it any more; answered by
    /// [`Event::LogClaimed`]. Only with `exactly.once.source.support`, as the next two.
    ClaimLog {
        token: Token,
    },
    /// Write these under the claim, all or none of them. [`Event::AppendedAsLeader`] must follow.
    AppendAsLeader {
        token: Token,
        records: Vec<ConfigRecord>,
    },
    /// This worker doesn't lead any more: give the claim up.
    ForgetClaim,
    Work(work::Command),
    /// Read the config log to what is its end now; answered by [`Event::ReadToEnd`].
    ReadToEnd {
        token: Token,
    },
    /// Join the group, or join it again, with these protocols in order of preference.
    Join {
        protocols: Vec<(&'static str, Vec<u8>)>,
    },
    /// What every member gets, in answer to [`GroupEvent::Elected`].
    Assign {
        generation: i32,
        assignments: Vec<(String, Vec<u8>)>,
    },
    Leave {
        reason: String,
    },
    /// POST to `/connectors/{name}/tasks` of the leader; answered by
    /// [`Event::Forwarded`].
    ForwardTasks {
        token: Token,
        /// The leader's URL, ending in a slash.
        leader: String,
        connector: ConnectorName,
        body: Vec<u8>,
        /// None while the group doesn't sign (protocols before `sessioned`).
        signature: Option<Signature>,
    },
    /// So many random bytes are wanted, for a session key.
    NewSessionKey {
        token: Token,
        size: usize,
    },
    /// A logger's level was set for the whole cluster (KIP-976); none goes back to the level above.
    SetLoggerLevel {
        logger: String,
        level: Option<String>,
    },
    /// Everything has stopped and said farewell: the process may end.
    Finished,
}

/// The two headers of a signed internal request (KIP-507).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// `X-Connect-Request-Signature-Algorithm`.
    pub algorithm: String,
    /// `X-Connect-Authorization`: base64 of the MAC over the body.
    pub mac: String,
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
    /// `tasks-fencing-NAME` (KIP-618): how many tasks the connector had when others were last fenced.
    TaskCount { name: ConnectorName, tasks: u32 },
    /// `session-key` (KIP-507).
    SessionKey(SessionKey),
    /// `logger-cluster-NAME` (KIP-976).
    LoggerLevel { logger: String, level: Option<String> },
}

/// Signs the requests of workers to their leader (KIP-507).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionKey {
    pub key: Secret,
    /// Of the key, by Java's name: `HmacSHA256`.
    pub algorithm: String,
    /// Milliseconds since 1970, by the clock of the leader that made it.
    pub created: i64,
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
    /// `offsets` are written before it starts.
    CreateConnector {
        name: ConnectorName,
        config: ConfigPatch,
        initial_state: Option<TargetState>,
        offsets: Option<Vec<OffsetEntry>>,
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
    /// POST tasks, from a worker whose connector wants other tasks (KIP-507 when signed).
    PublishTasks {
        name: ConnectorName,
        configs: Vec<RawConfig>,
        proof: Proof,
    },
    /// PUT fence, from a worker that is to start a task of an exactly-once source (KIP-618).
    Fence {
        name: ConnectorName,
        proof: Proof,
    },
    /// PUT admin/loggers with `scope=cluster` (KIP-976).
    SetLoggerLevel {
        logger: String,
        level: Option<String>,
    },
}

/// What shows that an internal request comes from a worker of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proof {
    /// `X-Connect-Request-Signature-Algorithm`.
    pub algorithm: Option<String>,
    /// `X-Connect-Authorization`.
    pub mac: Option<String>,
    /// The body as it came, which is what is signed.
    pub body: Vec<u8>,
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
    /// Asking again is of no use.
    #[error("{0}")]
    Exists(String),
    #[error("{0}")]
    BadRequest(String),
    /// The connector, its plugin or a log failed.
    #[error("{0}")]
    Failed(String),
    #[error("{0}")]
    Forbidden(String),
    #[error("{0}")]
    Unavailable(String),
    /// Another worker has to be asked: the leader, or the owner of an instance. None: nobody knows
    /// yet who that is.
    #[error("{}", elsewhere(to.as_deref()))]
    Elsewhere {
        /// Its URL, ending in a slash.
        to: Option<String>,
    },
}

impl Refusal {
    /// The HTTP status of the answer.
    pub fn status(&self) -> u16 {
        match self {
            Self::BadRequest(_) => 400,
            Self::Forbidden(_) => 403,
            Self::NotFound(_) => 404,
            Self::Conflict(_) | Self::Exists(_) | Self::Elsewhere { .. } => 409,
            Self::Failed(_) => 500,
            Self::Unavailable(_) => 503,
        }
    }
}

/// For whoever can't pass the request on.
fn elsewhere(to: Option<&str>) -> String {
    match to {
        Some(url) => format!(
            "Cannot complete request because of a conflicting operation (e.g. worker rebalance): it belongs to {url}"
        ),
        None => "Cannot complete request because of a conflicting operation (e.g. worker rebalance)".to_owned(),
    }
}
