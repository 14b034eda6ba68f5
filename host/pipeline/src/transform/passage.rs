//! A batch on its way through transforms and converters with guests among them: every record keeps its place, whatever becomes of it.

use std::sync::Arc;

use super::rows::Rows;
use super::{Chain, Header, Record};
use crate::batch::{Batch, Encoding, Place, RecordRef};
use crate::cbor;
use crate::convert::{ConvertError, item};
use crate::tolerance::Fault;

/// What has become of each record of a batch so far.
pub(crate) struct Passage {
    /// The batch that it began with, and what guests made of it.
    batches: Vec<Arc<Batch>>,
    slots: Vec<Slot>,
    /// Of each record in its Kafka partition; empty on the way from a source.
    offset: Vec<i64>,
}

/// A record that goes on is a row of a batch, or a tree once somebody had to look into it.
enum Slot {
    Row(Row),
    Tree(Box<Record>),
    Dropped,
    Failed(Box<Fault>),
}

#[derive(Clone, Copy)]
struct Row {
    batch: usize,
    place: Place,
}

/// What has become of one record.
pub(crate) enum Outcome<'a> {
    Row(RecordRef<'a>),
    Tree(&'a Record),
    Dropped,
    Failed(&'a Fault),
}

/// Records on their way to a guest.
pub(crate) struct Sent {
    pub(crate) batch: Arc<Batch>,
    pub(super) offset: Vec<i64>,
    /// Where in the passage each comes from.
    pub(crate) from: Vec<usize>,
}

impl Passage {
    pub(crate) fn new(batch: Arc<Batch>, offset: Vec<i64>) -> Self {
        let slots = places(&batch).map(|place| Slot::Row(Row { batch: 0, place })).collect();
        Self { batches: vec![batch], slots, offset }
    }

    pub(crate) fn outcome(&self, index: usize) -> Outcome<'_> {
        match &self.slots[index] {
            Slot::Row(row) => Outcome::Row(self.row(*row)),
            Slot::Tree(record) => Outcome::Tree(record),
            Slot::Dropped => Outcome::Dropped,
            Slot::Failed(fault) => Outcome::Failed(fault),
        }
    }

    pub(crate) fn outcomes(&self) -> impl Iterator<Item = Outcome<'_>> {
        (0..self.slots.len()).map(|index| self.outcome(index))
    }

    /// The batch that is all there is left, if it is one that a guest made or that nobody changed.
    pub(crate) fn whole(&self) -> Option<&Arc<Batch>> {
        self.shared(&self.live())
    }

    /// Takes all records through a chain of built-in transforms.
    pub(super) fn apply(&mut self, chain: &Chain) {
        for index in self.live() {
            let Some(record) = self.take(index) else { continue };
            match chain.apply(record) {
                Ok(record) => self.put(index, record),
                Err(error) => self.fail(index, Fault::transforming(error)),
            }
        }
    }

    /// The records that go on.
    pub(crate) fn live(&self) -> Vec<usize> {
        let live = self.slots.iter().enumerate().filter(|(_, slot)| matches!(slot, Slot::Row(_) | Slot::Tree(_)));
        live.map(|(index, _)| index).collect()
    }

    /// A record for somebody who has to look into it; none if it can't be read, which is its end.
    pub(super) fn look(&mut self, index: usize) -> Option<Record> {
        let read = match &self.slots[index] {
            Slot::Row(row) => read(&self.row(*row), self.offset.get(index).copied()),
            Slot::Tree(record) => return Some(Record::clone(record)),
            Slot::Dropped | Slot::Failed(_) => return None,
        };
        read.map_err(|error| self.fail(index, Fault::reading(error))).ok()
    }

    /// The same for somebody who puts another in its place.
    pub(super) fn take(&mut self, index: usize) -> Option<Record> {
        match std::mem::replace(&mut self.slots[index], Slot::Dropped) {
            Slot::Tree(record) => Some(*record),
            slot => {
                self.slots[index] = slot;
                self.look(index)
            }
        }
    }

    pub(super) fn put(&mut self, index: usize, record: Option<Record>) {
        self.slots[index] = record.map_or(Slot::Dropped, |record| Slot::Tree(Box::new(record)));
    }

    pub(crate) fn fail(&mut self, index: usize, fault: Fault) {
        self.slots[index] = Slot::Failed(Box::new(fault));
    }

    /// Makes a batch of some records; those that can't be part of one have failed.
    pub(crate) fn send(&mut self, mut from: Vec<usize>) -> Sent {
        let batch = match self.shared(&from) {
            Some(batch) => Arc::clone(batch),
            None => Arc::new(self.gather(&mut from)),
        };
        let offset = if self.offset.is_empty() { Vec::new() } else { from.iter().map(|at| self.offset[*at]).collect() };
        Sent { batch, offset, from }
    }

    /// The records of a guest's answer, in place of those that it was sent and kept. What is no value of
    /// its schema is the end of its record, with the fault that `blame` makes of it.
    pub(crate) fn receive(&mut self, kept: &[usize], batch: Batch, blame: impl Fn(ConvertError) -> Fault) {
        let (batch, number) = (Arc::new(batch), self.batches.len());
        self.batches.push(Arc::clone(&batch));
        for (index, place) in kept.iter().zip(places(&batch)) {
            let record = batch.at(place);
            self.slots[*index] = match check(&record) {
                Ok(Checked::Fine) => Slot::Row(Row { batch: number, place }),
                Ok(Checked::HasJson) => match read(&record, self.offset.get(*index).copied()) {
                    Ok(record) => Slot::Tree(Box::new(record)),
                    Err(error) => Slot::Failed(Box::new(blame(error))),
                },
                Err(error) => Slot::Failed(Box::new(blame(error))),
            };
        }
    }

    fn row(&self, row: Row) -> RecordRef<'_> {
        self.batches[row.batch].at(row.place)
    }

    /// The batch that consists of just these records.
    fn shared(&self, indexes: &[usize]) -> Option<&Arc<Batch>> {
        let mut batches = indexes.iter().map(|index| match &self.slots[*index] {
            Slot::Row(row) => Some(row.batch),
            Slot::Tree(_) | Slot::Dropped | Slot::Failed(_) => None,
        });
        let first = batches.next()??;
        let batch = &self.batches[first];
        (batch.count == indexes.len() && batches.all(|batch| batch == Some(first))).then_some(batch)
    }

    fn gather(&mut self, from: &mut Vec<usize>) -> Batch {
        let mut rows = Rows::default();
        from.retain(|index| {
            let pushed = match self.outcome(*index) {
                Outcome::Row(record) => {
                    rows.push_row(&record);
                    Ok(())
                }
                Outcome::Tree(record) => rows.push(record),
                Outcome::Dropped | Outcome::Failed(_) => return false,
            };
            pushed.map_err(|error| self.fail(*index, Fault::reading(error))).is_ok()
        });
        rows.finish()
    }
}

fn places(batch: &Batch) -> impl Iterator<Item = Place> {
    let mut records = batch.records();
    std::iter::from_fn(move || {
        let place = records.place();
        records.next().map(|_| place)
    })
}

enum Checked {
    Fine,
    /// Which guests may write, but not read.
    HasJson,
}

/// Whether all parts of a record are what they claim to be.
fn check(record: &RecordRef<'_>) -> Result<Checked, ConvertError> {
    let mut checked = Checked::Fine;
    let headers = record.headers().map(|(_, item)| item);
    for part in [record.key, record.value].into_iter().chain(headers) {
        match part.encoding {
            Encoding::None | Encoding::Bytes => {}
            Encoding::Text => {
                let text = std::str::from_utf8(part.bytes);
                text.map_err(|_| ConvertError::Data("the text is not UTF-8".to_owned()))?;
            }
            Encoding::Cbor => drop(cbor::read(part.bytes, part.schema)?),
            Encoding::Json => checked = Checked::HasJson,
        }
    }
    Ok(checked)
}

/// A record as transforms take it.
pub(crate) fn read(record: &RecordRef<'_>, offset: Option<i64>) -> Result<Record, ConvertError> {
    let headers = record.headers().map(|(key, item)| Ok(Header { key: key.clone(), value: item::read(item)? }));
    Ok(Record {
        topic: record.topic().clone(),
        partition: record.partition(),
        key: item::read(record.key)?,
        value: item::read(record.value)?,
        timestamp: record.timestamp(),
        headers: headers.collect::<Result<_, ConvertError>>()?,
        offset,
    })
}
