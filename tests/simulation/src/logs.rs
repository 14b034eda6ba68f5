//! The config log and the status log, as Kafka keeps them.

use std::collections::{BTreeMap, BTreeSet};

use bulkhead_herder::api::{ConfigRecord, StatusRecord};
use bulkhead_herder::{config_topic, status_topic};

/// One partition, compacted. Offsets may have gaps.
#[derive(Debug, Default)]
pub struct ConfigLog {
    records: Vec<Entry>,
    /// Everything that was ever appended, whatever compaction has removed since.
    pub history: Vec<ConfigRecord>,
    /// Behind the last record.
    end: i64,
}

/// A record where it lies; none for what says nothing to this version.
#[derive(Clone, Debug)]
pub struct Entry {
    pub offset: i64,
    pub record: Option<ConfigRecord>,
}

impl ConfigLog {
    /// Appends behind a gap of so many offsets, and says where.
    pub fn append(&mut self, record: Option<ConfigRecord>, gap: u64) -> i64 {
        let offset = self.end + i64::try_from(gap).expect("a small gap");
        self.history.extend(record.clone());
        self.records.push(Entry { offset, record });
        self.end = offset + 1;
        offset
    }

    /// Offsets that hold no record, as the marks of a transaction.
    pub fn skip(&mut self, gap: u64) {
        self.end += i64::try_from(gap).expect("a small gap");
    }

    /// What a reader finds that begins now.
    pub fn present(&self) -> impl Iterator<Item = &ConfigRecord> {
        self.records.iter().filter_map(|entry| entry.record.as_ref())
    }

    pub fn end(&self) -> i64 {
        self.end
    }

    /// The first record at this offset or behind it, up to `last`.
    pub fn read(&self, from: i64, last: i64) -> Option<&Entry> {
        let index = self.records.partition_point(|entry| entry.offset < from);
        self.records.get(index).filter(|entry| entry.offset <= last)
    }

    /// Removes from the older part of the log, so many percent of it, what is superseded there, and
    /// removals that lie before an offset. What lies behind stays as it is.
    pub fn compact(&mut self, percent: u64, removals_before: i64) {
        let clean = self.records.len() * usize::try_from(percent.min(100)).expect("a percentage") / 100;
        // The newest record is never compacted.
        let clean = clean.min(self.records.len().saturating_sub(1));
        let mut seen = BTreeSet::new();
        let mut kept: Vec<_> = self.records.drain(clean..).collect();
        for entry in self.records.drain(..).rev() {
            let Some(record) = &entry.record else { continue };
            // What Kafka compacts by, and what removes.
            let (key, value) = config_topic::encode(record);
            if seen.insert(key) && !(entry.offset < removals_before && value.is_none()) {
                kept.push(entry);
            }
        }
        kept.sort_by_key(|entry| entry.offset);
        self.records = kept;
    }
}

/// Some partitions; only records of one key are in order. Old records don't matter here, so only the
/// newest of each key is kept.
#[derive(Debug, Default)]
pub struct StatusLog {
    newest: BTreeMap<Vec<u8>, StatusRecord>,
}

pub const STATUS_PARTITIONS: usize = 5;

impl StatusLog {
    /// Appends, and says in which partition.
    pub fn append(&mut self, record: &StatusRecord) -> usize {
        let (key, _) = status_topic::encode(record);
        let partition = key.iter().fold(7_usize, |sum, byte| sum.wrapping_mul(31) + usize::from(*byte));
        self.newest.insert(key, record.clone());
        partition % STATUS_PARTITIONS
    }

    /// What a reader finds that begins now.
    pub fn newest(&self) -> impl Iterator<Item = &StatusRecord> {
        self.newest.values()
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_model::{ConnectorName, RawConfig};

    use super::*;

    fn connector(name: &str, config: Option<RawConfig>) -> Option<ConfigRecord> {
        Some(ConfigRecord::Connector { name: ConnectorName::new(name), config })
    }

    fn offsets(log: &ConfigLog) -> Vec<i64> {
        log.records.iter().map(|entry| entry.offset).collect()
    }

    #[test]
    fn offsets_have_gaps_and_readers_go_over_them() {
        let mut log = ConfigLog::default();
        assert_eq!(log.append(connector("a", None), 0), 0);
        assert_eq!(log.append(connector("b", None), 3), 4);
        log.skip(1);
        assert_eq!(log.end(), 6);
        assert_eq!(log.read(1, 9).map(|entry| entry.offset), Some(4));
        assert!(log.read(1, 3).is_none());
    }

    #[test]
    fn compaction_keeps_the_newest_of_each_key_and_whatever_is_young() {
        let mut log = ConfigLog::default();
        for (name, config) in [("a", Some(RawConfig::new())), ("a", None), ("b", None), ("b", Some(RawConfig::new()))] {
            log.append(connector(name, config), 0);
        }
        log.compact(75, 0);
        assert_eq!(offsets(&log), [1, 2, 3]);
        log.compact(100, 9);
        assert_eq!(offsets(&log), [3]);
        assert_eq!(log.history.len(), 4);
    }
}
