//! Where a partition begins for a group.
//!
//! librdkafka would find that out by itself. But it takes "nothing committed" for an error, and rests for
//! a tenth of a second before it asks where the partition begins: most of the start of a new sink.

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, TopicPartitionList};

use super::context::Context;
use crate::properties::Effective;

/// How long the group's coordinator may take; after that librdkafka asks it again.
const WAIT: Duration = Duration::from_secs(1);

/// What `auto.offset.reset` says, if it isn't to fail.
pub(super) fn reset(properties: &Effective) -> Option<Offset> {
    match properties.get("auto.offset.reset")? {
        "earliest" => Some(Offset::Beginning),
        "latest" => Some(Offset::End),
        _ => None,
    }
}

/// The partitions with the offsets that the group has committed, or with `reset`.
pub(super) fn of(
    consumer: &BaseConsumer<Context>,
    partitions: &TopicPartitionList,
    reset: Offset,
) -> Option<TopicPartitionList> {
    let committed = consumer.committed_offsets(partitions.clone(), WAIT).ok()?;
    for mut partition in committed.elements() {
        if partition.offset() == Offset::Invalid && partition.error().is_ok() {
            partition.set_offset(reset).ok()?;
        }
    }
    Some(committed)
}
