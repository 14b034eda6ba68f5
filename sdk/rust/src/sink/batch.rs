use std::collections::BTreeMap;

use crate::bindings::base::bulkhead::connect::types::{RecordBatch, Values};
use crate::bindings::sink::exports::bulkhead::connect::sink_task as wit;
use crate::data::{self, Schema, Value};
use crate::source::columns::encoding::{BYTES, CBOR, JSON, NONE, TEXT};
use crate::{Error, Result};

/// The records of one `put`. Records are views into the batch: looking at them copies nothing.
#[derive(Debug)]
pub struct SinkBatch {
    batch: wit::SinkBatch,
    schemas: Schemas,
}

/// The schemas that the worker has shown to this instance, by its numbers.
pub(crate) type Schemas = BTreeMap<u32, Schema>;

impl SinkBatch {
    pub(crate) fn new(batch: wit::SinkBatch, schemas: Schemas) -> Self {
        Self { batch, schemas }
    }

    /// Records on their way through a transformation, with their offsets if they have any.
    pub(crate) fn of_records(records: RecordBatch, offset: Vec<i64>, schemas: Schemas) -> Self {
        let batch = wit::SinkBatch {
            id: 0,
            records,
            offset,
            timestamp_type: Vec::new(),
            original_topic: Vec::new(),
            original_partition: Vec::new(),
            original_offset: Vec::new(),
        };
        Self::new(batch, schemas)
    }

    pub(crate) fn into_schemas(self) -> Schemas {
        self.schemas
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.records().count as usize
    }

    /// True if there are none: a chance to flush.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The records in order.
    pub fn iter(&self) -> Iter<'_> {
        Iter { batch: self, row: 0, data: 0, header: 0 }
    }

    fn records(&self) -> &RecordBatch {
        &self.batch.records
    }

    #[inline]
    fn payload(&self, values: &Values, row: usize, start: usize, len: usize) -> Payload<'_> {
        Payload {
            encoding: values.encoding.get(row).copied().unwrap_or(BYTES),
            schema: values.schema.get(row).and_then(|id| self.schemas.get(id)),
            bytes: &self.records().data[start..start + len],
        }
    }
}

impl<'a> IntoIterator for &'a SinkBatch {
    type Item = SinkRecord<'a>;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}

/// The records of a [`SinkBatch`] in order.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    batch: &'a SinkBatch,
    row: usize,
    data: usize,
    header: usize,
}

impl<'a> Iterator for Iter<'a> {
    type Item = SinkRecord<'a>;

    #[inline]
    fn next(&mut self) -> Option<SinkRecord<'a>> {
        if self.row == self.batch.len() {
            return None;
        }
        let columns = self.batch.records();
        let record = SinkRecord {
            batch: self.batch,
            row: self.row,
            start: self.data,
            key_len: cell(&columns.keys.len, self.row, 0) as usize,
            value_len: cell(&columns.values.len, self.row, 0) as usize,
            header: self.header,
        };
        let headers = self.header..self.header + record.header_count();
        let headers_len: usize = headers.map(|header| cell(&columns.headers.len, header, 0) as usize).sum();
        self.data += record.key_len + record.value_len + headers_len;
        self.header += record.header_count();
        self.row += 1;
        Some(record)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.batch.len() - self.row;
        (left, Some(left))
    }
}

/// A view of one record.
#[derive(Clone, Copy, Debug)]
pub struct SinkRecord<'a> {
    batch: &'a SinkBatch,
    row: usize,
    start: usize,
    key_len: usize,
    value_len: usize,
    header: usize,
}

/// What a record's timestamp says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimestampType {
    /// There is none.
    None,
    /// When the record was made.
    Create,
    /// When Kafka took it.
    LogAppend,
}

impl<'a> SinkRecord<'a> {
    /// Its place in the batch.
    pub fn index(&self) -> u32 {
        u32::try_from(self.row).expect("the contract counts records in 32 bits")
    }

    /// The topic it was read from, as transforms left it.
    pub fn topic(&self) -> &'a str {
        let columns = self.batch.records();
        &columns.topics[cell(&columns.topic, self.row, 0) as usize]
    }

    /// The partition it was read from, as transforms left it.
    pub fn partition(&self) -> i32 {
        cell(&self.batch.records().partition, self.row, -1)
    }

    /// Its offset in the partition.
    #[inline]
    pub fn offset(&self) -> i64 {
        cell(&self.batch.batch.offset, self.row, 0)
    }

    /// Its offset, if it was read from Kafka.
    pub(crate) fn known_offset(&self) -> Option<i64> {
        self.batch.batch.offset.get(self.row).copied()
    }

    /// Where it was read, before transforms renamed or moved it: topic, partition, offset.
    pub fn origin(&self) -> (&'a str, i32, i64) {
        let batch = &self.batch.batch;
        let topic = batch
            .original_topic
            .get(self.row)
            .map_or_else(|| self.topic(), |&topic| &batch.records.topics[topic as usize]);
        let partition = batch.original_partition.get(self.row).copied().unwrap_or_else(|| self.partition());
        (topic, partition, batch.original_offset.get(self.row).copied().unwrap_or_else(|| self.offset()))
    }

    /// Its timestamp in milliseconds since 1970.
    pub fn timestamp(&self) -> Option<i64> {
        Some(cell(&self.batch.records().timestamp, self.row, i64::MIN)).filter(|&millis| millis != i64::MIN)
    }

    /// What the timestamp says.
    pub fn timestamp_type(&self) -> TimestampType {
        match cell(&self.batch.batch.timestamp_type, self.row, 1) {
            0 => TimestampType::None,
            2 => TimestampType::LogAppend,
            _ => TimestampType::Create,
        }
    }

    /// Its key.
    #[inline]
    pub fn key(&self) -> Payload<'a> {
        self.batch.payload(&self.batch.records().keys, self.row, self.start, self.key_len)
    }

    /// Its value.
    #[inline]
    pub fn value(&self) -> Payload<'a> {
        self.batch.payload(&self.batch.records().values, self.row, self.start + self.key_len, self.value_len)
    }

    /// Its headers in order; a name may come more than once.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, Payload<'a>)> + use<'a> {
        let (batch, columns) = (self.batch, self.batch.records());
        let mut start = self.start + self.key_len + self.value_len;
        (self.header..self.header + self.header_count()).map(move |header| {
            let len = cell(&columns.headers.len, header, 0) as usize;
            let payload = batch.payload(&columns.headers, header, start, len);
            start += len;
            (columns.header_keys[columns.header_key[header] as usize].as_str(), payload)
        })
    }

    pub(super) fn batch_id(&self) -> u64 {
        self.batch.batch.id
    }

    #[inline]
    fn header_count(&self) -> usize {
        cell(&self.batch.records().header_count, self.row, 0) as usize
    }
}

/// A key, a value or a header's value, as the batch holds it.
#[derive(Clone, Copy, Debug)]
pub struct Payload<'a> {
    encoding: u8,
    schema: Option<&'a Schema>,
    bytes: &'a [u8],
}

impl<'a> Payload<'a> {
    /// True if it is null: a tombstone, if it is a value.
    pub fn is_null(&self) -> bool {
        self.encoding == NONE
    }

    /// Its text, if it is one: Connect's STRING.
    pub fn as_text(&self) -> Option<&'a str> {
        if self.encoding == TEXT { std::str::from_utf8(self.bytes).ok() } else { None }
    }

    /// Its bytes, if that's what it is: Connect's BYTES.
    pub fn as_bytes(&self) -> Option<&'a [u8]> {
        (self.encoding == BYTES).then_some(self.bytes)
    }

    /// The bytes of a text or of bytes: what sinks write that take either as it is.
    pub fn as_text_or_bytes(&self) -> Option<&'a [u8]> {
        matches!(self.encoding, TEXT | BYTES).then_some(self.bytes)
    }

    /// Its schema; none if it is schemaless.
    pub fn schema(&self) -> Option<&'a Schema> {
        self.schema
    }

    /// The value as a whole, whatever it is.
    pub fn decode(&self) -> Result<Value<'a>> {
        match self.encoding {
            NONE => Ok(Value::Null),
            BYTES => Ok(Value::from(self.bytes)),
            TEXT => std::str::from_utf8(self.bytes).map(Value::from).map_err(Error::data),
            CBOR => data::decode(self.schema, self.bytes),
            JSON => Err(Error::failed("the worker never sends JSON")),
            other => Err(Error::failed(format!("unknown encoding {other}"))),
        }
    }

    /// Encoding and bytes.
    pub(crate) fn raw(&self) -> (u8, &'a [u8]) {
        (self.encoding, self.bytes)
    }

    /// The same for records that come from a source, whose JSON is taken as text.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn decode_or_json(&self) -> Result<Value<'a>> {
        let encoding = if self.encoding == JSON { TEXT } else { self.encoding };
        Self { encoding, ..*self }.decode()
    }
}

fn cell<T: Copy>(column: &[T], row: usize, default: T) -> T {
    column.get(row).copied().unwrap_or(default)
}
