//! What this crate needs of the rest of the worker.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bulkhead_herder::ClusterView;
use bulkhead_herder::api::{Millis, Refusal, Reply, Request};
use bulkhead_model::Instance;
use bulkhead_model::plugin::PluginDesc;
use serde::Serialize;
use utoipa::ToSchema;

use crate::levels::Level;

pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

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

    /// What a task of this worker has beside itself; must not wait.
    fn parts(&self, instance: &Instance) -> Vec<PartUsage>;
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

/// A transform, predicate or converter of a plugin, in an instance of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartUsage {
    pub kind: PartKind,
    pub alias: String,
    /// Class of the plugin.
    pub plugin: String,
    pub usage: InstanceUsage,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum PartKind {
    Transform,
    Predicate,
    Converter,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceLimits {
    pub memory_bytes: u64,
    /// Wall-clock time that a call into the plugin may take.
    pub call_timeout: Duration,
    /// CPU time within one call.
    pub cpu_burst: Duration,
}

/// The files that plugins are in on this worker, and the way to hand in another.
pub trait PluginFiles: Send + Sync + 'static {
    /// What there is now; must not wait.
    fn list(&self) -> Vec<PluginFile>;

    /// How many bytes a plugin that is handed in may have; none if none is taken.
    fn max_bytes(&self) -> Option<u64>;

    /// Begins to take one.
    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn PluginUpload>, UploadError>>;
}

/// A plugin on its way in; dropping it leaves nothing behind.
pub trait PluginUpload: Send {
    /// Takes the next piece.
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), UploadError>>;

    /// Takes what has come for the whole: opens it, and keeps it if it is of use.
    fn install(self: Box<Self>) -> BoxFuture<'static, Result<Installed, UploadError>>;
}

/// A file on `plugin.path`.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginFile {
    /// Without its folder.
    pub name: String,
    /// SHA-256 in hexadecimal; none if it is no component.
    pub digest: Option<String>,
    pub plugins: Vec<Arc<PluginDesc>>,
    /// Why it is of no use, or not in full.
    pub faults: Vec<String>,
}

/// What became of a plugin that was handed in.
#[derive(Clone, Debug, PartialEq)]
pub struct Installed {
    pub file: PluginFile,
    /// False if a file of the same content was there already.
    pub is_new: bool,
}

/// Why a plugin was not taken.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UploadError {
    /// It is no plugin.
    #[error("{0}")]
    Unusable(String),
    /// What is there already is in the way.
    #[error("{0}")]
    Conflict(String),
    /// Another one is being taken.
    #[error("{0}")]
    Busy(String),
    #[error("{0}")]
    Failed(String),
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
