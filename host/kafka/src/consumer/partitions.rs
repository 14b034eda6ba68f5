//! Partitions and offsets, between our words and librdkafka's.

use std::collections::HashSet;

use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_pipeline::ports::ConsumeError;
use rdkafka::{Offset, TopicPartitionList};

/// Partitions of a list.
pub(super) fn of(list: &TopicPartitionList) -> Vec<TopicPartition> {
    list.elements().iter().map(|element| TopicPartition::new(element.topic(), element.partition())).collect()
}

/// A list of partitions without offsets.
pub(super) fn list<'a>(partitions: impl IntoIterator<Item = &'a TopicPartition>) -> TopicPartitionList {
    let mut list = TopicPartitionList::new();
    for partition in partitions {
        list.add_partition(&partition.topic, partition.partition);
    }
    list
}

/// A list of partitions with the offset of the next record of each.
pub(super) fn offsets(offsets: &[TopicOffset]) -> Result<TopicPartitionList, ConsumeError> {
    let mut list = TopicPartitionList::with_capacity(offsets.len());
    for TopicOffset { partition, offset } in offsets {
        list.add_partition_offset(&partition.topic, partition.partition, Offset::Offset(*offset)).map_err(|error| {
            let TopicPartition { topic, partition } = partition;
            ConsumeError::Fatal(format!("offset {offset} of {topic}-{partition} is no offset: {error}"))
        })?;
    }
    Ok(list)
}

/// Whether a record's partition is in a set that is nearly always empty.
pub(super) fn contains(set: &HashSet<TopicPartition>, topic: &str, partition: i32) -> bool {
    set.iter().any(|entry| entry.partition == partition && &*entry.topic == topic)
}
