//! A stand-in for the worker in native tests: one for each thread, so that tests don't see one another.
//!
//! Its clock moves only when somebody waits, so tests with waits take no time.

use std::cell::RefCell;
use std::time::Duration;

use serde_json::Value as Json;

use crate::bindings::base::bulkhead::connect::context::Identity;
use crate::bindings::base::bulkhead::connect::logging::Level;
use crate::bindings::base::bulkhead::connect::metrics::Kind;
use crate::bindings::base::bulkhead::connect::types::SchemaNode;
use crate::{Error, Result, TopicOffset, TopicPartition};

/// What the stand-in holds and what it was told.
#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) now: Duration,
    /// When it asks the instance to stop.
    pub(crate) stop_at: Option<Duration>,
    /// Committed source offsets by source partition.
    pub(crate) committed: Vec<(Json, String)>,
    /// The next reading of offsets fails with this.
    pub(crate) fail_offsets: Option<Error>,
    pub(crate) schemas: Vec<Vec<SchemaNode>>,
    pub(crate) assignment: Vec<TopicPartition>,
    pub(crate) seeks: Vec<TopicOffset>,
    pub(crate) paused: Vec<TopicPartition>,
    pub(crate) reports: Vec<(u64, u32, String)>,
    pub(crate) metrics: Vec<(String, f64)>,
    pub(crate) logged: Vec<String>,
    pub(crate) reconfigurations: u32,
    pub(crate) raised: Vec<String>,
}

thread_local! {
    static HOST: RefCell<Host> = RefCell::default();
}

/// Looks into this thread's stand-in, or changes it.
pub(crate) fn with<T>(look: impl FnOnce(&mut Host) -> T) -> T {
    HOST.with_borrow_mut(look)
}

pub(crate) fn now() -> Duration {
    with(|host| host.now)
}

pub(crate) async fn wait(duration: Duration) -> bool {
    with(|host| {
        let end = host.now + duration;
        host.now = host.stop_at.map_or(end, |stop_at| end.min(stop_at).max(host.now));
    });
    should_stop()
}

pub(crate) fn should_stop() -> bool {
    with(|host| host.stop_at.is_some_and(|stop_at| stop_at <= host.now))
}

pub(crate) fn who_am_i() -> Identity {
    Identity { connector: "test".into(), task: Some(0), generation: 1, tenant: "test".into(), worker: "test".into() }
}

pub(crate) fn log_enabled(_level: Level, _logger: &str) -> bool {
    true
}

pub(crate) fn log(level: Level, logger: &str, message: &str, _fields: &[(String, String)]) {
    eprintln!("{level:?} {logger}: {message}");
    with(|host| host.logged.push(message.to_owned()));
}

pub(crate) fn register_metric(_kind: Kind, name: &str, _description: &str, _tags: &[(String, String)]) -> u32 {
    with(|host| {
        host.metrics.push((name.to_owned(), 0.0));
        u32::try_from(host.metrics.len()).expect("no test has that many metrics")
    })
}

pub(crate) fn record_value(metric: u32, value: f64) {
    with(|host| {
        if let Some((_, sum)) = host.metrics.get_mut(metric as usize - 1) {
            *sum += value;
        }
    });
}

pub(crate) fn request_task_reconfiguration() {
    with(|host| host.reconfigurations += 1);
}

pub(crate) fn raise_error(message: String, _causes: Vec<String>) {
    with(|host| host.raised.push(message));
}

pub(crate) fn committed_offsets(partitions: &[String]) -> Result<Vec<Option<String>>> {
    with(|host| {
        if let Some(error) = host.fail_offsets.take() {
            return Err(error);
        }
        let find = |partition: &String| {
            let wanted: Json = serde_json::from_str(partition).map_err(Error::failed)?;
            Ok(host.committed.iter().find(|(known, _)| *known == wanted).map(|(_, offset)| offset.clone()))
        };
        partitions.iter().map(find).collect()
    })
}

pub(crate) fn register_schema(nodes: &[SchemaNode]) -> Result<u32> {
    with(|host| {
        let known = host.schemas.iter().position(|schema| schema == nodes);
        let index = known.unwrap_or_else(|| {
            host.schemas.push(nodes.to_vec());
            host.schemas.len() - 1
        });
        u32::try_from(index + 1).map_err(Error::failed)
    })
}

pub(crate) fn transactions_enabled() -> bool {
    false
}

pub(crate) fn commit_transaction(_after: Option<u32>) {}

pub(crate) fn abort_transaction(_up_to: Option<u32>) {}

pub(crate) fn assignment() -> Vec<TopicPartition> {
    with(|host| host.assignment.clone())
}

pub(crate) fn seek(offsets: &[TopicOffset]) -> Result<()> {
    with(|host| host.seeks.extend_from_slice(offsets));
    Ok(())
}

pub(crate) fn pause(partitions: &[TopicPartition]) -> Result<()> {
    with(|host| host.paused.extend_from_slice(partitions));
    Ok(())
}

pub(crate) fn resume(partitions: &[TopicPartition]) -> Result<()> {
    with(|host| host.paused.retain(|paused| !partitions.contains(paused)));
    Ok(())
}

pub(crate) fn set_timeout(_timeout: u32) {}

pub(crate) fn request_commit() {}

pub(crate) fn has_reporter() -> bool {
    true
}

pub(crate) fn report(batch: u64, index: u32, message: &str) -> Result<()> {
    with(|host| host.reports.push((batch, index, message.to_owned())));
    Ok(())
}
