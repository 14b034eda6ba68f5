//! Columns that cost nothing until a record differs from the default.

use std::collections::BTreeMap;

use crate::bindings::base::bulkhead::connect::types as wit;
use crate::{Error, Result};

/// Encodings of keys, values and header values.
pub(crate) mod encoding {
    pub(crate) const NONE: u8 = 0;
    pub(crate) const BYTES: u8 = 1;
    pub(crate) const TEXT: u8 = 2;
    pub(crate) const CBOR: u8 = 3;
    pub(crate) const JSON: u8 = 4;
}

/// One number for each record, or nothing at all while every record has the default.
#[derive(Debug)]
pub(crate) struct Column<T> {
    values: Vec<T>,
    default: T,
}

impl<T: Copy + PartialEq> Column<T> {
    pub(crate) fn new(default: T) -> Self {
        Self { values: Vec::new(), default }
    }

    /// Sets a row's value; rows left out before it get the default.
    #[inline]
    pub(crate) fn set(&mut self, row: usize, value: T, expected_rows: usize) {
        if let Some(present) = self.values.get_mut(row) {
            *present = value;
        } else if value != self.default || !self.values.is_empty() {
            if self.values.capacity() == 0 {
                self.values.reserve(expected_rows.max(row + 1));
            }
            self.values.resize(row, self.default);
            self.values.push(value);
        }
    }

    pub(crate) fn get(&self, row: usize) -> T {
        self.values.get(row).copied().unwrap_or(self.default)
    }

    pub(crate) fn finish(mut self, rows: usize) -> Vec<T> {
        if !self.values.is_empty() {
            self.values.resize(rows, self.default);
        }
        self.values
    }
}

/// A key, a value or a header's value, as it travels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'a> {
    pub(crate) encoding: u8,
    pub(crate) schema: u32,
    pub(crate) bytes: &'a [u8],
}

/// The columns of keys, of values or of header values. What isn't set is a null.
#[derive(Debug)]
pub(crate) struct Values {
    encoding: Column<u8>,
    schema: Column<u32>,
    len: Column<u32>,
}

impl Values {
    pub(crate) fn new() -> Self {
        Self { encoding: Column::new(encoding::NONE), schema: Column::new(0), len: Column::new(0) }
    }

    #[inline]
    pub(crate) fn set(&mut self, row: usize, encoding: u8, len: usize, expected_rows: usize) {
        let len = u32::try_from(len).expect("a component's memory, and so each length in it, is below 4 GiB");
        self.encoding.set(row, encoding, expected_rows);
        self.len.set(row, len, expected_rows);
    }

    #[inline]
    pub(crate) fn set_schema(&mut self, row: usize, schema: u32, expected_rows: usize) {
        self.schema.set(row, schema, expected_rows);
    }

    /// Sets a row whose bytes come next in `data`.
    #[inline]
    pub(crate) fn append(&mut self, row: usize, item: Item<'_>, expected_rows: usize, data: &mut Vec<u8>) {
        self.set(row, item.encoding, item.bytes.len(), expected_rows);
        self.set_schema(row, item.schema, expected_rows);
        data.extend_from_slice(item.bytes);
    }

    /// The contract's default encoding is bytes, ours is none: so nulls need a column and bytes don't.
    pub(crate) fn finish(self, rows: usize) -> wit::Values {
        let mut encoding = self.encoding.finish(rows);
        if encoding.is_empty() {
            encoding = vec![encoding::NONE; rows];
        } else if encoding.iter().all(|&encoding| encoding == encoding::BYTES) {
            encoding.clear();
        }
        wit::Values { encoding, schema: self.schema.finish(rows), len: self.len.finish(rows) }
    }
}

/// The columns of a record batch, as it crosses to the worker.
#[derive(Debug)]
pub(crate) struct RecordColumns {
    pub(crate) topics: Pool,
    pub(crate) topic: Column<u32>,
    pub(crate) partition: Column<i32>,
    pub(crate) timestamp: Column<i64>,
    pub(crate) keys: Values,
    pub(crate) values: Values,
    pub(crate) header_count: Column<u32>,
    header_names: Pool,
    header_name: Vec<u32>,
    headers: Values,
    pub(crate) data: Vec<u8>,
}

impl RecordColumns {
    /// With room for so many bytes of data.
    pub(crate) fn with_capacity(data: usize) -> Self {
        Self {
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
            data: Vec::with_capacity(data),
        }
    }

    /// Headers so far, of all rows.
    pub(crate) fn headers(&self) -> usize {
        self.header_name.len()
    }

    /// The next header of the last row; who adds it counts it.
    pub(crate) fn add_header(&mut self, name: &str, value: Item<'_>) {
        let header = self.headers();
        self.header_name.push(self.header_names.place(name));
        self.headers.append(header, value, header + 1, &mut self.data);
    }

    pub(crate) fn finish(self, rows: usize) -> Result<wit::RecordBatch> {
        let headers = self.headers();
        Ok(wit::RecordBatch {
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
}

/// Texts that records refer to by number. Asking for the text of the record before costs a comparison.
#[derive(Debug, Default)]
pub(crate) struct Pool {
    texts: Vec<String>,
    last: usize,
    places: BTreeMap<String, usize>,
}

impl Pool {
    #[inline]
    pub(crate) fn place(&mut self, text: &str) -> u32 {
        if self.texts.get(self.last).is_none_or(|last| last != text) {
            self.last = self.places.get(text).copied().unwrap_or_else(|| self.add(text));
        }
        u32::try_from(self.last).expect("a pool has fewer than 2^32 texts")
    }

    fn add(&mut self, text: &str) -> usize {
        self.places.insert(text.to_owned(), self.texts.len());
        self.texts.push(text.to_owned());
        self.texts.len() - 1
    }

    pub(crate) fn finish(self) -> Vec<String> {
        self.texts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_defaults_stays_empty() {
        let mut column = Column::new(-1);
        (0..5).for_each(|row| column.set(row, -1, 5));
        assert!(column.finish(5).is_empty());
    }

    #[test]
    fn rows_left_out_get_the_default() {
        let mut column = Column::new(-1);
        column.set(2, 7, 5);
        column.set(3, -1, 5);
        column.set(2, 8, 5);
        assert_eq!(column.finish(5), [-1, -1, 8, -1, -1]);
    }

    #[test]
    fn bytes_need_no_column_and_nulls_do() {
        let mut all_bytes = Values::new();
        all_bytes.set(0, encoding::BYTES, 3, 1);
        assert_eq!(all_bytes.finish(1), wit::Values { encoding: vec![], schema: vec![], len: vec![3] });
        assert_eq!(Values::new().finish(2).encoding, [encoding::NONE; 2]);
    }

    #[test]
    fn a_pool_holds_each_text_once() {
        let mut pool = Pool::default();
        let places = ["a", "b", "a", "a", "c", "b"].map(|text| pool.place(text));
        assert_eq!(places, [0, 1, 0, 0, 2, 1]);
        assert_eq!(pool.finish(), ["a", "b", "c"]);
    }
}
