//! The records that go on, written straight into the columns that cross to the worker.

use super::TransformRecord;
use super::record::Part;
use crate::bindings::base::bulkhead::connect::types::RecordBatch;
use crate::data::Schema;
use crate::sink::Payload;
use crate::source::columns::{Column, Pool, Values};
use crate::{Error, Result};

pub(super) struct Columns {
    /// Records that are expected.
    expected: usize,
    rows: usize,
    topics: Pool,
    topic: Column<u32>,
    partition: Column<i32>,
    timestamp: Column<i64>,
    keys: Values,
    values: Values,
    header_count: Column<u32>,
    header_names: Pool,
    header_name: Vec<u32>,
    headers: Values,
    data: Vec<u8>,
}

impl Columns {
    pub(super) fn new(expected: usize) -> Self {
        Self {
            expected,
            rows: 0,
            topics: Pool::default(),
            topic: Column::new(0),
            partition: Column::new(-1),
            timestamp: Column::new(i64::MIN),
            keys: Values::new(),
            values: Values::new(),
            header_count: Column::new(0),
            header_names: Pool::default(),
            header_name: Vec::new(),
            headers: Values::new(),
            data: Vec::new(),
        }
    }

    pub(super) fn push(&mut self, record: &TransformRecord<'_>) -> Result<()> {
        let (row, expected) = (self.rows, self.expected);
        let topic = self.topics.place(record.topic.as_deref().unwrap_or(record.topic()));
        self.topic.set(row, topic, expected);
        let partition = record.partition.unwrap_or(record.partition());
        self.partition.set(row, partition.unwrap_or(-1), expected);
        let timestamp = record.timestamp.unwrap_or(record.timestamp());
        self.timestamp.set(row, timestamp.unwrap_or(i64::MIN), expected);
        let key = Item::of(record.key.as_ref(), record.key())?;
        key.write(&mut self.keys, row, expected, &mut self.data);
        let value = Item::of(record.value.as_ref(), record.value())?;
        value.write(&mut self.values, row, expected, &mut self.data);
        let before = self.header_name.len();
        for (name, value) in record.kept_headers() {
            self.header(name, &Item::of(None, value)?);
        }
        for (name, value) in &record.added_headers {
            self.header(name, &Item::from(value));
        }
        let headers = u32::try_from(self.header_name.len() - before).map_err(Error::failed)?;
        self.header_count.set(row, headers, expected);
        self.rows += 1;
        Ok(())
    }

    pub(super) fn finish(self) -> Result<RecordBatch> {
        let rows = self.rows;
        let headers = self.header_name.len();
        Ok(RecordBatch {
            count: u32::try_from(rows).map_err(Error::failed)?,
            topics: self.topics.finish(),
            schemas: Vec::new(),
            topic: self.topic.finish(rows),
            partition: self.partition.finish(rows),
            timestamp: self.timestamp.finish(rows),
            keys: self.keys.finish(rows),
            values: self.values.finish(rows),
            header_count: self.header_count.finish(rows),
            header_keys: self.header_names.finish(),
            header_key: self.header_name,
            headers: self.headers.finish(headers),
            data: self.data,
        })
    }

    fn header(&mut self, name: &str, value: &Item<'_>) {
        let place = self.header_name.len();
        self.header_name.push(self.header_names.place(name));
        value.write(&mut self.headers, place, place + 1, &mut self.data);
    }
}

/// A key, a value or a header's value, as it came or as it was set.
struct Item<'a> {
    encoding: u8,
    schema: u32,
    bytes: &'a [u8],
}

impl<'a> Item<'a> {
    fn of(set: Option<&'a Part>, came: Payload<'a>) -> Result<Self> {
        match set {
            Some(part) => Ok(Self::from(part)),
            None => {
                let (encoding, bytes) = came.raw();
                Ok(Self { encoding, schema: came.schema().map_or(Ok(0), Schema::id)?, bytes })
            }
        }
    }

    fn write(&self, column: &mut Values, row: usize, expected: usize, data: &mut Vec<u8>) {
        data.extend_from_slice(self.bytes);
        column.set(row, self.encoding, self.bytes.len(), expected);
        column.set_schema(row, self.schema, expected);
    }
}

impl<'a> From<&'a Part> for Item<'a> {
    fn from(part: &'a Part) -> Self {
        Self { encoding: part.encoding, schema: part.schema, bytes: &part.bytes }
    }
}
