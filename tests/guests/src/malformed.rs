//! Batches that no SDK would send.

use bulkhead_sdk::bindings::base::bulkhead::connect::types::{RecordBatch, Values};
use bulkhead_sdk::bindings::source::exports::bulkhead::connect::source_task::SourceBatch;
use bulkhead_sdk::prelude::*;

use crate::modes;

modes! {
    /// Over which limit.
    Oversize {
        Records = "records",
        Bytes = "bytes",
    }
}

modes! {
    /// What is wrong with the columns.
    Wrong {
        /// Lengths that run past `data`.
        LengthPastData = "length-past-data",
        /// Lengths whose sum overflows 32 bits.
        LengthOverflow = "length-overflow",
        /// Data that no record owns.
        DataLeftOver = "data-left-over",
        /// A topic that the pool doesn't have.
        TopicIndex = "topic-index",
        /// A column shorter than the batch.
        ShortColumn = "short-column",
        /// A column longer than the batch.
        LongColumn = "long-column",
        /// More headers counted than there are.
        HeaderCount = "header-count",
        /// A header key that the pool doesn't have.
        HeaderIndex = "header-index",
        /// A source partition that the pool doesn't have.
        SourcePartitionIndex = "source-partition-index",
        /// Offsets that run past their buffer.
        OffsetPastBuffer = "offset-past-buffer",
        /// A source offset that is no JSON object.
        OffsetNotJson = "offset-not-json",
        /// An encoding that doesn't exist.
        Encoding = "encoding",
        /// A text that isn't UTF-8.
        TextNotUtf8 = "text-not-utf8",
        /// A JSON value that isn't JSON.
        JsonNotJson = "json-not-json",
        /// A CBOR value that isn't CBOR.
        CborNotCbor = "cbor-not-cbor",
        /// Four billion records, all default.
        Count = "count",
    }
}

/// A batch over the limits that `poll` was given.
pub(crate) fn huge(batch: &mut Batch, over: Oversize) {
    match over {
        Oversize::Records => {
            for _ in 0..100_000 {
                batch.push("hostile").value("x");
            }
        }
        Oversize::Bytes => {
            batch.push("hostile").value_bytes(vec![b'x'; 24 << 20]);
        }
    }
}

/// Two good records but for one thing.
pub(crate) fn out_of_bounds(wrong: Wrong) -> SourceBatch {
    let mut batch = two_records();
    let records = &mut batch.records;
    match wrong {
        Wrong::LengthPastData => records.values.len = vec![3, 400],
        Wrong::LengthOverflow => records.values.len = vec![u32::MAX, u32::MAX],
        Wrong::DataLeftOver => records.data.extend_from_slice(b"left over"),
        Wrong::TopicIndex => records.topic = vec![0, 1],
        Wrong::ShortColumn => records.timestamp = vec![1],
        Wrong::LongColumn => records.partition = vec![0; 3],
        Wrong::HeaderCount => records.header_count = vec![0, 1_000_000],
        Wrong::HeaderIndex => {
            records.header_count = vec![1, 0];
            records.header_key = vec![9];
        }
        Wrong::SourcePartitionIndex => batch.source_partition = vec![0, 7],
        Wrong::OffsetPastBuffer => batch.offset_len = vec![9, 9_000],
        Wrong::OffsetNotJson => batch.offsets = b"{\"n\":1} [1,2,3]".to_vec(),
        Wrong::Encoding => records.values.encoding = vec![2, 9],
        Wrong::TextNotUtf8 => records.data = b"one\xff\xfeo".to_vec(),
        Wrong::JsonNotJson => records.values.encoding = vec![4, 4],
        Wrong::CborNotCbor => records.values.encoding = vec![3, 3],
        Wrong::Count => {
            batch = SourceBatch { records: RecordBatch { count: u32::MAX, ..empty("hostile") }, ..two_records() }
        }
    }
    batch
}

/// One array in another, 100,000 times.
pub(crate) fn deep_value() -> SourceBatch {
    let mut data = vec![0x81; 100_000];
    data.push(0x01);
    let values = Values { encoding: vec![3], schema: vec![], len: vec![100_001] };
    SourceBatch {
        records: RecordBatch { count: 1, values, data, ..empty("hostile") },
        source_partitions: vec![],
        source_partition: vec![],
        offset_len: vec![],
        offsets: vec![],
    }
}

/// `one` and `two`, with offsets.
pub(crate) fn two_records() -> SourceBatch {
    let values = Values { encoding: vec![2, 2], schema: vec![], len: vec![3, 3] };
    SourceBatch {
        records: RecordBatch { count: 2, values, data: b"onetwo".to_vec(), ..empty("hostile") },
        source_partitions: vec![r#"{"task":0}"#.to_owned()],
        source_partition: vec![],
        offset_len: vec![7, 8],
        offsets: br#"{"n":1}{"n": 2}"#.to_vec(),
    }
}

fn empty(topic: &str) -> RecordBatch {
    let defaults = || Values { encoding: vec![], schema: vec![], len: vec![] };
    RecordBatch {
        count: 0,
        topics: vec![topic.to_owned()],
        schemas: vec![],
        topic: vec![],
        partition: vec![],
        timestamp: vec![],
        keys: defaults(),
        values: defaults(),
        header_count: vec![],
        header_keys: vec![],
        header_key: vec![],
        headers: defaults(),
        data: vec![],
    }
}
