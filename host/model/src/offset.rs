//! Positions: of a source in whatever it reads, and of a sink's consumer group in Kafka.

use std::sync::Arc;

use serde_json::{Map, Value};

/// A source's name for one stream it reads, e.g. `{"filename":"/tmp/in"}`: a flat JSON object.
///
/// Two partitions are the same if they parse to equal objects, whatever the order of their members;
/// the text is kept as the connector wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourcePartition(pub Arc<str>);

/// How far a source has read a partition, e.g. `{"position":42}`: a flat JSON object as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceOffset(pub Arc<str>);

/// One entry of `GET` and `PATCH /connectors/{name}/offsets` (KIP-875), as submitted.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetEntry {
    pub partition: Option<Map<String, Value>>,
    pub offset: Option<Map<String, Value>>,
}

/// A topic partition.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    pub topic: Arc<str>,
    pub partition: i32,
}

/// A consumer position: the offset of the next record to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopicOffset {
    pub partition: TopicPartition,
    pub offset: i64,
}

impl SourcePartition {
    /// The text by which equal partitions have equal keys: members sorted by name.
    ///
    /// Text that is no JSON object stands for itself.
    pub fn canonical(&self) -> String {
        match serde_json::from_str::<Map<String, Value>>(&self.0) {
            Ok(mut members) => {
                members.sort_keys();
                Value::Object(members).to_string()
            }
            Err(_) => self.0.to_string(),
        }
    }
}

impl TopicPartition {
    pub fn new(topic: impl AsRef<str>, partition: i32) -> Self {
        Self { topic: Arc::from(topic.as_ref()), partition }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_members_makes_no_other_partition() {
        let a = SourcePartition(r#"{"b": 1, "a": "x"}"#.into());
        let b = SourcePartition(r#"{"a":"x","b":1}"#.into());
        assert_eq!(a.canonical(), b.canonical());
    }
}
