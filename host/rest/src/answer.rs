//! The bodies of good answers: the herder's replies in Connect's JSON.

use bulkhead_herder::api::{ConnectorInfo, ConnectorKind, ConnectorStatus, ReportedState, TaskInfo};
use bulkhead_model::offset::OffsetEntry;
use bulkhead_model::{ConnectorName, RawConfig, State, TaskId, WorkerId};
use serde::Serialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::document;

/// A connector.
#[derive(Serialize, ToSchema)]
#[schema(as = ConnectorInfo)]
pub(crate) struct Info<'a> {
    #[schema(value_type = String)]
    name: &'a ConnectorName,
    #[schema(value_type = HashMap<String, String>)]
    config: &'a RawConfig,
    #[schema(value_type = Vec<document::TaskId>)]
    tasks: &'a [TaskId],
    #[serde(rename = "type")]
    kind: Kind,
}

#[derive(Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ConnectorType)]
enum Kind {
    Source,
    Sink,
    Unknown,
}

/// A task.
#[derive(Serialize, ToSchema)]
#[schema(as = TaskInfo)]
pub(crate) struct TaskConfig<'a> {
    #[schema(value_type = document::TaskId)]
    id: &'a TaskId,
    #[schema(value_type = HashMap<String, String>)]
    config: &'a RawConfig,
}

/// States of a connector and its tasks.
#[derive(Serialize, ToSchema)]
#[schema(as = StateInfo)]
pub(crate) struct Status<'a> {
    #[schema(value_type = String)]
    name: &'a ConnectorName,
    connector: StateBody<'a>,
    tasks: Vec<TaskState<'a>>,
    #[serde(rename = "type")]
    kind: Kind,
}

/// The state of a task.
#[derive(Serialize, ToSchema)]
pub(crate) struct TaskState<'a> {
    id: u32,
    #[serde(flatten)]
    state: StateBody<'a>,
}

/// The state of a connector or a task.
#[derive(Serialize, ToSchema)]
#[schema(as = State)]
struct StateBody<'a> {
    state: &'static str,
    #[schema(value_type = String)]
    worker_id: &'a WorkerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a str>,
    /// Left out for a plugin without version, null while no instance has reported one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    version: Option<Option<&'a str>>,
}

/// Offsets of a connector.
#[derive(Serialize, ToSchema)]
pub(crate) struct Offsets<'a> {
    offsets: Vec<Offset<'a>>,
}

#[derive(Serialize, ToSchema)]
struct Offset<'a> {
    #[schema(value_type = Option<Object>, required)]
    partition: Option<&'a Map<String, Value>>,
    #[schema(value_type = Option<Object>, required)]
    offset: Option<&'a Map<String, Value>>,
}

/// What was done.
#[derive(Serialize, ToSchema)]
pub(crate) struct Message {
    pub(crate) message: &'static str,
}

impl<'a> From<&'a ConnectorInfo> for Info<'a> {
    fn from(info: &'a ConnectorInfo) -> Self {
        Self { name: &info.name, config: &info.config, tasks: &info.tasks, kind: info.kind.into() }
    }
}

impl<'a> From<&'a TaskInfo> for TaskConfig<'a> {
    fn from(info: &'a TaskInfo) -> Self {
        Self { id: &info.id, config: &info.config }
    }
}

impl<'a> From<&'a ConnectorStatus> for Status<'a> {
    fn from(status: &'a ConnectorStatus) -> Self {
        Self {
            name: &status.name,
            connector: StateBody::from(&status.connector),
            tasks: status.tasks.iter().map(|(number, state)| TaskState::new(*number, state)).collect(),
            kind: status.kind.into(),
        }
    }
}

impl<'a> TaskState<'a> {
    pub(crate) fn new(number: u32, state: &'a ReportedState) -> Self {
        Self { id: number, state: StateBody::from(state) }
    }
}

impl<'a> From<&'a ReportedState> for StateBody<'a> {
    fn from(reported: &'a ReportedState) -> Self {
        let unreported = reported.version.is_none() && reported.state == State::Unassigned.name();
        Self {
            state: reported.state,
            worker_id: &reported.worker,
            trace: reported.trace.as_deref().filter(|trace| !trace.is_empty()),
            version: if unreported { Some(None) } else { reported.version.as_deref().map(Some) },
        }
    }
}

impl<'a> From<&'a [OffsetEntry]> for Offsets<'a> {
    fn from(entries: &'a [OffsetEntry]) -> Self {
        let offset =
            |entry: &'a OffsetEntry| Offset { partition: entry.partition.as_ref(), offset: entry.offset.as_ref() };
        Self { offsets: entries.iter().map(offset).collect() }
    }
}

impl From<ConnectorKind> for Kind {
    fn from(kind: ConnectorKind) -> Self {
        match kind {
            ConnectorKind::Source => Self::Source,
            ConnectorKind::Sink => Self::Sink,
            ConnectorKind::Unknown => Self::Unknown,
        }
    }
}
