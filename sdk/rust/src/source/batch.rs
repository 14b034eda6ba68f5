use std::cell::Cell;
use std::rc::Rc;

use super::Record;
use super::columns::{Column, Pool, RecordColumns};
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
    pub(super) records: RecordColumns,
    pub(super) source_partitions: Pool,
    pub(super) source_partition: Column<u32>,
    pub(super) offset_len: Column<u32>,
    pub(super) offsets: Vec<u8>,
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
            records: RecordColumns::with_capacity(expected.data),
            source_partitions: Pool::default(),
            source_partition: Column::new(0),
            offset_len: Column::new(0),
            offsets: Vec::with_capacity(expected.offsets),
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
        let bytes = self.records.data.len() + self.offsets.len() + self.rows * RECORD_OVERHEAD;
        let largest = self.largest.max(self.records.data.len() - self.last_start);
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
        self.records.data.len()
    }

    /// Adds a record for `topic`. Its other parts are set on what this returns, in any order; a record with nothing set
    /// has neither key nor value.
    pub fn push(&mut self, topic: &str) -> Record<'_> {
        let row = self.rows;
        self.largest = self.largest.max(self.records.data.len() - self.last_start);
        self.last_start = self.records.data.len();
        self.rows += 1;
        let place = self.records.topics.place(topic);
        self.records.topic.set(row, place, self.expected.rows);
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
        let sizes = Sizes { rows, data: self.records.data.len(), offsets: self.offsets.len() };
        let batch = SourceBatch {
            records: self.records.finish(rows)?,
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
