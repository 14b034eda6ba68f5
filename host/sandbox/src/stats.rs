//! What can be seen of instances from outside.

use std::fmt;
use std::time::Duration;

use bulkhead_model::Instance;

/// All instances of a sandbox, now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gauge {
    /// Stores that exist.
    pub instances: usize,
    /// Bytes of their memories.
    pub memory: u64,
}

/// One instance, now.
#[derive(Clone, Debug, PartialEq)]
pub struct InstanceStats {
    pub instance: Instance,
    /// None for the connector or task itself.
    pub part: Option<Part>,
    /// Class of the plugin.
    pub plugin: String,
    /// Bytes of memory it has, and may have.
    pub memory: u64,
    pub memory_limit: u64,
    /// Wall-clock time that a call into it may take.
    pub call_timeout: Duration,
    /// CPU time that it may use within one call.
    pub cpu_burst: Duration,
    /// CPU time used so far.
    pub cpu: Duration,
    /// Log lines dropped because there were too many.
    pub dropped_log_lines: u64,
    pub metrics: Vec<Metric>,
}

/// What a task has beside itself, in an instance of its own; by alias.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Transform(String),
    Predicate(String),
    /// `key.converter`, `value.converter` or `header.converter`.
    Converter(String),
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transform(alias) => write!(f, "transform `{alias}`"),
            Self::Predicate(alias) => write!(f, "predicate `{alias}`"),
            Self::Converter(alias) => write!(f, "converter `{alias}`"),
        }
    }
}

/// A metric that a guest registered.
#[derive(Clone, Debug, PartialEq)]
pub struct Metric {
    pub kind: MetricKind,
    pub name: String,
    pub description: String,
    pub tags: Vec<(String, String)>,
    /// A counter's or histogram's sum, a gauge's last value.
    pub value: f64,
    /// How often a value was recorded.
    pub count: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    Counter,
    Gauge,
    Histogram,
}
