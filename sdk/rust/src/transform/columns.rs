//! The records that go on, written straight into the columns that cross to the worker.

use super::TransformRecord;
use crate::bindings::base::bulkhead::connect::types::RecordBatch;
use crate::data::Schema;
use crate::part::Part;
use crate::sink::Payload;
use crate::source::columns::{Item, RecordColumns};
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
        let key = item(record.key.as_ref(), record.key())?;
        columns.keys.append(row, key, expected, &mut columns.data);
        let value = item(record.value.as_ref(), record.value())?;
        columns.values.append(row, value, expected, &mut columns.data);
        let before = columns.headers();
        for (name, value) in record.kept_headers() {
            columns.add_header(name, item(None, value)?);
        }
        for (name, value) in &record.added_headers {
            columns.add_header(name, value.into());
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

/// A key, a value or a header's value, as it was set or as it came.
fn item<'a>(set: Option<&'a Part>, came: Payload<'a>) -> Result<Item<'a>> {
    match set {
        Some(part) => Ok(Item::from(part)),
        None => {
            let (encoding, bytes) = came.raw();
            Ok(Item { encoding, schema: came.schema().map_or(Ok(0), Schema::id)?, bytes })
        }
    }
}
