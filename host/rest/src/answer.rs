//! The bodies of good answers: the herder's replies in Connect's JSON.

use bulkhead_herder::api::{ConnectorInfo, ConnectorKind, ConnectorStatus, ReportedState, TaskInfo};
use bulkhead_model::offset::OffsetEntry;
use bulkhead_model::{ConnectorName, RawConfig, State, TaskId, WorkerId};
use serde::Serialize;
use serde_json::{Map, Value};

/// `ConnectorInfo`.
#[derive(Serialize)]
pub(crate) struct Info<'a> {
    name: &'a ConnectorName,
    config: &'a RawConfig,
    tasks: &'a [TaskId],
    #[serde(rename = "type")]
    kind: &'static str,
}

/// `TaskInfo`.
#[derive(Serialize)]
pub(crate) struct TaskConfig<'a> {
    id: &'a TaskId,
    config: &'a RawConfig,
}

/// `StateInfo`.
#[derive(Serialize)]
pub(crate) struct Status<'a> {
    name: &'a ConnectorName,
    connector: StateBody<'a>,
    tasks: Vec<TaskState<'a>>,
    #[serde(rename = "type")]
    kind: &'static str,
}

/// `TaskState`.
#[derive(Serialize)]
pub(crate) struct TaskState<'a> {
    id: u32,
    #[serde(flatten)]
    state: StateBody<'a>,
}

#[derive(Serialize)]
struct StateBody<'a> {
    state: &'static str,
    worker_id: &'a WorkerId,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<&'a str>,
    /// Left out for a plugin without version, null while no instance has reported one.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<Option<&'a str>>,
}

/// `Offsets`.
#[derive(Serialize)]
pub(crate) struct Offsets<'a> {
    offsets: Vec<Offset<'a>>,
}

#[derive(Serialize)]
struct Offset<'a> {
    partition: Option<&'a Map<String, Value>>,
    offset: Option<&'a Map<String, Value>>,
}

/// `Message`.
#[derive(Serialize)]
pub(crate) struct Message {
    pub(crate) message: &'static str,
}

impl<'a> From<&'a ConnectorInfo> for Info<'a> {
    fn from(info: &'a ConnectorInfo) -> Self {
        Self { name: &info.name, config: &info.config, tasks: &info.tasks, kind: word(info.kind) }
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
            kind: word(status.kind),
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

fn word(kind: ConnectorKind) -> &'static str {
    match kind {
        ConnectorKind::Source => "source",
        ConnectorKind::Sink => "sink",
        ConnectorKind::Unknown => "unknown",
    }
}
