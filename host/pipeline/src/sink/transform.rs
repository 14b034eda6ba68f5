//! The way through transforms. With built-in ones alone every record becomes a tree, and what is left of it
//! a row of a new batch; guests take the batch as a whole.

use std::sync::Arc;

use super::decode::{Converted, Cursor, Decoder, Refused};
use super::fetch::Original;
use crate::batch::{Batch, NO_TIMESTAMP, SinkBatch};
use crate::convert::{Converter, Role};
use crate::guest::GuestFailure;
use crate::ports::Consumed;
use crate::tolerance::{Fault, Stage};
use crate::transform::passage::{Outcome, Passage};
use crate::transform::rows::{Rows, pooled};
use crate::transform::{Chain, Header, Record};

impl Decoder {
    pub(super) fn transform(&self, chain: &Chain, consumed: &Consumed) -> Converted {
        let mut rows = Rows::default();
        let mut places = Vec::new();
        let mut refused = Vec::new();
        let mut cursor = Cursor::default();
        for index in 0..consumed.count() {
            let start = cursor;
            cursor = start.past_record(consumed, index);
            let transformed =
                self.read(consumed, index, start).and_then(|record| chain.apply(record).map_err(Fault::transforming));
            let pushed = transformed.and_then(|record| match record {
                Some(record) => rows.push(&record).map(|()| places.push(index)).map_err(Fault::reading),
                None => Ok(()),
            });
            if let Err(fault) = pushed {
                refused.push(Refused { original: Original::of(consumed, index, start), fault });
            }
        }
        Converted { batch: sink_batch(rows.finish(), consumed, &places), rows: Some(places), refused }
    }

    fn read(&self, consumed: &Consumed, index: usize, mut cursor: Cursor) -> Result<Record, Fault> {
        let topic = &consumed.topics[consumed.topic[index] as usize];
        let first = cursor.header;
        let mut convert = |converter: &dyn Converter, len, stage| {
            let bytes = cursor.take(len).map(|(start, len)| &consumed.data[start..start + len]);
            converter.to_connect(topic, bytes).map_err(|error| Fault::converting(stage, converter, error))
        };
        let key = convert(&*self.converters.key, consumed.key_len[index], Stage::KeyConverter)?;
        let value = convert(&*self.converters.value, consumed.value_len[index], Stage::ValueConverter)?;
        let headers = (first..first + consumed.header_count[index] as usize).map(|header| {
            let key = consumed.header_keys[consumed.header_key[header] as usize].clone();
            let value = convert(&*self.converters.header, consumed.header_len[header], Stage::HeaderConverter)?;
            Ok(Header { key, value })
        });
        let headers = headers.collect::<Result<_, _>>()?;
        Ok(Record {
            topic: topic.clone(),
            partition: Some(consumed.partition[index]),
            key,
            value,
            timestamp: Some(consumed.timestamp[index]).filter(|timestamp| *timestamp != NO_TIMESTAMP),
            headers,
            offset: Some(consumed.offset[index]),
        })
    }

    /// With guests among the converters or transforms.
    pub(super) async fn with_guests(&self, consumed: &Consumed) -> Result<Converted, GuestFailure> {
        let Converted { batch, rows: before, mut refused } = self.convert(consumed);
        let mut passage = Passage::new(Arc::new(batch.records), batch.offset);
        for role in [Role::Key, Role::Value, Role::Header] {
            if let Some(guest) = self.converters.guest(role) {
                guest.to_connect(&mut passage).await?;
            }
        }
        self.transforms.apply(&mut passage).await?;
        let Left { records, places, failed } = left(&passage, before.as_deref());
        refused.extend(refusals(consumed, failed));
        Ok(Converted { batch: sink_batch(records, consumed, &places), rows: Some(places), refused })
    }
}

/// What is left of a fetch behind its passage.
struct Left {
    records: Batch,
    /// Where in the fetch each of the records was.
    places: Vec<usize>,
    /// By rising places.
    failed: Vec<(usize, Fault)>,
}

/// `before` says where in the fetch the records of the passage were, unless all are there.
fn left(passage: &Passage, before: Option<&[usize]>) -> Left {
    let whole = passage.whole();
    let mut rows = Rows::default();
    let mut places = Vec::new();
    let mut failed = Vec::new();
    for (index, outcome) in passage.outcomes().enumerate() {
        let place = before.map_or(index, |rows| rows[index]);
        let kept = match outcome {
            Outcome::Row(_) if whole.is_some() => Ok(()),
            Outcome::Row(record) => {
                rows.push_row(&record);
                Ok(())
            }
            Outcome::Tree(record) => rows.push(record).map_err(Fault::reading),
            Outcome::Dropped => continue,
            Outcome::Failed(fault) => Err(fault.clone()),
        };
        match kept {
            Ok(()) => places.push(place),
            Err(fault) => failed.push((place, fault)),
        }
    }
    Left { records: whole.map_or_else(|| rows.finish(), |batch| Batch::clone(batch)), places, failed }
}

/// By rising places, as they are given.
fn refusals(consumed: &Consumed, failed: Vec<(usize, Fault)>) -> impl Iterator<Item = Refused> {
    let (mut cursor, mut next) = (Cursor::default(), 0);
    failed.into_iter().map(move |(place, fault)| {
        for index in next..place {
            cursor = cursor.past_record(consumed, index);
        }
        next = place;
        Refused { original: Original::of(consumed, place, cursor), fault }
    })
}

/// Records that were at these places of the fetch.
fn sink_batch(mut records: Batch, consumed: &Consumed, places: &[usize]) -> SinkBatch {
    let (original_topic, original_partition) = originals(&mut records, consumed, places);
    let offset = places.iter().map(|place| consumed.offset[*place]).collect();
    let timestamp_type = places.iter().map(|place| consumed.timestamp_type[*place]).collect();
    SinkBatch { records, offset, timestamp_type, original_topic, original_partition }
}

/// Where the records were read; nothing if that is where they are.
fn originals(records: &mut Batch, consumed: &Consumed, places: &[usize]) -> (Vec<u32>, Vec<i32>) {
    let topic = |place: usize| &consumed.topics[consumed.topic[place] as usize];
    let unmoved = records.records().zip(places).all(|(record, place)| {
        record.partition() == Some(consumed.partition[*place]) && record.topic() == topic(*place)
    });
    if unmoved {
        return (Vec::new(), Vec::new());
    }
    let topics = places.iter().map(|place| pooled(&mut records.topics, topic(*place))).collect();
    (topics, places.iter().map(|place| consumed.partition[*place]).collect())
}

#[cfg(test)]
mod tests {
    use bulkhead_model::RawConfig;

    use super::*;
    use crate::convert::{Converters, Role, create};
    use crate::transform::Chain;

    async fn decoded(pattern: &str) -> SinkBatch {
        let string = |role| create("StringConverter", &RawConfig::new(), role).unwrap();
        let (key, value, header) = (string(Role::Key), string(Role::Value), string(Role::Header));
        let converters = Converters { key, value, header, guests: Vec::new() };
        let chain = Chain::new(&RawConfig::from([
            ("transforms", "rename"),
            ("transforms.rename.type", "org.apache.kafka.connect.transforms.RegexRouter"),
            ("transforms.rename.regex", pattern),
            ("transforms.rename.replacement", "all"),
        ]));
        let consumed = Consumed {
            topics: vec!["a".into(), "b".into()],
            topic: vec![0, 1],
            partition: vec![4, 5],
            offset: vec![7, 8],
            timestamp: vec![1, 2],
            timestamp_type: vec![1, 1],
            key_len: vec![-1, -1],
            value_len: vec![1, 1],
            header_count: vec![0, 0],
            data: bytes::Bytes::from_static(b"xy"),
            ..Consumed::default()
        };
        Decoder::new(converters, chain.unwrap()).decode(&consumed).await.unwrap().batch
    }

    #[tokio::test]
    async fn where_records_were_read_is_said_once_a_transform_has_moved_one() {
        let batch = decoded("b").await;
        let topics = |column: &[u32]| column.iter().map(|at| &*batch.records.topics[*at as usize]).collect::<Vec<_>>();
        assert_eq!(topics(&batch.records.topic), ["a", "all"]);
        assert_eq!(topics(&batch.original_topic), ["a", "b"]);
        assert_eq!(batch.original_partition, [4, 5]);
        let unmoved = decoded("c").await;
        assert!(unmoved.original_topic.is_empty() && unmoved.original_partition.is_empty());
    }
}
