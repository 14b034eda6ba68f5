//! Where a partition begins for a group.
//!
//! librdkafka would find that out by itself. But it takes "nothing committed" for an error, and rests for
//! a tenth of a second before it asks where the partition begins: most of the start of a new sink.

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::{Offset, TopicPartitionList};

use super::context::Context;
use crate::properties::Effective;

/// How long a broker may take; after that librdkafka asks it again.
const WAIT: Duration = Duration::from_secs(1);

/// Brokers are asked of one partition after the other: of many, librdkafka learns sooner.
const FEW: usize = 8;

/// Whether partitions begin at their first record if nothing is committed (`auto.offset.reset`).
pub(super) fn is_earliest(properties: &Effective) -> bool {
    properties.get("auto.offset.reset") == Some("earliest")
}

/// The partitions with the offsets that the group has committed, or with those of their first records. These are
/// numbers, too: what librdkafka had to ask a broker for could come after a seek, and undo it.
pub(super) fn of(consumer: &BaseConsumer<Context>, partitions: &TopicPartitionList) -> Option<TopicPartitionList> {
    if partitions.count() > FEW {
        return None;
    }
    let committed = consumer.committed_offsets(partitions.clone(), WAIT).ok()?;
    for mut partition in committed.elements() {
        if partition.offset() == Offset::Invalid && partition.error().is_ok() {
            let (first, _) = consumer.fetch_watermarks(partition.topic(), partition.partition(), WAIT).ok()?;
            partition.set_offset(Offset::Offset(first)).ok()?;
        }
    }
    Some(committed)
}
