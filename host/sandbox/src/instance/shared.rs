//! What an instance's actor, its handle and the functions its guest calls have in common.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use bulkhead_model::Instance;
use bulkhead_model::offset::TopicPartition;
use bulkhead_pipeline::ports::{Crash, PluginError, SinkControl};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::watch::Watch;
use crate::host::Metrics;
use crate::output::Output;
use crate::stats::{InstanceStats, Part};

pub(crate) struct Shared {
    /// As texts name it: `task orders-3`.
    pub(crate) name: String,
    pub(crate) instance: Instance,
    pub(crate) part: Option<Part>,
    pub(crate) plugin: String,
    /// Tells lives of the same connector or task apart.
    pub(crate) life: u64,
    pub(crate) worker: Arc<str>,
    pub(crate) memory_limit: u64,
    pub(crate) call_timeout: Duration,
    pub(crate) cpu_burst: Duration,
    pub(crate) memory: Arc<AtomicU64>,
    pub(crate) watch: Watch,
    pub(crate) output: Output,
    pub(crate) metrics: Mutex<Metrics>,
    /// The worker wants the instance to stop.
    pub(crate) stop: CancellationToken,
    /// A connector asked for its tasks to be configured anew.
    pub(crate) reconfigure: Notify,
    /// A connector said of itself that it failed.
    pub(crate) raised: OnceLock<PluginError>,
    pub(crate) sink: Mutex<SinkState>,
    ending: OnceLock<Ending>,
    ended: CancellationToken,
}

/// What a sink task was given, and what it wishes.
#[derive(Default)]
pub(crate) struct SinkState {
    pub(crate) assignment: Vec<TopicPartition>,
    pub(crate) control: SinkControl,
    pub(crate) has_reporter: bool,
}

/// How an instance came to its end.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    /// As it was asked to.
    Stopped,
    Crashed(Crash),
}

/// Everything about an instance that is known before it is there.
pub(crate) struct Origin {
    pub(crate) name: String,
    pub(crate) instance: Instance,
    pub(crate) part: Option<Part>,
    pub(crate) plugin: String,
    pub(crate) life: u64,
    pub(crate) worker: Arc<str>,
    pub(crate) memory_limit: u64,
    pub(crate) log_bytes_per_second: u32,
    pub(crate) call_timeout: Duration,
    pub(crate) idle_cpu: Duration,
}

impl Shared {
    pub(crate) fn new(origin: Origin) -> Self {
        let output = Output::new(origin.instance.clone(), origin.plugin.clone(), origin.log_bytes_per_second);
        Self {
            name: origin.name,
            instance: origin.instance,
            part: origin.part,
            plugin: origin.plugin,
            life: origin.life,
            worker: origin.worker,
            memory_limit: origin.memory_limit,
            call_timeout: origin.call_timeout,
            cpu_burst: origin.idle_cpu,
            memory: Arc::default(),
            watch: Watch::new(origin.idle_cpu),
            output,
            metrics: Mutex::default(),
            stop: CancellationToken::new(),
            reconfigure: Notify::new(),
            raised: OnceLock::new(),
            sink: Mutex::default(),
            ending: OnceLock::new(),
            ended: CancellationToken::new(),
        }
    }

    pub(crate) fn sink(&self) -> MutexGuard<'_, SinkState> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The first ending counts.
    pub(super) fn end(&self, ending: Ending) {
        let _already_ended = self.ending.set(ending);
        self.ended.cancel();
    }

    /// Waits for the end.
    pub(crate) async fn ended(&self) -> Ending {
        self.ended.cancelled().await;
        self.ending.get().cloned().unwrap_or(Ending::Stopped)
    }

    pub(crate) fn stats(&self) -> InstanceStats {
        let metrics = self.metrics.lock().unwrap_or_else(PoisonError::into_inner);
        InstanceStats {
            instance: self.instance.clone(),
            part: self.part.clone(),
            plugin: self.plugin.clone(),
            memory: self.memory.load(Ordering::Relaxed),
            memory_limit: self.memory_limit,
            call_timeout: self.call_timeout,
            cpu_burst: self.cpu_burst,
            cpu: self.watch.spent(),
            dropped_log_lines: self.output.dropped(),
            metrics: metrics.all().to_vec(),
        }
    }
}
