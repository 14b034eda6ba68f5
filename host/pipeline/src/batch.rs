//! Records by column: lists of plain numbers over one shared buffer.
//!
//! This is the form in which records cross the sandbox's boundary (`wit/README.md`) and in which they
//! move through a pipeline, so that a key or value which no converter or transform has to look into is
//! a slice of the buffer it arrived in.
//!
//! **Invariant:** a [`Batch`] is checked when it is made ([`Batch::check`]): every column is empty or
//! exactly as long as it has to be, the lengths add up to `data`, and pool indexes are in range. What a
//! guest hands over passes that check before anything else sees it.

mod items;

use std::sync::Arc;

use bulkhead_model::offset::SourcePartition;
use bulkhead_model::value::Schema;
use bytes::Bytes;

pub use items::{Column, Items};

/// How the bytes of a key, value or header are to be read. The numbers are those of the WIT package.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Encoding {
    /// No value; with a schema, a null of that schema.
    None = 0,
    /// The bytes themselves, Connect type BYTES.
    #[default]
    Bytes = 1,
    /// UTF-8, Connect type STRING.
    Text = 2,
    /// One CBOR item under the profile of `wit/README.md`.
    Cbor = 3,
    /// JSON text of a schemaless value; guests may write it, the worker doesn't.
    Json = 4,
}

/// A column of keys, values or header values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Values {
    /// Empty: all [`Encoding::Bytes`].
    pub encoding: Vec<Encoding>,
    /// 1-based index into [`Batch::schemas`], 0 for schemaless. Empty: all schemaless.
    pub schema: Vec<u32>,
    /// Bytes in [`Batch::data`]. Empty: all 0.
    pub len: Vec<u32>,
}

/// Records of one `poll`, or for one `put`.
///
/// `data` holds, one record after the other: key, value, then each header's value, without gaps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Batch {
    pub count: usize,
    pub topics: Vec<Arc<str>>,
    /// What [`Values::schema`] refers to; schemas are shared by pointer across batches.
    pub schemas: Arc<Vec<Arc<Schema>>>,
    /// Index into `topics`. Empty: all 0.
    pub topic: Vec<u32>,
    /// Empty, or [`NO_PARTITION`]: the producer's choice.
    pub partition: Vec<i32>,
    /// Milliseconds since 1970. Empty, or [`NO_TIMESTAMP`]: none.
    pub timestamp: Vec<i64>,
    pub keys: Values,
    pub values: Values,
    /// Headers of each record. Empty: none anywhere.
    pub header_count: Vec<u32>,
    pub header_keys: Vec<Arc<str>>,
    /// For each header in turn: index into `header_keys`.
    pub header_key: Vec<u32>,
    /// For each header in turn.
    pub headers: Values,
    pub data: Bytes,
}

pub const NO_PARTITION: i32 = -1;
pub const NO_TIMESTAMP: i64 = i64::MIN;

/// What a source task hands over: records, and where each was read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SourceBatch {
    pub records: Batch,
    pub partitions: Vec<SourcePartition>,
    /// Index into `partitions`. Empty: all 0.
    pub partition: Vec<u32>,
    /// Bytes of each record's source offset in `offsets`; 0 repeats the record before. Empty: the
    /// records have no offsets.
    pub offset_len: Vec<u32>,
    pub offsets: Bytes,
}

/// What a sink task gets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SinkBatch {
    pub records: Batch,
    /// Offset in the Kafka partition, one for each record.
    pub offset: Vec<i64>,
    /// 0 none, 1 create time, 2 log append time. Empty: all 1.
    pub timestamp_type: Vec<u8>,
    /// Index into the topics of `records`: where each record was read. Empty with the partitions if no
    /// transform has moved a record.
    pub original_topic: Vec<u32>,
    pub original_partition: Vec<i32>,
}

/// A key, value or header value of a batch.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a> {
    pub encoding: Encoding,
    pub schema: Option<&'a Arc<Schema>>,
    pub bytes: &'a [u8],
}

/// What is wrong with a batch; always the fault of whoever made it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("column `{column}` has {found} entries where {expected} are due")]
    ColumnLength { column: &'static str, found: usize, expected: usize },
    #[error("column `{column}` refers to entry {index} of a pool of {size}")]
    OutOfPool { column: &'static str, index: u32, size: usize },
    #[error("the lengths add up to {claimed} bytes, the buffer has {found}")]
    DataLength { claimed: u64, found: usize },
    #[error("column `{column}` has the unknown encoding {value}")]
    UnknownEncoding { column: &'static str, value: u8 },
    #[error("record {record} has a {what} that is not UTF-8")]
    NotUtf8 { record: usize, what: &'static str },
}

impl Encoding {
    pub fn from_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::None,
            1 => Self::Bytes,
            2 => Self::Text,
            3 => Self::Cbor,
            4 => Self::Json,
            _ => return None,
        })
    }
}

impl Values {
    /// Encoding of the entry at `index`.
    pub fn encoding(&self, index: usize) -> Encoding {
        self.encoding.get(index).copied().unwrap_or_default()
    }

    pub fn len(&self, index: usize) -> usize {
        self.len.get(index).map_or(0, |len| *len as usize)
    }

    fn schema(&self, index: usize) -> u32 {
        self.schema.get(index).copied().unwrap_or(0)
    }

    /// The entry at `index`, whose bytes begin at `start`.
    fn item<'a>(&self, index: usize, start: usize, schemas: &'a [Arc<Schema>], data: &'a [u8]) -> Item<'a> {
        let schema = match self.schema(index) {
            0 => None,
            number => schemas.get(number as usize - 1),
        };
        Item { encoding: self.encoding(index), schema, bytes: &data[start..start + self.len(index)] }
    }

    fn check(&self, column: &'static str, count: usize, schemas: usize) -> Result<u64, Malformed> {
        check_length(column, self.encoding.len(), count)?;
        check_length(column, self.schema.len(), count)?;
        check_length(column, self.len.len(), count)?;
        if let Some(index) = self.schema.iter().find(|index| **index as usize > schemas) {
            return Err(Malformed::OutOfPool { column, index: *index, size: schemas });
        }
        Ok(self.len.iter().map(|len| u64::from(*len)).sum())
    }
}

impl Batch {
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Checks what the type promises; to be called on anything that was not made by this crate.
    pub fn check(&self) -> Result<(), Malformed> {
        check_length("partition", self.partition.len(), self.count)?;
        check_length("timestamp", self.timestamp.len(), self.count)?;
        check_length("header-count", self.header_count.len(), self.count)?;
        check_pool("topic", &self.topic, self.count, self.topics.len())?;
        let headers: u64 = self.header_count.iter().map(|count| u64::from(*count)).sum();
        if headers != self.header_key.len() as u64 {
            return Err(Malformed::ColumnLength {
                column: "header-key",
                found: self.header_key.len(),
                expected: usize::try_from(headers).unwrap_or(usize::MAX),
            });
        }
        if let Some(index) = self.header_key.iter().find(|index| **index as usize >= self.header_keys.len()) {
            return Err(Malformed::OutOfPool { column: "header-key", index: *index, size: self.header_keys.len() });
        }
        let schemas = self.schemas.len();
        let claimed = self.keys.check("keys", self.count, schemas)?
            + self.values.check("values", self.count, schemas)?
            + self.headers.check("headers", self.header_key.len(), schemas)?;
        if claimed != self.data.len() as u64 {
            return Err(Malformed::DataLength { claimed, found: self.data.len() });
        }
        Ok(())
    }

    /// Walks through the records in order.
    pub fn records(&self) -> Records<'_> {
        Records { batch: self, next: Place::default() }
    }

    /// The record at a place that [`Records::place`] has given.
    pub(crate) fn at(&self, place: Place) -> RecordRef<'_> {
        let Place { index, header, position } = place;
        let key = self.keys.item(index, position, &self.schemas, &self.data);
        let value = self.values.item(index, position + key.bytes.len(), &self.schemas, &self.data);
        let headers_at = position + key.bytes.len() + value.bytes.len();
        RecordRef { batch: self, index, key, value, first_header: header, headers_at }
    }
}

impl SourceBatch {
    /// Checks the records and the columns beside them.
    pub fn check(&self) -> Result<(), Malformed> {
        self.records.check()?;
        let count = self.records.count;
        check_length("offset-len", self.offset_len.len(), count)?;
        let claimed: u64 = self.offset_len.iter().map(|len| u64::from(*len)).sum();
        if claimed != self.offsets.len() as u64 {
            return Err(Malformed::DataLength { claimed, found: self.offsets.len() });
        }
        if self.offset_len.is_empty() {
            return check_length("source-partition", self.partition.len(), count);
        }
        check_pool("source-partition", &self.partition, count, self.partitions.len())
    }
}

/// A column is empty or `expected` long.
fn check_length(column: &'static str, found: usize, expected: usize) -> Result<(), Malformed> {
    if found != 0 && found != expected {
        return Err(Malformed::ColumnLength { column, found, expected });
    }
    Ok(())
}

/// As [`check_length`], and every index is inside the pool; an empty column points at entry 0.
fn check_pool(column: &'static str, indexes: &[u32], count: usize, size: usize) -> Result<(), Malformed> {
    check_length(column, indexes.len(), count)?;
    if count > 0 && indexes.is_empty() && size == 0 {
        return Err(Malformed::OutOfPool { column, index: 0, size });
    }
    match indexes.iter().find(|index| **index as usize >= size) {
        Some(index) => Err(Malformed::OutOfPool { column, index: *index, size }),
        None => Ok(()),
    }
}

/// One record of a batch.
#[derive(Clone, Copy, Debug)]
pub struct RecordRef<'a> {
    batch: &'a Batch,
    /// Place in the batch.
    pub index: usize,
    pub key: Item<'a>,
    pub value: Item<'a>,
    first_header: usize,
    /// Where the first header's value begins in `data`.
    headers_at: usize,
}

impl<'a> RecordRef<'a> {
    pub fn topic(&self) -> &'a Arc<str> {
        let topic = self.batch.topic.get(self.index).map_or(0, |topic| *topic as usize);
        &self.batch.topics[topic]
    }

    pub fn partition(&self) -> Option<i32> {
        self.batch.partition.get(self.index).copied().filter(|partition| *partition != NO_PARTITION)
    }

    pub fn timestamp(&self) -> Option<i64> {
        self.batch.timestamp.get(self.index).copied().filter(|timestamp| *timestamp != NO_TIMESTAMP)
    }

    pub fn header_count(&self) -> usize {
        self.batch.header_count.get(self.index).map_or(0, |count| *count as usize)
    }

    /// Key and value of each header, in order.
    pub fn headers(&self) -> impl Iterator<Item = (&'a Arc<str>, Item<'a>)> + use<'a> {
        let batch = self.batch;
        let mut position = self.headers_at;
        (self.first_header..self.first_header + self.header_count()).map(move |header| {
            let item = batch.headers.item(header, position, &batch.schemas, &batch.data);
            position += item.bytes.len();
            (&batch.header_keys[batch.header_key[header] as usize], item)
        })
    }
}

/// Where a record begins in the columns and in `data`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Place {
    index: usize,
    header: usize,
    position: usize,
}

/// See [`Batch::records`].
#[derive(Clone, Debug)]
pub struct Records<'a> {
    batch: &'a Batch,
    next: Place,
}

impl Records<'_> {
    /// Where the next record is, if there is one.
    pub(crate) fn place(&self) -> Place {
        self.next
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = RecordRef<'a>;

    fn next(&mut self) -> Option<RecordRef<'a>> {
        let Place { index, header, .. } = self.next;
        if index >= self.batch.count {
            return None;
        }
        let record = self.batch.at(self.next);
        let headers = header..header + record.header_count();
        let header_bytes: usize = headers.clone().map(|header| self.batch.headers.len(header)).sum();
        let position = record.headers_at + header_bytes;
        self.next = Place { index: index + 1, header: headers.end, position };
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two_records() -> Batch {
        Batch {
            count: 2,
            topics: vec!["t".into()],
            keys: Values { len: vec![1, 0], encoding: vec![Encoding::Text, Encoding::None], ..Values::default() },
            values: Values { len: vec![2, 3], ..Values::default() },
            header_count: vec![1, 0],
            header_keys: vec!["h".into()],
            header_key: vec![0],
            headers: Values { len: vec![1], ..Values::default() },
            data: Bytes::from_static(b"kvvHabc"),
            ..Batch::default()
        }
    }

    #[test]
    fn records_are_slices_of_the_one_buffer() {
        let batch = two_records();
        batch.check().unwrap();
        let seen: Vec<_> = batch
            .records()
            .map(|record| {
                let headers: Vec<_> = record.headers().map(|(key, item)| (key.to_string(), item.bytes)).collect();
                (record.key.bytes, record.value.bytes, headers)
            })
            .collect();
        assert_eq!(seen[0], (&b"k"[..], &b"vv"[..], vec![("h".to_owned(), &b"H"[..])]));
        assert_eq!(seen[1], (&b""[..], &b"abc"[..], vec![]));
    }

    #[test]
    fn a_length_past_the_buffer_is_refused() {
        let mut batch = two_records();
        batch.values.len[1] = 4_000_000_000;
        assert_eq!(batch.check(), Err(Malformed::DataLength { claimed: 4_000_000_004, found: 7 }));
    }

    #[test]
    fn an_index_out_of_a_pool_is_refused() {
        let mut batch = two_records();
        batch.topic = vec![0, 1];
        assert_eq!(batch.check(), Err(Malformed::OutOfPool { column: "topic", index: 1, size: 1 }));
        let mut batch = two_records();
        batch.header_key = vec![7];
        assert!(batch.check().is_err());
        let mut batch = two_records();
        batch.topics.clear();
        assert!(batch.check().is_err());
    }

    #[test]
    fn a_column_of_the_wrong_length_is_refused() {
        let mut batch = two_records();
        batch.timestamp = vec![1];
        assert_eq!(batch.check(), Err(Malformed::ColumnLength { column: "timestamp", found: 1, expected: 2 }));
    }
}
