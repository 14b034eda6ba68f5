//! How far a sink task is in each of its partitions.

use std::collections::BTreeMap;

use bulkhead_model::offset::{TopicOffset, TopicPartition};

use crate::ports::Consumed;

/// Positions of the partitions assigned now.
#[derive(Debug, Default)]
pub struct Positions {
    assigned: BTreeMap<TopicPartition, Position>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Position {
    /// Behind the last record that was put or skipped; none before the first.
    put: Option<i64>,
    /// As last committed.
    committed: Option<i64>,
}

impl Positions {
    pub fn assign(&mut self, partitions: &[TopicPartition]) {
        for partition in partitions {
            self.assigned.entry(partition.clone()).or_default();
        }
    }

    pub fn revoke(&mut self, partitions: &[TopicPartition]) {
        for partition in partitions {
            self.assigned.remove(partition);
        }
    }

    pub fn partitions(&self) -> Vec<TopicPartition> {
        self.assigned.keys().cloned().collect()
    }

    pub fn contains(&self, partition: &TopicPartition) -> bool {
        self.assigned.contains_key(partition)
    }

    /// The fetch was put, or skipped where it was bad. Records of partitions that are gone don't count.
    pub fn put(&mut self, ends: Vec<TopicOffset>) {
        for TopicOffset { partition, offset } in ends {
            if let Some(position) = self.assigned.get_mut(&partition) {
                position.put = Some(offset);
            }
        }
    }

    /// The task has rewound, or moved forward.
    pub fn seek(&mut self, offsets: &[TopicOffset]) {
        for TopicOffset { partition, offset } in offsets {
            if let Some(position) = self.assigned.get_mut(partition) {
                *position = Position { put: Some(*offset), committed: Some(*offset) };
            }
        }
    }

    /// What `pre_commit` is offered, of these partitions.
    pub fn offered(&self, partitions: &[TopicPartition]) -> Vec<TopicOffset> {
        let of = |partition: &TopicPartition| {
            Some(TopicOffset { partition: partition.clone(), offset: self.assigned.get(partition)?.put? })
        };
        partitions.iter().filter_map(of).collect()
    }

    /// Whether everything before this offset is committed, or the partition is no longer ours.
    pub fn is_settled(&self, end: &TopicOffset) -> bool {
        let position = self.assigned.get(&end.partition);
        position.is_none_or(|position| position.committed.is_some_and(|committed| committed >= end.offset))
    }

    /// Of what `pre_commit` returned, that which may be committed: of our partitions, not past what
    /// was offered, and not committed already.
    pub fn accept(&self, offered: &[TopicOffset], returned: Vec<TopicOffset>) -> Vec<TopicOffset> {
        let allowed = |returned: &TopicOffset| {
            let known = offered.iter().any(|offered| {
                offered.partition == returned.partition && (0..=offered.offset).contains(&returned.offset)
            });
            if !known {
                let TopicPartition { topic, partition } = &returned.partition;
                let offset = returned.offset;
                tracing::warn!(%topic, partition, offset, "Ignored an offset that was not offered to pre-commit.");
            }
            known
                && self
                    .assigned
                    .get(&returned.partition)
                    .is_none_or(|position| position.committed != Some(returned.offset))
        };
        returned.into_iter().filter(allowed).collect()
    }

    pub fn committed(&mut self, offsets: &[TopicOffset]) {
        for TopicOffset { partition, offset } in offsets {
            if let Some(position) = self.assigned.get_mut(partition) {
                position.committed = Some(*offset);
            }
        }
    }
}

/// Which part of which partitions a fetch is.
#[derive(Debug)]
pub struct Span {
    /// For each partition, its first record.
    pub starts: Vec<TopicOffset>,
    /// For each partition, the offset behind its last record.
    pub ends: Vec<TopicOffset>,
}

impl Span {
    pub fn of(consumed: &Consumed) -> Self {
        let mut spans = BTreeMap::new();
        for index in 0..consumed.count() {
            let (key, offset) = ((consumed.topic[index], consumed.partition[index]), consumed.offset[index]);
            spans.entry(key).and_modify(|(_, end)| *end = offset + 1).or_insert((offset, offset + 1));
        }
        let at = |(topic, partition): &(u32, i32), offset| {
            let topic = consumed.topics[*topic as usize].clone();
            TopicOffset { partition: TopicPartition { topic, partition: *partition }, offset }
        };
        Self {
            starts: spans.iter().map(|(key, (start, _))| at(key, *start)).collect(),
            ends: spans.iter().map(|(key, (_, end))| at(key, *end)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(topic: &str, offset: i64) -> TopicOffset {
        TopicOffset { partition: TopicPartition::new(topic, 0), offset }
    }

    #[test]
    fn only_what_was_offered_and_is_news_is_committed() {
        let mut positions = Positions::default();
        positions.assign(&[TopicPartition::new("a", 0), TopicPartition::new("b", 0)]);
        positions.put(vec![at("a", 10), at("b", 5), at("gone", 7)]);
        let offered = positions.offered(&positions.partitions());
        assert_eq!(offered, [at("a", 10), at("b", 5)]);
        let accepted = positions.accept(&offered, vec![at("a", 11), at("b", 4), at("gone", 7), at("b", -1)]);
        assert_eq!(accepted, [at("b", 4)]);
        positions.committed(&accepted);
        assert!(positions.accept(&offered, vec![at("b", 4)]).is_empty());
    }

    #[test]
    fn a_revoked_partition_is_forgotten() {
        let mut positions = Positions::default();
        let a = TopicPartition::new("a", 0);
        positions.assign(std::slice::from_ref(&a));
        positions.put(vec![at("a", 10)]);
        positions.revoke(std::slice::from_ref(&a));
        positions.put(vec![at("a", 12)]);
        assert!(positions.offered(&[a]).is_empty());
    }
}
