//! What a sink task may ask of the worker. It takes effect after the current call returns.

use std::time::Duration;

use super::SinkRecord;
use crate::{Result, TopicOffset, TopicPartition, host};

/// The partitions assigned to this task.
pub fn assignment() -> Vec<TopicPartition> {
    host::assignment()
}

/// Goes back: the next `put` starts at these offsets.
pub fn seek(offsets: &[TopicOffset]) -> Result<()> {
    host::seek(offsets)
}

/// Stops the flow of records from these partitions.
pub fn pause(partitions: &[TopicPartition]) -> Result<()> {
    host::pause(partitions)
}

/// Lets it go on.
pub fn resume(partitions: &[TopicPartition]) -> Result<()> {
    host::resume(partitions)
}

/// After a `retriable` error from `put`: wait this long before the next try.
pub fn set_timeout(timeout: Duration) {
    host::set_timeout(u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX));
}

/// Asks for offsets to be committed soon.
pub fn request_commit() {
    host::request_commit();
}

/// Hands a record found bad after its `put` to the dead-letter queue. A record of the `put` at hand is better refused by
/// [`Rejections`](super::Rejections).
pub fn report(record: &SinkRecord<'_>, message: &str) -> Result<()> {
    host::report(record.batch_id(), record.index(), message)
}

/// Whether there is a dead-letter queue or log for [`report`].
pub fn has_reporter() -> bool {
    host::has_reporter()
}
