//! A guest's batch as the pipeline wants it. Columns are moved, not copied; sizes are checked before
//! anything is looked at.

use std::sync::Arc;

use bulkhead_model::offset::SourcePartition;
use bulkhead_pipeline::batch::{Batch, Encoding, Malformed, SourceBatch, Values};
use bulkhead_pipeline::ports::{Fate, Transformed};
use bytes::Bytes;

use super::bindings::exports::bulkhead::connect::{predicate, source_task, transform};
use super::wit::types::{self, Failure};
use crate::host::Schemas;

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
    #[error("{0}")]
    Schemas(String),
    #[error("the answer names place {index} of {count}")]
    NoSuchPlace { index: u32, count: usize },
    #[error("the answer names place {index} twice, or after a later one")]
    OutOfOrder { index: u32 },
    #[error("the answer has {found} {what} where {due} are due")]
    Count { what: &'static str, found: usize, due: usize },
    #[error("item {index} of the answer {what}; only bytes and null, without schemas, go to Kafka")]
    NotForKafka { index: usize, what: &'static str },
}

/// Takes a batch over, or says what is wrong with it.
pub(super) fn source_batch(
    batch: source_task::SourceBatch,
    max_bytes: usize,
    schemas: &mut Schemas,
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

/// Takes over what a transform made of `count` records, or says what is wrong with it.
pub(super) fn transformed(
    answer: transform::Transformed,
    count: usize,
    schemas: &mut Schemas,
) -> Result<Transformed, Refused> {
    check_counts(&answer.records, 0)?;
    let mut fates = vec![Fate::Kept; count];
    in_order(&answer.dropped, count, |index| *index)?;
    for index in answer.dropped {
        fates[index as usize] = Fate::Dropped;
    }
    in_order(&answer.failed, count, |failure| failure.index)?;
    for Failure { index, message } in answer.failed {
        match &mut fates[index as usize] {
            Fate::Dropped => return Err(Refused::OutOfOrder { index }),
            fate => *fate = Fate::Failed(message),
        }
    }
    let (found, due) = (answer.records.count as usize, fates.iter().filter(|fate| **fate == Fate::Kept).count());
    if found != due {
        return Err(Refused::Count { what: "records", found, due });
    }
    let records = records(answer.records, schemas)?;
    records.check()?;
    Ok(Transformed { fates, records })
}

/// The same for a predicate.
pub(super) fn tested(answer: predicate::Tested, count: usize) -> Result<Vec<Result<bool, String>>, Refused> {
    let found = answer.answers.len();
    if found != count {
        return Err(Refused::Count { what: "answers", found, due: count });
    }
    in_order(&answer.failed, count, |failure| failure.index)?;
    let mut answers: Vec<_> = answer.answers.into_iter().map(Ok).collect();
    for Failure { index, message } in answer.failed {
        answers[index as usize] = Err(message);
    }
    Ok(answers)
}

/// Whether places rise, and are all in the batch.
pub(super) fn in_order<T>(places: &[T], count: usize, index: impl Fn(&T) -> u32) -> Result<(), Refused> {
    let mut next = 0;
    for index in places.iter().map(index) {
        if index < next {
            return Err(Refused::OutOfOrder { index });
        }
        if index as usize >= count {
            return Err(Refused::NoSuchPlace { index, count });
        }
        next = index + 1;
    }
    Ok(())
}

fn check_counts(records: &types::RecordBatch, partitions: usize) -> Result<(), Refused> {
    for (what, found, most) in [
        ("records", records.count as usize, MAX_RECORDS as usize),
        ("headers", records.header_key.len(), MAX_HEADERS),
        ("topics", records.topics.len(), MAX_POOL),
        ("header keys", records.header_keys.len(), MAX_POOL),
        ("source partitions", partitions, MAX_POOL),
    ] {
        if found > most {
            return Err(Refused::TooMany { what, found, most });
        }
    }
    Ok(())
}

fn check_sizes(batch: &source_task::SourceBatch, max_bytes: usize) -> Result<(), Refused> {
    check_counts(&batch.records, batch.source_partitions.len())?;
    let found = batch.records.data.len() + batch.offsets.len();
    if found > max_bytes {
        return Err(Refused::TooLarge { found, most: max_bytes });
    }
    Ok(())
}

/// With the schemas that it brings along, and all that the guest has by now.
fn records(batch: types::RecordBatch, schemas: &mut Schemas) -> Result<Batch, Refused> {
    Ok(Batch {
        count: batch.count as usize,
        topics: pool(batch.topics, |topic| topic),
        schemas: schemas.take(batch.schemas).map_err(Refused::Schemas)?,
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

pub(super) fn values(column: &'static str, values: types::Values) -> Result<Values, Malformed> {
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
        match source_batch(batch, max_bytes, &mut Schemas::default()) {
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

    fn failure(index: u32) -> Failure {
        Failure { index, message: "no".to_owned() }
    }

    #[test]
    fn every_record_has_one_fate_or_the_answer_is_refused() {
        let check = |dropped: &[u32], failed: &[u32], count| {
            let answer = transform::Transformed {
                records: two_records().records,
                dropped: dropped.to_vec(),
                failed: failed.iter().map(|index| failure(*index)).collect(),
            };
            match transformed(answer, count, &mut Schemas::default()) {
                Ok(Transformed { fates, .. }) => format!("{fates:?}"),
                Err(refused) => refused.to_string(),
            }
        };
        for (dropped, failed, count, expected) in [
            (&[][..], &[][..], 2, "[Kept, Kept]"),
            (&[1], &[0], 4, "[Failed(\"no\"), Dropped, Kept, Kept]"),
            (&[], &[], 3, "the answer has 2 records where 3 are due"),
            (&[0], &[], 2, "the answer has 2 records where 1 are due"),
            (&[3], &[], 3, "the answer names place 3 of 3"),
            (&[], &[u32::MAX], 3, "the answer names place 4294967295 of 3"),
            (&[1, 1], &[], 4, "the answer names place 1 twice, or after a later one"),
            (&[1, 0], &[], 4, "the answer names place 0 twice, or after a later one"),
            (&[1], &[1], 4, "the answer names place 1 twice, or after a later one"),
        ] {
            assert_eq!(check(dropped, failed, count), expected);
        }
    }

    #[test]
    fn a_predicate_answers_once_for_each_record() {
        let check = |answers: &[bool], failed: &[u32]| {
            let failed = failed.iter().map(|index| failure(*index)).collect();
            tested(predicate::Tested { answers: answers.to_vec(), failed }, 2).map_err(|refused| refused.to_string())
        };
        assert_eq!(check(&[true, false], &[]), Ok(vec![Ok(true), Ok(false)]));
        assert_eq!(check(&[true, false], &[1]), Ok(vec![Ok(true), Err("no".to_owned())]));
        assert_eq!(check(&[true], &[]), Err("the answer has 1 answers where 2 are due".to_owned()));
        assert_eq!(check(&[true, false], &[2]), Err("the answer names place 2 of 2".to_owned()));
    }
}
