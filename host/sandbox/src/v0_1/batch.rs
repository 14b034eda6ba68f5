//! A guest's batch as the pipeline wants it. Columns are moved, not copied; sizes are checked before
//! anything is looked at.

use std::sync::Arc;

use bulkhead_model::offset::SourcePartition;
use bulkhead_model::value::Schema;
use bulkhead_pipeline::batch::{Batch, Encoding, Malformed, SourceBatch, Values};
use bytes::Bytes;

use super::bindings::exports::bulkhead::connect::source_task;
use super::wit::types;

/// Records in one batch, whatever the worker asked for: the columns are built on the host, where the
/// guest's memory limit doesn't reach.
const MAX_RECORDS: u32 = 250_000;
const MAX_HEADERS: usize = 1_000_000;
/// Entries of a pool: topics, header keys, source partitions.
const MAX_POOL: usize = 10_000;

/// Why a batch was refused; always the guest's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Refused {
    #[error("the batch has {found} {what}, at most {most} are allowed")]
    TooMany { what: &'static str, found: usize, most: usize },
    #[error("the batch has {found} bytes, at most {most} were asked for")]
    TooLarge { found: usize, most: usize },
    #[error("the batch is malformed: {0}")]
    Malformed(#[from] Malformed),
}

/// Takes a batch over, or says what is wrong with it.
pub(super) fn source_batch(
    batch: source_task::SourceBatch,
    schemas: Arc<Vec<Arc<Schema>>>,
    max_bytes: usize,
) -> Result<SourceBatch, Refused> {
    check_sizes(&batch, max_bytes)?;
    let batch = SourceBatch {
        records: records(batch.records, schemas)?,
        partitions: pool(batch.source_partitions, SourcePartition),
        partition: batch.source_partition,
        offset_len: batch.offset_len,
        offsets: Bytes::from(batch.offsets),
    };
    batch.check()?;
    Ok(batch)
}

fn check_sizes(batch: &source_task::SourceBatch, max_bytes: usize) -> Result<(), Refused> {
    let records = &batch.records;
    for (what, found, most) in [
        ("records", records.count as usize, MAX_RECORDS as usize),
        ("headers", records.header_key.len(), MAX_HEADERS),
        ("topics", records.topics.len(), MAX_POOL),
        ("header keys", records.header_keys.len(), MAX_POOL),
        ("source partitions", batch.source_partitions.len(), MAX_POOL),
    ] {
        if found > most {
            return Err(Refused::TooMany { what, found, most });
        }
    }
    let found = records.data.len() + batch.offsets.len();
    if found > max_bytes {
        return Err(Refused::TooLarge { found, most: max_bytes });
    }
    Ok(())
}

fn records(batch: types::RecordBatch, schemas: Arc<Vec<Arc<Schema>>>) -> Result<Batch, Malformed> {
    Ok(Batch {
        count: batch.count as usize,
        topics: pool(batch.topics, |topic| topic),
        schemas,
        topic: batch.topic,
        partition: batch.partition,
        timestamp: batch.timestamp,
        keys: values("keys", batch.keys)?,
        values: values("values", batch.values)?,
        header_count: batch.header_count,
        header_keys: pool(batch.header_keys, |key| key),
        header_key: batch.header_key,
        headers: values("headers", batch.headers)?,
        data: Bytes::from(batch.data),
    })
}

fn pool<T>(texts: Vec<String>, entry: impl Fn(Arc<str>) -> T) -> Vec<T> {
    texts.into_iter().map(|text| entry(Arc::from(text))).collect()
}

fn values(column: &'static str, values: types::Values) -> Result<Values, Malformed> {
    let encoding = values
        .encoding
        .iter()
        .map(|value| Encoding::from_number(*value).ok_or(Malformed::UnknownEncoding { column, value: *value }));
    Ok(Values { encoding: encoding.collect::<Result<_, _>>()?, schema: values.schema, len: values.len })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty_values() -> types::Values {
        types::Values { encoding: Vec::new(), schema: Vec::new(), len: Vec::new() }
    }

    fn two_records() -> source_task::SourceBatch {
        source_task::SourceBatch {
            records: types::RecordBatch {
                count: 2,
                topics: vec!["t".to_owned()],
                schemas: Vec::new(),
                topic: Vec::new(),
                partition: Vec::new(),
                timestamp: Vec::new(),
                keys: empty_values(),
                values: types::Values { encoding: vec![2, 0], schema: Vec::new(), len: vec![3, 0] },
                header_count: Vec::new(),
                header_keys: Vec::new(),
                header_key: Vec::new(),
                headers: empty_values(),
                data: b"abc".to_vec(),
            },
            source_partitions: vec!["{}".to_owned()],
            source_partition: Vec::new(),
            offset_len: vec![7, 0],
            offsets: br#"{"p":1}"#.to_vec(),
        }
    }

    fn check(change: impl FnOnce(&mut source_task::SourceBatch), max_bytes: usize) -> String {
        let mut batch = two_records();
        change(&mut batch);
        match source_batch(batch, Arc::default(), max_bytes) {
            Ok(batch) => format!("{} records", batch.records.count),
            Err(refused) => refused.to_string(),
        }
    }

    #[test]
    fn a_good_batch_is_taken_and_a_bad_one_is_refused_with_the_reason() {
        type Change = fn(&mut source_task::SourceBatch);
        for (change, expected) in [
            ((|_| ()) as Change, "2 records"),
            (
                |batch| batch.records.values.encoding[0] = 9,
                "the batch is malformed: column `values` has the unknown encoding 9",
            ),
            (
                |batch| batch.records.values.len[0] = 4,
                "the batch is malformed: the lengths add up to 4 bytes, the buffer has 3",
            ),
            (
                |batch| batch.records.topics.clear(),
                "the batch is malformed: column `topic` refers to entry 0 of a pool of 0",
            ),
            (
                |batch| batch.records.values.schema = vec![1, 0],
                "the batch is malformed: column `values` refers to entry 1 of a pool of 0",
            ),
            (|batch| batch.records.count = 300_000, "the batch has 300000 records, at most 250000 are allowed"),
            (
                |batch| batch.source_partitions = vec![String::new(); 10_001],
                "the batch has 10001 source partitions, at most 10000 are allowed",
            ),
        ] {
            assert_eq!(check(change, 100), expected);
        }
        assert_eq!(check(|_| (), 9), "the batch has 10 bytes, at most 9 were asked for");
    }
}
