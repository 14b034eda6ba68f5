//! What a worker answers. Members that no command shows are left out, and absent ones are empty.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::arguments::State as Wanted;

/// Of an error.
#[derive(Deserialize)]
pub struct Complaint {
    message: Option<String>,
}

/// `GET /connectors?expand=status&expand=info`
pub type Listing = BTreeMap<String, Listed>;

#[derive(Deserialize)]
pub struct Listed {
    pub status: Status,
}

#[derive(Deserialize)]
pub struct Status {
    pub name: String,
    pub connector: State,
    pub tasks: Vec<Task>,
    #[serde(rename = "type", default)]
    pub kind: String,
}

#[derive(Deserialize)]
pub struct State {
    pub state: String,
    pub worker_id: String,
    pub trace: Option<String>,
}

#[derive(Deserialize)]
pub struct Task {
    pub id: u32,
    #[serde(flatten)]
    pub state: State,
}

#[derive(Deserialize)]
pub struct Info {
    pub name: String,
}

/// `{"offsets": […]}`, each entry as the worker has written it, so that its numbers keep their digits.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Offsets<Entry = Box<RawValue>> {
    pub offsets: Vec<Entry>,
}

/// An entry of [`Offsets`].
#[derive(Deserialize)]
pub struct Offset {
    pub partition: Box<RawValue>,
    pub offset: Box<RawValue>,
}

/// The partition of a sink's offset.
#[derive(Deserialize)]
pub struct KafkaPartition {
    pub kafka_topic: String,
    pub kafka_partition: i32,
}

#[derive(Deserialize)]
pub struct KafkaOffset {
    pub kafka_offset: i64,
}

#[derive(Deserialize)]
pub struct Message {
    pub message: String,
}

#[derive(Deserialize)]
pub struct Topics {
    pub topics: Vec<String>,
}

#[derive(Deserialize)]
pub struct Plugin {
    pub class: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub version: Option<String>,
}

/// `GET /bulkhead/plugins`, and what is installed there.
#[derive(Deserialize)]
pub struct PluginFile {
    pub file: String,
    pub plugins: Vec<Plugin>,
    pub broken: Option<String>,
}

#[derive(Deserialize)]
pub struct Level {
    pub level: String,
}

/// `PUT …/validate`
#[derive(Deserialize)]
pub struct Validated {
    pub error_count: u64,
    pub configs: Vec<ValidatedKey>,
}

#[derive(Deserialize)]
pub struct ValidatedKey {
    pub value: Option<ValidatedValue>,
}

#[derive(Deserialize)]
pub struct ValidatedValue {
    pub name: String,
    pub errors: Vec<String>,
}

#[derive(Deserialize)]
pub struct Sandboxes {
    pub condition: Option<String>,
    pub connector: Option<Sandbox>,
    pub tasks: Vec<Sandbox>,
}

/// Of an instance on another worker than the one that was asked only the first two say something.
#[derive(Deserialize)]
pub struct Sandbox {
    pub id: Option<u32>,
    pub worker_id: Option<String>,
    pub state: Option<String>,
    pub restarts: Option<u32>,
    pub last_error: Option<String>,
    pub limits: Option<Limits>,
    pub memory: Option<Memory>,
    pub cpu_ms: Option<u64>,
}

#[derive(Deserialize)]
pub struct Limits {
    pub memory_bytes: u64,
}

#[derive(Deserialize)]
pub struct Memory {
    pub now_bytes: u64,
    pub peak_bytes: u64,
}

impl Complaint {
    /// The message of an error; nothing, if it isn't a worker's.
    pub fn read(text: &str) -> Option<String> {
        let complaint: Self = serde_json::from_str(text).ok()?;
        Some(complaint.message.unwrap_or_else(|| "the worker doesn't say why".to_owned()))
    }
}

impl Status {
    /// What the connector is to do. A failed one, or one that nobody runs at the moment, is to run.
    pub fn wanted(&self) -> Wanted {
        match self.connector.state.as_str() {
            "PAUSED" => Wanted::Paused,
            "STOPPED" => Wanted::Stopped,
            _ => Wanted::Running,
        }
    }

    /// Whether it has stopped, and all of its tasks have ended.
    pub fn is_at_rest(&self) -> bool {
        self.wanted() == Wanted::Stopped && self.tasks.is_empty()
    }
}
