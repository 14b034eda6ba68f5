//! The imports of the contract, with the SDK's error type.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use crate::Result;
use crate::bindings::base::bulkhead::connect::types::{ErrorInfo, SchemaNode};
use crate::bindings::base::bulkhead::connect::{schemas, stop_signal};
use crate::bindings::connector::bulkhead::connect::connector_context;
use crate::bindings::sink::bulkhead::connect::sink_context;
use crate::bindings::source::bulkhead::connect::offset_reader;
use crate::{TopicOffset, TopicPartition};

pub(crate) use crate::bindings::base::bulkhead::connect::context::{should_stop, who_am_i};
pub(crate) use crate::bindings::base::bulkhead::connect::logging::{enabled as log_enabled, log};
pub(crate) use crate::bindings::base::bulkhead::connect::metrics::{record_value, register as register_metric};
pub(crate) use crate::bindings::connector::bulkhead::connect::connector_context::request_task_reconfiguration;
pub(crate) use crate::bindings::sink::bulkhead::connect::sink_context::{
    assignment, has_reporter, request_commit, set_timeout,
};
pub(crate) use crate::bindings::source::bulkhead::connect::transaction_context::{
    abort as abort_transaction, commit as commit_transaction, enabled as transactions_enabled,
};

static ORIGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Time on a clock that never goes back; only differences mean anything.
pub(crate) fn now() -> Duration {
    ORIGIN.elapsed()
}

pub(crate) async fn wait(duration: Duration) -> bool {
    stop_signal::wait(u32::try_from(duration.as_micros().div_ceil(1000)).unwrap_or(u32::MAX)).await
}

pub(crate) fn raise_error(message: String, causes: Vec<String>) {
    connector_context::raise_error(&ErrorInfo { message, causes });
}

pub(crate) fn committed_offsets(partitions: &[String]) -> Result<Vec<Option<String>>> {
    Ok(offset_reader::offsets(partitions)?)
}

pub(crate) fn register_schema(nodes: &[SchemaNode]) -> Result<u32> {
    Ok(schemas::register(nodes)?)
}

pub(crate) fn seek(offsets: &[TopicOffset]) -> Result<()> {
    Ok(sink_context::seek(offsets)?)
}

pub(crate) fn pause(partitions: &[TopicPartition]) -> Result<()> {
    Ok(sink_context::pause(partitions)?)
}

pub(crate) fn resume(partitions: &[TopicPartition]) -> Result<()> {
    Ok(sink_context::resume(partitions)?)
}

pub(crate) fn report(batch: u64, index: u32, message: &str) -> Result<()> {
    Ok(sink_context::report(batch, index, message)?)
}
