//! The records that go on, written straight into the columns that cross to the worker.

use super::TransformRecord;
use super::record::Part;
use crate::bindings::base::bulkhead::connect::types::RecordBatch;
use crate::data::Schema;
use crate::sink::Payload;
use crate::source::columns::{RecordColumns, Values};
use crate::{Error, Result};

pub(super) struct Columns {
    /// Records that are expected.
    expected: usize,
    rows: usize,
    records: RecordColumns,
}

impl Columns {
    pub(super) fn new(expected: usize) -> Self {
        Self { expected, rows: 0, records: RecordColumns::with_capacity(0) }
    }

    pub(super) fn push(&mut self, record: &TransformRecord<'_>) -> Result<()> {
        let (row, expected, columns) = (self.rows, self.expected, &mut self.records);
        let topic = columns.topics.place(record.topic.as_deref().unwrap_or(record.topic()));
        columns.topic.set(row, topic, expected);
        let partition = record.partition.unwrap_or(record.partition());
        columns.partition.set(row, partition.unwrap_or(-1), expected);
        let timestamp = record.timestamp.unwrap_or(record.timestamp());
        columns.timestamp.set(row, timestamp.unwrap_or(i64::MIN), expected);
        let key = Item::of(record.key.as_ref(), record.key())?;
        key.write(&mut columns.keys, row, expected, &mut columns.data);
        let value = Item::of(record.value.as_ref(), record.value())?;
        value.write(&mut columns.values, row, expected, &mut columns.data);
        let before = columns.headers();
        for (name, value) in record.kept_headers() {
            Item::of(None, value)?.add_as_header(name, columns);
        }
        for (name, value) in &record.added_headers {
            Item::from(value).add_as_header(name, columns);
        }
        let headers = u32::try_from(columns.headers() - before).map_err(Error::failed)?;
        columns.header_count.set(row, headers, expected);
        self.rows += 1;
        Ok(())
    }

    pub(super) fn finish(self) -> Result<RecordBatch> {
        self.records.finish(self.rows)
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

    fn add_as_header(&self, name: &str, columns: &mut RecordColumns) {
        columns.add_header(name, self.encoding, self.schema, self.bytes);
    }
}

impl<'a> From<&'a Part> for Item<'a> {
    fn from(part: &'a Part) -> Self {
        Self { encoding: part.encoding, schema: part.schema, bytes: &part.bytes }
    }
}
