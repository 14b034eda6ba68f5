//! Names of connectors, tasks and workers.

use std::borrow::Borrow;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// The name a user gave in `POST /connectors`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConnectorName(pub Arc<str>);

/// Shown as `orders-3`: task 3 of connector `orders`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TaskId {
    pub connector: ConnectorName,
    #[serde(rename = "task")]
    pub number: u32,
}

/// Whatever lives in a sandbox of its own: the connector itself, or one of its tasks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Instance {
    Connector(ConnectorName),
    Task(TaskId),
}

/// `host:port` of a worker's REST interface, the `worker_id` of every status.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(pub Arc<str>);

impl ConnectorName {
    pub fn new(name: impl AsRef<str>) -> Self {
        Self(Arc::from(name.as_ref()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn task(&self, number: u32) -> TaskId {
        TaskId { connector: self.clone(), number }
    }
}

impl Borrow<str> for ConnectorName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ConnectorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for TaskId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.connector, self.number)
    }
}

impl Instance {
    pub fn connector(&self) -> &ConnectorName {
        match self {
            Self::Connector(name) => name,
            Self::Task(task) => &task.connector,
        }
    }

    pub fn task_number(&self) -> Option<u32> {
        match self {
            Self::Connector(_) => None,
            Self::Task(task) => Some(task.number),
        }
    }
}

impl fmt::Display for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connector(name) => name.fmt(f),
            Self::Task(task) => task.fmt(f),
        }
    }
}

impl fmt::Display for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
