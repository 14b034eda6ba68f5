//! Which source offsets may be committed: per source partition, the longest prefix of records that
//! Kafka has acknowledged, whatever the order of acknowledgements.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use bulkhead_model::offset::{SourceOffset, SourcePartition};
use bytes::Bytes;

use crate::batch::SourceBatch;
use crate::ports::OffsetWrite;

/// Records sent and not yet settled, in the order they were sent.
///
/// A record that hangs holds back the offsets of its own source partition only; it keeps the entries
/// behind it in memory, though, 16 bytes each, so the loop bounds [`Submitted::len`].
#[derive(Debug, Default)]
pub struct Submitted {
    /// Sequence of the first entry.
    base: u64,
    entries: VecDeque<Entry>,
    /// Offsets of the batches that `entries` came from, with the sequence of their first record.
    batches: VecDeque<(u64, Bytes)>,
    partitions: Vec<SourcePartition>,
    /// For each partition, the newest offset that may be committed and was not taken yet.
    committable: Vec<Option<Bytes>>,
    slots: HashMap<Arc<str>, u32>,
    unsettled: usize,
    /// Bytes of keys, values and headers of unsettled records.
    unsettled_bytes: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    /// Index into `partitions`, or [`NO_PARTITION`].
    slot: u32,
    /// Where the source offset lies in its batch's `offsets`.
    offset_start: u32,
    offset_len: u32,
    /// What the record weighs.
    bytes: u32,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Open,
    /// Acknowledged or skipped.
    Settled,
    /// Will never be acknowledged: its offset, and those behind it, stay uncommitted.
    Failed,
}

/// The record has no source offset.
const NO_PARTITION: u32 = u32::MAX;

/// Prepared by [`Submitted::begin_batch`]: where the batch's partitions and offsets are.
#[derive(Debug)]
pub struct BatchOffsets {
    /// For each partition of the batch's pool.
    slots: Vec<u32>,
    start: u32,
    len: u32,
}

impl Submitted {
    /// Entries held, settled ones behind a hanging record included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Records whose fate is unknown.
    pub fn unsettled(&self) -> usize {
        self.unsettled
    }

    /// Their weight in bytes.
    pub fn unsettled_bytes(&self) -> usize {
        self.unsettled_bytes
    }

    /// The sequence that the next submitted record gets.
    pub fn next_sequence(&self) -> u64 {
        self.base + self.entries.len() as u64
    }

    /// Has to be called before the records of a batch are submitted.
    pub fn begin_batch(&mut self, batch: &SourceBatch) -> BatchOffsets {
        if batch.offset_len.is_empty() {
            return BatchOffsets { slots: Vec::new(), start: 0, len: 0 };
        }
        self.batches.push_back((self.next_sequence(), batch.offsets.clone()));
        let slots = batch.partitions.iter().map(|partition| self.slot(partition)).collect();
        BatchOffsets { slots, start: 0, len: 0 }
    }

    /// Notes the next record of the batch, `index` being its place in it.
    pub fn submit(&mut self, batch: &SourceBatch, offsets: &mut BatchOffsets, index: usize, bytes: usize) -> u64 {
        let sequence = self.next_sequence();
        let slot = offsets.advance(batch, index);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let entry = Entry { slot, offset_start: offsets.start, offset_len: offsets.len, bytes, fate: Fate::Open };
        self.entries.push_back(entry);
        self.unsettled += 1;
        self.unsettled_bytes += bytes as usize;
        sequence
    }

    /// The record was acknowledged, or skipped.
    pub fn settle(&mut self, sequence: u64) {
        self.decide(sequence, Fate::Settled);
    }

    /// The record failed for good, and that is the end of the task: nobody waits for it any more.
    pub fn fail(&mut self, sequence: u64) {
        self.decide(sequence, Fate::Failed);
    }

    fn decide(&mut self, sequence: u64, fate: Fate) {
        let Some(index) = sequence.checked_sub(self.base) else { return };
        let Some(entry) = self.entries.get_mut(index as usize) else { return };
        if entry.fate == Fate::Open {
            entry.fate = fate;
            self.unsettled -= 1;
            self.unsettled_bytes -= entry.bytes as usize;
        }
    }

    /// Lets go of the settled records at the front; to be called on every turn, so that memory holds
    /// what is under way and not what was sent since the last commit.
    pub fn advance(&mut self) {
        while let Some(entry) = self.entries.front().copied().filter(|entry| entry.fate == Fate::Settled) {
            let last_of_run =
                self.entries.get(1).is_none_or(|next| next.fate != Fate::Settled || next.slot != entry.slot)
                    || self.batches.get(1).is_some_and(|(first, _)| *first == self.base + 1);
            if last_of_run {
                self.note_committable(entry, self.base);
            }
            self.entries.pop_front();
            self.base += 1;
            if self.batches.get(1).is_some_and(|(first, _)| *first <= self.base) {
                self.batches.pop_front();
            }
        }
    }

    /// Takes what may be committed now: the newest offset of each partition's settled prefix.
    pub fn take_committable(&mut self) -> Result<Vec<OffsetWrite>, NotText> {
        self.advance();
        self.look_behind_hanging_records();
        let newest = self.committable.iter_mut().zip(&self.partitions);
        newest
            .filter_map(|(offset, partition)| Some((partition, offset.take()?)))
            .map(|(partition, offset)| {
                let text = std::str::from_utf8(&offset).map_err(|_| NotText)?;
                Ok((partition.clone(), Some(SourceOffset(text.into()))))
            })
            .collect()
    }

    /// Takes back offsets whose commit failed, unless there are newer ones by now.
    pub fn put_back(&mut self, writes: Vec<OffsetWrite>) {
        for (partition, offset) in writes {
            let slot = self.slot(&partition) as usize;
            if let (None, Some(SourceOffset(text))) = (&self.committable[slot], offset) {
                self.committable[slot] = Some(Bytes::copy_from_slice(text.as_bytes()));
            }
        }
    }

    /// The same for partitions that aren't held back by the record at the front. Their entries stay
    /// until it is settled, without a partition, so that nothing is taken twice.
    fn look_behind_hanging_records(&mut self) {
        let mut blocked = HashSet::new();
        for index in 0..self.entries.len() {
            let entry = self.entries[index];
            if entry.fate != Fate::Settled {
                blocked.insert(entry.slot);
            } else if entry.slot != NO_PARTITION && !blocked.contains(&entry.slot) {
                self.note_committable(entry, self.base + index as u64);
                self.entries[index].slot = NO_PARTITION;
            }
        }
    }

    fn note_committable(&mut self, entry: Entry, sequence: u64) {
        if entry.slot == NO_PARTITION {
            return;
        }
        let batch = self.batches.partition_point(|(first, _)| *first <= sequence) - 1;
        let start = entry.offset_start as usize;
        let offset = self.batches[batch].1.slice(start..start + entry.offset_len as usize);
        self.committable[entry.slot as usize] = Some(offset);
    }

    fn slot(&mut self, partition: &SourcePartition) -> u32 {
        if let Some(slot) = self.slots.get(&partition.0) {
            return *slot;
        }
        let same = self.partitions.iter().position(|known| known.canonical() == partition.canonical());
        let slot = same.unwrap_or_else(|| {
            self.partitions.push(partition.clone());
            self.committable.push(None);
            self.partitions.len() - 1
        });
        self.slots.insert(partition.0.clone(), slot as u32);
        slot as u32
    }
}

impl BatchOffsets {
    /// The source offset of the record submitted last.
    pub(super) fn current<'a>(&self, batch: &'a SourceBatch) -> Option<&'a [u8]> {
        let start = self.start as usize;
        batch.offsets.get(start..start + self.len as usize).filter(|offset| !offset.is_empty())
    }

    /// Moves on to record `index`: a length of 0 repeats the offset before.
    fn advance(&mut self, batch: &SourceBatch, index: usize) -> u32 {
        let Some(len) = batch.offset_len.get(index) else {
            return NO_PARTITION;
        };
        if *len > 0 {
            self.start += self.len;
            self.len = *len;
        }
        if self.len == 0 {
            return NO_PARTITION;
        }
        let partition = batch.partition.get(index).map_or(0, |partition| *partition as usize);
        self.slots[partition]
    }
}

/// A source offset is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a source offset is not UTF-8 text")]
pub struct NotText;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;

    /// A batch of one record for each pair of partition and offset.
    fn batch(records: &[(&str, &str)]) -> SourceBatch {
        let mut partitions: Vec<SourcePartition> = Vec::new();
        let mut column = Vec::new();
        for (partition, _) in records {
            let partition = SourcePartition((*partition).into());
            let index = partitions.iter().position(|known| *known == partition).unwrap_or_else(|| {
                partitions.push(partition);
                partitions.len() - 1
            });
            column.push(index as u32);
        }
        SourceBatch {
            records: Batch { count: records.len(), ..Batch::default() },
            partitions,
            partition: column,
            offset_len: records.iter().map(|(_, offset)| offset.len() as u32).collect(),
            offsets: records.iter().map(|(_, offset)| *offset).collect::<String>().into(),
        }
    }

    fn submit(submitted: &mut Submitted, records: &[(&str, &str)]) -> Vec<u64> {
        let batch = batch(records);
        let mut offsets = submitted.begin_batch(&batch);
        (0..records.len()).map(|index| submitted.submit(&batch, &mut offsets, index, 10)).collect()
    }

    fn committable(submitted: &mut Submitted) -> Vec<String> {
        let writes = submitted.take_committable().unwrap();
        writes.into_iter().map(|(partition, offset)| format!("{}={}", partition.0, offset.unwrap().0)).collect()
    }

    #[test]
    fn the_acknowledged_prefix_of_each_partition_is_committable() {
        let mut submitted = Submitted::default();
        let sent = submit(&mut submitted, &[("a", "1"), ("b", "1"), ("a", "2"), ("b", "2")]);
        submitted.settle(sent[3]);
        submitted.settle(sent[0]);
        assert_eq!(committable(&mut submitted), ["a=1"]);
        submitted.settle(sent[1]);
        assert_eq!(committable(&mut submitted), ["b=2"]);
        submitted.settle(sent[2]);
        assert_eq!(committable(&mut submitted), ["a=2"]);
        assert_eq!(submitted.len(), 0);
    }

    #[test]
    fn nothing_is_committable_twice() {
        let mut submitted = Submitted::default();
        let sent = submit(&mut submitted, &[("a", "1"), ("b", "1"), ("b", "2")]);
        submitted.settle(sent[1]);
        submitted.settle(sent[1]);
        assert_eq!(committable(&mut submitted), ["b=1"]);
        assert_eq!(committable(&mut submitted), Vec::<String>::new());
        assert_eq!(submitted.unsettled(), 2);
        submitted.settle(sent[2]);
        assert_eq!(committable(&mut submitted), ["b=2"]);
    }

    #[test]
    fn a_failed_record_is_not_waited_for_and_holds_back_what_comes_after() {
        let mut submitted = Submitted::default();
        let sent = submit(&mut submitted, &[("a", "1"), ("a", "2"), ("a", "3")]);
        submitted.settle(sent[0]);
        submitted.fail(sent[1]);
        submitted.settle(sent[2]);
        assert_eq!(submitted.unsettled(), 0);
        assert_eq!(committable(&mut submitted), ["a=1"]);
    }

    #[test]
    fn an_empty_offset_repeats_the_one_before() {
        let mut submitted = Submitted::default();
        let sent = submit(&mut submitted, &[("a", "1"), ("a", ""), ("a", "22")]);
        submitted.settle(sent[0]);
        submitted.settle(sent[1]);
        assert_eq!(committable(&mut submitted), ["a=1"]);
        submitted.settle(sent[2]);
        assert_eq!(committable(&mut submitted), ["a=22"]);
    }

    #[test]
    fn batches_are_kept_as_long_as_their_offsets_may_be_needed() {
        let mut submitted = Submitted::default();
        let first = submit(&mut submitted, &[("a", "1"), ("a", "2")]);
        let second = submit(&mut submitted, &[("a", "3")]);
        submitted.settle(first[0]);
        assert_eq!(committable(&mut submitted), ["a=1"]);
        submitted.settle(first[1]);
        submitted.settle(second[0]);
        assert_eq!(committable(&mut submitted), ["a=3"]);
        assert_eq!(submitted.unsettled_bytes(), 0);
    }

    #[test]
    fn offsets_whose_commit_failed_come_again_unless_there_are_newer_ones() {
        let mut submitted = Submitted::default();
        let sent = submit(&mut submitted, &[("a", "1"), ("b", "1"), ("a", "2")]);
        submitted.settle(sent[0]);
        submitted.settle(sent[1]);
        let writes = submitted.take_committable().unwrap();
        submitted.put_back(writes.clone());
        assert_eq!(committable(&mut submitted), ["a=1", "b=1"]);
        submitted.settle(sent[2]);
        submitted.advance();
        submitted.put_back(writes);
        assert_eq!(committable(&mut submitted), ["a=2", "b=1"]);
    }

    #[test]
    fn partitions_that_differ_in_the_order_of_members_are_one() {
        let mut submitted = Submitted::default();
        let sent = submit(&mut submitted, &[(r#"{"x":1,"y":2}"#, "1"), (r#"{"y":2,"x":1}"#, "2")]);
        submitted.settle(sent[0]);
        submitted.settle(sent[1]);
        assert_eq!(committable(&mut submitted), [r#"{"x":1,"y":2}=2"#]);
    }
}
