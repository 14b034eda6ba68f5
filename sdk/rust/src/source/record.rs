use std::fmt;
use std::io::Write as _;

use serde::Serialize;

use super::Batch;
use super::columns::Item;
use super::columns::encoding::{BYTES, CBOR, JSON, TEXT};
use crate::data::{self, Schema, Struct, Value};
use crate::offsets::{self, Fields, Partition};
use crate::{Error, Result};

/// A record being written into a [`Batch`]; it is there from the start, so nothing has to be called at the end.
///
/// A part that can't be written, say a value that doesn't fit its schema, fails the whole `poll` once it returns, with an
/// error of the kind `data`.
#[derive(Debug)]
pub struct Record<'b> {
    batch: &'b mut Batch,
    row: usize,
    start: usize,
    key_len: usize,
    value_len: usize,
}

/// The key or the value.
#[derive(Clone, Copy)]
enum Part {
    Key,
    Value,
}

impl<'b> Record<'b> {
    pub(super) fn new(batch: &'b mut Batch) -> Self {
        let (row, start) = (batch.rows - 1, batch.records.data.len());
        Self { batch, row, start, key_len: 0, value_len: 0 }
    }

    /// A text as the key.
    pub fn key(self, text: impl AsRef<str>) -> Self {
        self.plain(Part::Key, TEXT, text.as_ref().as_bytes())
    }

    /// A text as the key, formatted in place.
    pub fn key_fmt(self, text: fmt::Arguments<'_>) -> Self {
        self.written(Part::Key, TEXT, |data| data.write_fmt(text).map_err(Error::data))
    }

    /// Bytes as the key.
    pub fn key_bytes(self, bytes: impl AsRef<[u8]>) -> Self {
        self.plain(Part::Key, BYTES, bytes.as_ref())
    }

    /// Any value as the key, under a schema or, with none, schemaless.
    pub fn key_of<'v>(self, schema: impl Into<Option<&'v Schema>>, value: impl Into<Value<'v>>) -> Self {
        self.structured(Part::Key, schema.into(), &value.into())
    }

    /// The schema of a key that was given as text or bytes.
    pub fn key_schema(self, schema: &Schema) -> Self {
        self.schema(Part::Key, schema)
    }

    /// A text as the value.
    pub fn value(self, text: impl AsRef<str>) -> Self {
        self.plain(Part::Value, TEXT, text.as_ref().as_bytes())
    }

    /// A text as the value, formatted in place: `.value_fmt(format_args!("{id}: {name}"))`.
    pub fn value_fmt(self, text: fmt::Arguments<'_>) -> Self {
        self.written(Part::Value, TEXT, |data| data.write_fmt(text).map_err(Error::data))
    }

    /// Bytes as the value.
    pub fn value_bytes(self, bytes: impl AsRef<[u8]>) -> Self {
        self.plain(Part::Value, BYTES, bytes.as_ref())
    }

    /// Text that is known to be UTF-8 only by the one who reads it: checked here, without a copy.
    pub fn value_utf8(self, text: &[u8]) -> Self {
        match std::str::from_utf8(text) {
            Ok(text) => self.value(text),
            Err(_) => self.value(String::from_utf8_lossy(text)),
        }
    }

    /// A schemaless value, from whatever `serde` can write as JSON.
    pub fn value_json(self, value: &(impl Serialize + ?Sized)) -> Self {
        self.written(Part::Value, JSON, |data| serde_json::to_writer(data, value).map_err(Error::data))
    }

    /// Any value, under a schema or, with none, schemaless.
    pub fn value_of<'v>(self, schema: impl Into<Option<&'v Schema>>, value: impl Into<Value<'v>>) -> Self {
        self.structured(Part::Value, schema.into(), &value.into())
    }

    /// A struct from its fields' names and values; fields left out are null:
    /// `.value_struct(&order, [("id", 7.into()), ("note", "fragile".into())])`.
    pub fn value_struct<'v>(
        mut self,
        schema: &'v Schema,
        fields: impl IntoIterator<Item = (&'v str, Value<'v>)>,
    ) -> Self {
        let set = |all: Struct<'v>, (name, value)| all.with(name, value);
        match fields.into_iter().try_fold(Struct::new(schema), set) {
            Ok(value) => self.structured(Part::Value, Some(schema), &value.into()),
            Err(error) => {
                self.fail(error);
                self
            }
        }
    }

    /// The schema of a value that was given as text or bytes, e.g. `Schema::text()`. A value without one is schemaless.
    pub fn value_schema(self, schema: &Schema) -> Self {
        self.schema(Part::Value, schema)
    }

    /// The Kafka partition to write to; if not set, the worker chooses.
    pub fn partition(self, partition: i32) -> Self {
        self.batch.records.partition.set(self.row, partition, self.batch.expected.rows);
        self
    }

    /// When it happened, in milliseconds since 1970.
    pub fn timestamp(self, millis: i64) -> Self {
        self.batch.records.timestamp.set(self.row, millis, self.batch.expected.rows);
        self
    }

    /// A header with a text.
    pub fn header(self, name: &str, text: impl AsRef<str>) -> Self {
        self.add_header(name, TEXT, text.as_ref().as_bytes())
    }

    /// A header with bytes.
    pub fn header_bytes(self, name: &str, bytes: impl AsRef<[u8]>) -> Self {
        self.add_header(name, BYTES, bytes.as_ref())
    }

    /// Where the source goes on after this record, once it is delivered: `.offset(&self.file, [("position", end)])`. A
    /// record without one has the offset of the record before it in this batch.
    pub fn offset(self, partition: &Partition, offset: impl Fields) -> Self {
        let batch = &mut *self.batch;
        let place = batch.source_partitions.place(partition.json());
        batch.source_partition.set(self.row, place, batch.expected.rows);
        let start = batch.offsets.len();
        offsets::write_json(&offset, &mut batch.offsets);
        let len = u32::try_from(batch.offsets.len() - start).expect("an offset is below 4 GiB");
        batch.offset_len.set(self.row, len, batch.expected.rows);
        self
    }

    fn plain(self, part: Part, encoding: u8, bytes: &[u8]) -> Self {
        self.written(part, encoding, |data| {
            data.extend_from_slice(bytes);
            Ok(())
        })
    }

    fn structured(self, part: Part, schema: Option<&Schema>, value: &Value<'_>) -> Self {
        let record = self.written(part, CBOR, |data| data::encode(schema, value, data));
        match schema {
            Some(schema) => record.schema(part, schema),
            None => record,
        }
    }

    /// Puts a part into its place. That is the end of `data`, unless the parts come in an unusual order.
    fn written(mut self, part: Part, encoding: u8, write: impl FnOnce(&mut Vec<u8>) -> Result<()>) -> Self {
        let (place, old_len) = match part {
            Part::Key => (self.start, self.key_len),
            Part::Value => (self.start + self.key_len, self.value_len),
        };
        let data = &mut self.batch.records.data;
        let behind = (place + old_len < data.len()).then(|| data.split_off(place + old_len));
        data.truncate(place);
        let outcome = write(data);
        let len = data.len() - place;
        data.extend(behind.unwrap_or_default());

        let rows = self.batch.expected.rows;
        match part {
            Part::Key => {
                self.key_len = len;
                self.batch.records.keys.set(self.row, encoding, len, rows);
            }
            Part::Value => {
                self.value_len = len;
                self.batch.records.values.set(self.row, encoding, len, rows);
            }
        }
        if let Err(error) = outcome {
            self.fail(error);
        }
        self
    }

    fn schema(mut self, part: Part, schema: &Schema) -> Self {
        let rows = self.batch.expected.rows;
        match (schema.id(), part) {
            (Ok(id), Part::Key) => self.batch.records.keys.set_schema(self.row, id, rows),
            (Ok(id), Part::Value) => self.batch.records.values.set_schema(self.row, id, rows),
            (Err(error), _) => self.fail(error),
        }
        self
    }

    fn add_header(self, name: &str, encoding: u8, bytes: &[u8]) -> Self {
        let batch = &mut *self.batch;
        let count = &mut batch.records.header_count;
        count.set(self.row, count.get(self.row) + 1, batch.expected.rows);
        batch.records.add_header(name, Item { encoding, schema: 0, bytes });
        self
    }

    fn fail(&mut self, error: Error) {
        let row = self.row;
        self.batch.failure.get_or_insert_with(|| error.context(format!("record {row} of the batch can't be written")));
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;
    use crate::bindings::source::exports::bulkhead::connect::source_task::SourceBatch;

    fn batch() -> Batch {
        Batch::new(Rc::new(Cell::new(1_000)), 1 << 20, Default::default())
    }

    fn finish(batch: Batch) -> SourceBatch {
        batch.finish().expect("all records are fine").0
    }

    #[test]
    fn the_order_in_which_parts_are_set_does_not_matter() {
        let mut usual = batch();
        usual.push("t").key("k").value("value").header("h", "x");
        let mut odd = batch();
        odd.push("t").header("h", "x").value("another").key("kk").value("value").key("k");
        assert_eq!(finish(usual), finish(odd));
    }

    #[test]
    fn what_no_record_sets_takes_no_column() {
        let mut batch = batch();
        batch.push("t").value_bytes(b"ab");
        batch.push("t").value_bytes(b"c");
        let sent = finish(batch);
        assert_eq!((sent.records.data.as_slice(), &sent.records.values.len), (b"abc".as_slice(), &vec![2, 1]));
        assert!(
            sent.records.topic.is_empty()
                && sent.records.timestamp.is_empty()
                && sent.records.values.encoding.is_empty()
        );
        assert!(sent.offset_len.is_empty() && sent.source_partitions.is_empty());
    }

    #[test]
    fn a_record_without_an_offset_repeats_the_one_before() {
        let (a, b) = (Partition::new([("p", "a")]), Partition::new([("p", "b")]));
        let mut batch = batch();
        batch.push("t").offset(&a, [("n", 1)]);
        batch.push("t").offset(&b, [("n", 22)]);
        batch.push("t");
        let sent = finish(batch);
        assert_eq!(sent.source_partitions, [r#"{"p":"a"}"#, r#"{"p":"b"}"#]);
        assert_eq!(sent.source_partition, [0, 1, 1]);
        assert_eq!(sent.offset_len, [7, 8, 0]);
        assert_eq!(sent.offsets, br#"{"n":1}{"n":22}"#);
    }

    #[test]
    fn a_value_that_does_not_fit_fails_the_poll_and_names_the_field() {
        let schema = Schema::record("Order").field("id", Schema::int64());
        let mut batch = batch();
        batch.push("t").value_struct(&schema, [("id", "seven".into())]);
        let error = batch.finish().unwrap_err().to_string();
        assert_eq!(
            error,
            "record 0 of the batch can't be written: field `id` doesn't fit: string where the schema says int64"
        );
    }

    #[test]
    fn a_batch_is_full_before_the_bytes_run_out() {
        let mut batch = Batch::new(Rc::new(Cell::new(1_000)), 10_000, Default::default());
        while batch.has_room() {
            batch.push("t").value_bytes([0; 1_000]);
        }
        assert!((8..=9).contains(&batch.len()), "{}", batch.len());
    }
}
