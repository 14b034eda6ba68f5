use std::cell::Cell;
use std::rc::Rc;

use super::Record;
use super::columns::{Column, Pool, Values};
use crate::bindings::base::bulkhead::connect::types::RecordBatch;
use crate::bindings::source::exports::bulkhead::connect::source_task::SourceBatch;
use crate::{Error, Result};

/// What a record takes beside its data: its share of the columns.
const RECORD_OVERHEAD: usize = 64;

/// The records that a `poll` hands over. They are written straight into the columns that cross to the worker: beyond
/// what the author allocates, a record allocates nothing.
#[derive(Debug)]
pub struct Batch {
    pub(super) rows: usize,
    pub(super) expected: Sizes,
    pub(super) topics: Pool,
    pub(super) topic: Column<u32>,
    pub(super) partition: Column<i32>,
    pub(super) timestamp: Column<i64>,
    pub(super) keys: Values,
    pub(super) values: Values,
    pub(super) header_count: Column<u32>,
    pub(super) header_names: Pool,
    pub(super) header_name: Vec<u32>,
    pub(super) headers: Values,
    pub(super) source_partitions: Pool,
    pub(super) source_partition: Column<u32>,
    pub(super) offset_len: Column<u32>,
    pub(super) offsets: Vec<u8>,
    pub(super) data: Vec<u8>,
    /// What is sent in place of this batch.
    unchecked: Option<SourceBatch>,
    /// The first record that couldn't be written.
    pub(super) failure: Option<Error>,
    room: Rc<Cell<usize>>,
    max_bytes: usize,
    last_start: usize,
    largest: usize,
}

/// How large the batch before was: the next one is allocated once, in that size.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sizes {
    pub(super) rows: usize,
    data: usize,
    offsets: usize,
}

impl Batch {
    /// A batch of at most `room` records, which [`Wait::pace`](super::Wait::pace) may lower.
    pub(crate) fn new(room: Rc<Cell<usize>>, max_bytes: usize, expected: Sizes) -> Self {
        Self {
            rows: 0,
            expected,
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
            source_partitions: Pool::default(),
            source_partition: Column::new(0),
            offset_len: Column::new(0),
            offsets: Vec::with_capacity(expected.offsets),
            data: Vec::with_capacity(expected.data),
            unchecked: None,
            failure: None,
            room,
            max_bytes,
            last_start: 0,
            largest: 0,
        }
    }

    /// True while the worker takes another record of the size of those before.
    pub fn has_room(&self) -> bool {
        let bytes = self.data.len() + self.offsets.len() + self.rows * RECORD_OVERHEAD;
        let largest = self.largest.max(self.data.len() - self.last_start);
        self.rows < self.room.get() && bytes + largest + RECORD_OVERHEAD <= self.max_bytes
    }

    /// Number of records so far.
    pub fn len(&self) -> usize {
        self.rows
    }

    /// True if there are no records yet.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Bytes of keys, values and headers so far.
    pub fn bytes(&self) -> usize {
        self.data.len()
    }

    /// Adds a record for `topic`. Its other parts are set on what this returns, in any order; a record with nothing set
    /// has neither key nor value.
    pub fn push(&mut self, topic: &str) -> Record<'_> {
        let row = self.rows;
        self.largest = self.largest.max(self.data.len() - self.last_start);
        self.last_start = self.data.len();
        self.rows += 1;
        let place = self.topics.place(topic);
        self.topic.set(row, place, self.expected.rows);
        if row > 0 && !self.offsets.is_empty() {
            // With no offset of its own a record repeats the one before, partition included.
            let partition = self.source_partition.get(row - 1);
            self.source_partition.set(row, partition, self.expected.rows);
        }
        Record::new(self)
    }

    /// Sends `batch` in place of this one, as it is, however broken: for tests of the worker.
    #[doc(hidden)]
    pub fn send_unchecked(&mut self, batch: SourceBatch) {
        self.unchecked = Some(batch);
    }

    /// The batch as it crosses to the worker, or why one of its records couldn't be written.
    pub(crate) fn finish(self) -> Result<(SourceBatch, Sizes)> {
        if let Some(error) = self.failure {
            return Err(error);
        }
        if let Some(batch) = self.unchecked {
            return Ok((batch, self.expected));
        }
        let rows = self.rows;
        let sizes = Sizes { rows, data: self.data.len(), offsets: self.offsets.len() };
        let headers = self.header_name.len();
        let records = RecordBatch {
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
        };
        let batch = SourceBatch {
            records,
            source_partitions: self.source_partitions.finish(),
            source_partition: self.source_partition.finish(rows),
            offset_len: self.offset_len.finish(rows),
            offsets: self.offsets,
        };
        Ok((batch, sizes.or_if_empty(self.expected)))
    }
}

impl Sizes {
    /// An empty batch says nothing about the size of the next.
    fn or_if_empty(self, before: Self) -> Self {
        if self.rows == 0 { before } else { self }
    }
}
