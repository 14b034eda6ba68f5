//! What an offset topic says, by connector and partition.
//!
//! Two keys may name one partition, with its members in another order: for the topic these are two
//! things, for a connector one. So every key's value is kept, and the newest one is the partition's.

use std::collections::HashMap;

use bulkhead_model::ConnectorName;
use bulkhead_model::offset::{SourceOffset, SourcePartition};
use bytes::Bytes;

use super::coding::{decode_key, decode_value};
use crate::topic_log::LogRecord;

#[derive(Debug, Default)]
pub(super) struct Table {
    connectors: HashMap<ConnectorName, HashMap<String, Vec<Row>>>,
    /// Records applied, by which rows with one timestamp are told apart.
    applied: u64,
}

/// Why a record says nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoOffset {
    #[error("its key is not that of a source offset")]
    Key,
    #[error("its value is not a source offset")]
    Value,
}

/// A key that has an offset.
#[derive(Debug)]
struct Row {
    key: Bytes,
    partition: SourcePartition,
    offset: SourceOffset,
    /// Timestamp, and place among the records applied.
    written: (i64, u64),
}

impl Table {
    /// A key whose value can't be read has no offset: better none than one that has been overwritten.
    pub(super) fn apply(&mut self, record: &LogRecord) -> Result<(), NoOffset> {
        self.applied += 1;
        let key = record.key.as_ref().ok_or(NoOffset::Key)?;
        let (connector, partition) = decode_key(key).ok_or(NoOffset::Key)?;
        let canonical = partition.canonical();
        self.forget(&connector, &canonical, key);
        let offset = decode_value(record.value.as_deref()).ok_or(NoOffset::Value)?;
        if let Some(offset) = offset {
            let rows = self.connectors.entry(connector).or_default().entry(canonical).or_default();
            rows.push(Row { key: key.clone(), partition, offset, written: (record.timestamp, self.applied) });
            rows.sort_by_key(|row| std::cmp::Reverse(row.written));
        }
        Ok(())
    }

    fn forget(&mut self, connector: &ConnectorName, canonical: &str, key: &Bytes) {
        let Some(partitions) = self.connectors.get_mut(connector) else { return };
        if let Some(rows) = partitions.get_mut(canonical) {
            rows.retain(|row| row.key != key);
            if rows.is_empty() {
                partitions.remove(canonical);
            }
        }
        if partitions.is_empty() {
            self.connectors.remove(connector);
        }
    }

    fn rows(&self, connector: &ConnectorName, partition: &SourcePartition) -> &[Row] {
        let rows = self.connectors.get(connector).and_then(|partitions| partitions.get(&partition.canonical()));
        rows.map_or(&[], Vec::as_slice)
    }

    pub(super) fn get(&self, connector: &ConnectorName, partition: &SourcePartition) -> Option<SourceOffset> {
        Some(self.rows(connector, partition).first()?.offset.clone())
    }

    /// All keys under which a partition has an offset, the newest first.
    pub(super) fn keys(&self, connector: &ConnectorName, partition: &SourcePartition) -> Vec<Bytes> {
        self.rows(connector, partition).iter().map(|row| row.key.clone()).collect()
    }

    /// In an order that stays the same.
    pub(super) fn all(&self, connector: &ConnectorName) -> Vec<(SourcePartition, SourceOffset)> {
        let mut partitions: Vec<_> = self.connectors.get(connector).into_iter().flatten().collect();
        partitions.sort_by_key(|(canonical, _)| *canonical);
        let newest = partitions.into_iter().filter_map(|(_, rows)| rows.first());
        newest.map(|row| (row.partition.clone(), row.offset.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(timestamp: i64, key: Option<&str>, value: Option<&str>) -> LogRecord {
        let owned = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        LogRecord {
            topic: "t".into(),
            partition: 0,
            offset: 0,
            timestamp,
            key: key.map(owned),
            value: value.map(owned),
        }
    }

    fn apply(table: &mut Table, timestamp: i64, key: &str, value: Option<&str>) {
        table.apply(&record(timestamp, Some(key), value)).unwrap();
    }

    fn check(table: &Table, connector: &str) -> Vec<String> {
        let all = table.all(&ConnectorName::new(connector)).into_iter();
        all.map(|(partition, offset)| format!("{} at {}", partition.0, offset.0)).collect()
    }

    #[test]
    fn the_last_record_of_a_partition_counts_and_null_forgets() {
        let mut table = Table::default();
        apply(&mut table, 1, r#"["c",{"f":"b"}]"#, Some(r#"{"at":1}"#));
        apply(&mut table, 1, r#"["c",{"f":"a"}]"#, Some(r#"{"at":1}"#));
        apply(&mut table, 1, r#"["d",{"f":"a"}]"#, Some(r#"{"at":5}"#));
        apply(&mut table, 1, r#"["c",{"f":"a"}]"#, Some(r#"{"at":2}"#));
        assert_eq!(check(&table, "c"), [r#"{"f":"a"} at {"at":2}"#, r#"{"f":"b"} at {"at":1}"#]);
        apply(&mut table, 1, r#"["c",{"f":"a"}]"#, None);
        apply(&mut table, 1, r#"["d",{"f":"a"}]"#, Some("null"));
        assert_eq!(check(&table, "c"), [r#"{"f":"b"} at {"at":1}"#]);
        assert!(!table.connectors.contains_key(&ConnectorName::new("d")));
    }

    #[test]
    fn of_two_keys_for_one_partition_the_newest_counts_whichever_is_read_first() {
        let records = [
            (1, r#"["c",{"a":1,"b":2}]"#, Some(r#"{"at":1}"#)),
            (2, r#"["c",{"a":1,"b":2}]"#, None),
            (3, r#"["c",{"b":2,"a":1}]"#, Some(r#"{"at":3}"#)),
        ];
        // The two keys are in different partitions of the topic, whose records come in any order.
        for order in [[0, 1, 2], [0, 2, 1], [2, 0, 1]] {
            let mut table = Table::default();
            for index in order {
                let (timestamp, key, value) = records[index];
                apply(&mut table, timestamp, key, value);
            }
            assert_eq!(check(&table, "c"), [r#"{"b":2,"a":1} at {"at":3}"#], "{order:?}");
        }
        let mut table = Table::default();
        apply(&mut table, 3, r#"["c",{"b":2,"a":1}]"#, Some(r#"{"at":3}"#));
        apply(&mut table, 1, r#"["c",{"a":1,"b":2}]"#, Some(r#"{"at":1}"#));
        assert_eq!(check(&table, "c"), [r#"{"b":2,"a":1} at {"at":3}"#]);
        let partition = SourcePartition(r#"{"a":1,"b":2}"#.into());
        assert_eq!(
            table.keys(&ConnectorName::new("c"), &partition),
            [r#"["c",{"b":2,"a":1}]"#, r#"["c",{"a":1,"b":2}]"#]
        );
    }

    #[test]
    fn records_of_another_form_are_refused_and_passed_over() {
        let mut table = Table::default();
        apply(&mut table, 1, r#"["c",{"f":"a"}]"#, Some(r#"{"at":1}"#));
        let mut refused = |key, value| table.apply(&record(1, key, value)).unwrap_err();
        assert_eq!(refused(Some("what"), Some(r#"{"at":1}"#)), NoOffset::Key);
        assert_eq!(refused(Some(r#"["c",{"f":"a"},3]"#), None), NoOffset::Key);
        assert_eq!(refused(None, None), NoOffset::Key);
        assert_eq!(check(&table, "c").len(), 1);
        let refused = table.apply(&record(1, Some(r#"["c",{"f":"a"}]"#), Some("[]"))).unwrap_err();
        assert_eq!((check(&table, "c").len(), refused), (0, NoOffset::Value));
    }
}
