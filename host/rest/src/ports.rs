//! What this crate needs of the rest of the worker.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use bulkhead_herder::ClusterView;
use bulkhead_herder::api::{Millis, Refusal, Reply, Request};
use bulkhead_model::Instance;
use serde::Serialize;
use utoipa::ToSchema;

use crate::levels::Level;

/// The way to the herder, wherever it runs.
///
/// The future of [`HerderHandle::request`] is dropped when the client goes away or the time is up; the
/// herder carries the request out all the same.
pub trait HerderHandle: Clone + Send + Sync + 'static {
    /// Waits for the herder's answer.
    fn request(&self, request: Request) -> impl Future<Output = Result<Reply, Refusal>> + Send;

    /// What the herder knew after its last step; doesn't wait.
    fn view(&self) -> Arc<ClusterView>;

    /// A sentence about what the herder is doing, for answers that come too late.
    fn stage(&self) -> String;

    /// Whether the worker has yet to finish its start; `/health` says so if the herder doesn't answer.
    fn is_starting(&self) -> bool {
        false
    }
}

/// What the sandbox knows of the instances on this worker.
pub trait SandboxView: Send + Sync + 'static {
    /// None if the instance doesn't run here. It is asked for every instance at each scrape of `/metrics`,
    /// and must not wait.
    fn usage(&self, instance: &Instance) -> Option<InstanceUsage>;
}

/// What an instance has, and how much of it it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceUsage {
    pub memory_bytes: u64,
    /// The most that it had since it started.
    pub peak_memory_bytes: u64,
    /// CPU time since it started.
    pub cpu: Duration,
    /// Log lines that were dropped because there were too many.
    pub dropped_log_lines: u64,
    pub limits: InstanceLimits,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceLimits {
    pub memory_bytes: u64,
    /// Wall-clock time that a call into the plugin may take.
    pub call_timeout: Duration,
    /// CPU time within one call.
    pub cpu_burst: Duration,
}

/// The levels of loggers, in Connect's terms (KIP-495).
///
/// [`LevelTable`](crate::LevelTable) keeps them; an implementation adds what makes them take effect.
pub trait Loggers: Send + Sync + 'static {
    /// Every logger whose level is known, `root` among them.
    fn list(&self) -> BTreeMap<String, LoggerLevel>;

    /// One of them; `root` in any case.
    fn get(&self, logger: &str) -> Option<LoggerLevel>;

    /// Sets the level of a logger and of all below it. Returns those whose level changed, sorted.
    fn set(&self, logger: &str, level: Level) -> Vec<String>;
}

/// The level of a logger, and when it was last set through this interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggerLevel {
    pub level: Level,
    pub last_modified: Option<Millis>,
}

/// The answer of `GET /`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct ServerInfo {
    pub version: String,
    pub commit: String,
    pub kafka_cluster_id: String,
}
