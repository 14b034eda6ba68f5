//! Plugin instances that do what a test says.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulkhead_model::RawConfig;
use bulkhead_model::config::ConfigValue;
use bulkhead_model::offset::{SourcePartition, TopicOffset, TopicPartition};
use bulkhead_pipeline::batch::{Batch, Encoding, SinkBatch, SourceBatch, Values};
use bulkhead_pipeline::control::Observer;
use bulkhead_pipeline::ports::{
    AlteredOffset, Connector, PluginError, PollLimits, Rejection, SinkControl, SinkTask, SourceDelivery, SourceTask,
};
use tokio::sync::Notify;

/// Of all instances here.
pub(crate) const VERSION: &str = "1.2.3";

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A batch of text values for topic `t`, of source partition `{"p":1}`, with offsets `{"at":N}` that
/// count from `first`.
pub fn texts(first: u64, values: &[&str]) -> SourceBatch {
    let offsets: Vec<_> = (first..).take(values.len()).map(|at| format!(r#"{{"at":{at}}}"#)).collect();
    SourceBatch {
        records: Batch {
            count: values.len(),
            topics: vec!["t".into()],
            keys: Values { encoding: vec![Encoding::None; values.len()], ..Values::default() },
            values: Values {
                encoding: vec![Encoding::Text; values.len()],
                len: values.iter().map(|value| value.len() as u32).collect(),
                ..Values::default()
            },
            data: values.concat().into(),
            ..Batch::default()
        },
        partitions: vec![SourcePartition(r#"{"p":1}"#.into())],
        partition: Vec::new(),
        offset_len: offsets.iter().map(|offset| offset.len() as u32).collect(),
        offsets: offsets.concat().into(),
    }
}

/// Answers with as many task configurations as it may; agrees to altered offsets.
#[derive(Clone, Default)]
pub struct ScriptedConnector {
    log: Arc<Mutex<Vec<String>>>,
    reconfigure: Arc<Notify>,
    /// Never returns from `stop`.
    stuck: bool,
}

impl ScriptedConnector {
    /// One that can't be stopped.
    pub fn stuck() -> Self {
        Self { stuck: true, ..Self::default() }
    }

    /// All calls, one line each.
    pub fn log(&self) -> Vec<String> {
        lock(&self.log).clone()
    }

    /// Lets the connector ask for its tasks to be configured anew.
    pub fn ask_for_reconfiguration(&self) {
        self.reconfigure.notify_one();
    }

    fn note(&self, call: impl Into<String>) {
        lock(&self.log).push(call.into());
    }
}

impl Connector for ScriptedConnector {
    fn version(&self) -> Option<&str> {
        Some(VERSION)
    }

    async fn validate(&self, _config: &RawConfig) -> Result<Vec<ConfigValue>, PluginError> {
        Ok(vec![ConfigValue { name: "seen".to_owned(), visible: true, ..ConfigValue::default() }])
    }

    async fn start(&self, _config: &RawConfig) -> Result<(), PluginError> {
        self.note("start");
        Ok(())
    }

    async fn task_configs(&self, max_tasks: u32) -> Result<Vec<RawConfig>, PluginError> {
        Ok((0..max_tasks).map(|number| RawConfig::from([("number", number.to_string())])).collect())
    }

    async fn stop(&self) -> Result<(), PluginError> {
        self.note("stop");
        if self.stuck {
            std::future::pending::<()>().await;
        }
        Ok(())
    }

    async fn alter_source_offsets(&self, _config: &RawConfig, offsets: &[AlteredOffset]) -> Result<bool, PluginError> {
        self.note(format!("alter {}", offsets.len()));
        Ok(true)
    }

    async fn alter_sink_offsets(
        &self,
        _config: &RawConfig,
        offsets: &[(TopicPartition, Option<i64>)],
    ) -> Result<bool, PluginError> {
        self.note(format!("alter {}", offsets.len()));
        Ok(false)
    }

    async fn wants_reconfiguration(&self) -> Result<(), PluginError> {
        self.reconfigure.notified().await;
        Ok(())
    }
}

/// Hands over what it was given, then waits until it is stopped.
#[derive(Clone, Default)]
pub struct ScriptedSource {
    polls: Arc<Mutex<VecDeque<Result<SourceBatch, PluginError>>>>,
    log: Arc<Mutex<Vec<String>>>,
    stopped: Arc<Notify>,
    is_stopped: Arc<AtomicBool>,
    wants_deliveries: Arc<AtomicBool>,
}

impl ScriptedSource {
    pub fn new(polls: impl IntoIterator<Item = Result<SourceBatch, PluginError>>) -> Self {
        let source = Self::default();
        lock(&source.polls).extend(polls);
        source
    }

    /// One more answer for `poll`.
    pub fn push(&self, poll: Result<SourceBatch, PluginError>) {
        lock(&self.polls).push_back(poll);
    }

    pub fn want_deliveries(self) -> Self {
        self.wants_deliveries.store(true, Relaxed);
        self
    }

    /// Calls other than `poll`, one line each.
    pub fn log(&self) -> Vec<String> {
        lock(&self.log).clone()
    }

    pub fn polls_left(&self) -> usize {
        lock(&self.polls).len()
    }
}

impl SourceTask for ScriptedSource {
    fn version(&self) -> Option<&str> {
        Some(VERSION)
    }

    async fn start(&self, _config: &RawConfig) -> Result<(), PluginError> {
        lock(&self.log).push("start".to_owned());
        Ok(())
    }

    async fn poll(&self, _limits: PollLimits) -> Result<SourceBatch, PluginError> {
        let next = lock(&self.polls).pop_front();
        match next {
            Some(poll) => poll,
            None if self.is_stopped.load(Relaxed) => Ok(SourceBatch::default()),
            None => {
                let _ = tokio::time::timeout(std::time::Duration::from_millis(5), self.stopped.notified()).await;
                Ok(SourceBatch::default())
            }
        }
    }

    fn wants_deliveries(&self) -> bool {
        self.wants_deliveries.load(Relaxed)
    }

    async fn committed(&self, deliveries: Vec<SourceDelivery>) -> Result<(), PluginError> {
        let mut log = lock(&self.log);
        log.extend(deliveries.iter().map(|delivery| format!("delivered {}.{}", delivery.batch, delivery.index)));
        Ok(())
    }

    async fn offsets_committed(&self) -> Result<(), PluginError> {
        lock(&self.log).push("offsets committed".to_owned());
        Ok(())
    }

    async fn stop(&self) -> Result<(), PluginError> {
        lock(&self.log).push("stop".to_owned());
        self.is_stopped.store(true, Relaxed);
        self.stopped.notify_one();
        Ok(())
    }
}

type Put = Result<Vec<Rejection>, PluginError>;

/// Keeps what it was given; answers `put` as told, else with no rejection.
#[derive(Clone, Default)]
pub struct ScriptedSink {
    puts: Arc<Mutex<VecDeque<Put>>>,
    control: Arc<Mutex<SinkControl>>,
    log: Arc<Mutex<Vec<String>>>,
}

impl ScriptedSink {
    pub fn new(puts: impl IntoIterator<Item = Put>) -> Self {
        let sink = Self::default();
        lock(&sink.puts).extend(puts);
        sink
    }

    /// What the guest is to ask of the worker next.
    pub fn ask(&self, control: SinkControl) {
        *lock(&self.control) = control;
    }

    /// All calls, one line each.
    pub fn log(&self) -> Vec<String> {
        lock(&self.log).clone()
    }

    fn note(&self, call: &str, partitions: &[TopicPartition]) {
        let places: Vec<_> = partitions.iter().map(|place| format!(" {}-{}", place.topic, place.partition)).collect();
        lock(&self.log).push(format!("{call}{}", places.concat()));
    }
}

impl SinkTask for ScriptedSink {
    fn version(&self) -> Option<&str> {
        Some(VERSION)
    }

    async fn start(&self, _config: &RawConfig) -> Result<(), PluginError> {
        self.note("start", &[]);
        Ok(())
    }

    async fn open(&self, partitions: &[TopicPartition]) -> Result<(), PluginError> {
        self.note("open", partitions);
        Ok(())
    }

    async fn close(&self, partitions: &[TopicPartition]) -> Result<(), PluginError> {
        self.note("close", partitions);
        Ok(())
    }

    async fn put(&self, batch: &SinkBatch) -> Result<Vec<Rejection>, PluginError> {
        let values: Vec<_> =
            batch.records.records().map(|record| String::from_utf8_lossy(record.value.bytes).into_owned()).collect();
        lock(&self.log).push(format!("put {}", values.join(" ")));
        let next = lock(&self.puts).pop_front();
        next.unwrap_or_else(|| Ok(Vec::new()))
    }

    async fn pre_commit(&self, offered: &[TopicOffset]) -> Result<Vec<TopicOffset>, PluginError> {
        Ok(offered.to_vec())
    }

    fn take_control(&self) -> SinkControl {
        std::mem::take(&mut *lock(&self.control))
    }

    async fn stop(&self) -> Result<(), PluginError> {
        self.note("stop", &[]);
        Ok(())
    }
}

/// Hears what a loop tells, and keeps it to itself.
#[derive(Clone, Copy, Debug)]
pub struct QuietObserver;

impl Observer for QuietObserver {
    fn started(&self) {}
    fn paused(&self) {}
    fn resumed(&self) {}
    fn topic_used(&self, _topic: &str) {}
}
