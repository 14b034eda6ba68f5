//! Records as they came, for as long as somebody may still say that one of them is bad.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, OnceLock};

use bulkhead_model::offset::TopicOffset;
use bytes::Bytes;

use super::decode::Cursor;
use crate::batch::NO_TIMESTAMP;
use crate::ports::Consumed;

/// A record as it was read, before any converter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    pub topic: Arc<str>,
    pub partition: i32,
    pub offset: i64,
    pub timestamp: Option<i64>,
    /// As [`Consumed::timestamp_type`].
    pub timestamp_type: u8,
    pub key: Option<Bytes>,
    pub value: Option<Bytes>,
    pub headers: Vec<(Arc<str>, Option<Bytes>)>,
}

impl Original {
    pub(super) fn of(consumed: &Consumed, index: usize, mut cursor: Cursor) -> Self {
        let first = cursor.header;
        let mut bytes = |len| {
            let (start, len) = cursor.take(len)?;
            // Without a dead-letter queue the buffer isn't kept.
            (start + len <= consumed.data.len()).then(|| consumed.data.slice(start..start + len))
        };
        let (key, value) = (bytes(consumed.key_len[index]), bytes(consumed.value_len[index]));
        let headers = (first..first + consumed.header_count[index] as usize).map(|header| {
            let key = consumed.header_keys[consumed.header_key[header] as usize].clone();
            (key, bytes(consumed.header_len[header]))
        });
        let headers = headers.collect();
        Self {
            topic: consumed.topics[consumed.topic[index] as usize].clone(),
            partition: consumed.partition[index],
            offset: consumed.offset[index],
            timestamp: Some(consumed.timestamp[index]).filter(|timestamp| *timestamp != NO_TIMESTAMP),
            timestamp_type: consumed.timestamp_type[index],
            key,
            value,
            headers,
        }
    }

    /// Where it was read, as Connect's error log has it.
    pub(super) fn details(&self) -> String {
        let Self { topic, partition, offset, .. } = self;
        let timestamp = match (self.timestamp, self.timestamp_type) {
            (None, _) | (_, 0) => String::new(),
            (Some(at), 2) => format!(", timestamp={at}, timestampType=LogAppendTime"),
            (Some(at), _) => format!(", timestamp={at}, timestampType=CreateTime"),
        };
        format!("consumed record is {{topic='{topic}', partition={partition}, offset={offset}{timestamp}}}")
    }
}

impl fmt::Display for Original {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record {}-{}@{}", self.topic, self.partition, self.offset)
    }
}

/// What one `put` was made of.
#[derive(Debug)]
pub(super) struct Fetch {
    consumed: Consumed,
    /// For each record of the batch its place in the fetch; none: they are the same.
    rows: Option<Vec<usize>>,
    cursors: OnceLock<Vec<Cursor>>,
}

impl Fetch {
    pub(super) fn new(consumed: Consumed, rows: Option<Vec<usize>>) -> Self {
        Self { consumed, rows, cursors: OnceLock::new() }
    }

    /// The record at this place of the batch.
    pub(super) fn original(&self, index: usize) -> Option<Original> {
        let row = match &self.rows {
            Some(rows) => *rows.get(index)?,
            None => index,
        };
        let cursor = self.cursors.get_or_init(|| self.walk()).get(row)?;
        Some(Original::of(&self.consumed, row, *cursor))
    }

    fn walk(&self) -> Vec<Cursor> {
        let mut cursor = Cursor::default();
        let cursors = (0..self.consumed.count()).map(|row| {
            let start = cursor;
            cursor = start.past_record(&self.consumed, row);
            start
        });
        cursors.collect()
    }

    /// Roughly, what it keeps in memory.
    fn weight(&self) -> usize {
        self.consumed.data.len() + self.consumed.count() * ROW_WEIGHT
    }
}

/// Columns of one record in a [`Fetch`].
const ROW_WEIGHT: usize = 64;

/// Fetches whose offsets are not committed yet, for reports that come after their `put`.
#[derive(Debug, Default)]
pub(super) struct History {
    puts: VecDeque<Put>,
    weight: usize,
}

#[derive(Debug)]
struct Put {
    number: u64,
    fetch: Arc<Fetch>,
    ends: Vec<TopicOffset>,
}

/// Of what a task with a dead-letter queue has put and not committed, so much is kept; a late report about
/// what is older fails the task.
const MAX_WEIGHT: usize = 64 << 20;

impl History {
    /// Keeps what went into `put` number `number`.
    pub(super) fn push(&mut self, number: u64, fetch: Arc<Fetch>, ends: Vec<TopicOffset>) {
        self.weight += fetch.weight();
        self.puts.push_back(Put { number, fetch, ends });
        while self.weight > MAX_WEIGHT
            && let Some(oldest) = self.puts.pop_front()
        {
            self.weight -= oldest.fetch.weight();
        }
    }

    pub(super) fn original(&self, number: u64, index: usize) -> Option<Original> {
        let at = self.puts.binary_search_by_key(&number, |put| put.number).ok()?;
        self.puts[at].fetch.original(index)
    }

    /// Forgets puts of which everything is committed, or no longer ours to commit.
    pub(super) fn forget(&mut self, is_settled: impl Fn(&TopicOffset) -> bool) {
        self.puts.retain(|put| !put.ends.iter().all(&is_settled));
        self.weight = self.puts.iter().map(|put| put.fetch.weight()).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn consumed() -> Consumed {
        Consumed {
            topics: vec!["t".into()],
            topic: vec![0, 0],
            partition: vec![3, 3],
            offset: vec![7, 8],
            timestamp: vec![5, NO_TIMESTAMP],
            timestamp_type: vec![1, 0],
            key_len: vec![1, -1],
            value_len: vec![2, 3],
            header_count: vec![1, 2],
            header_keys: vec!["h".into(), "i".into()],
            header_key: vec![0, 0, 1],
            header_len: vec![1, -1, 2],
            data: Bytes::from_static(b"kvvHvvvII"),
        }
    }

    #[test]
    fn originals_are_found_by_their_place_in_the_batch() {
        let fetch = Fetch::new(consumed(), Some(vec![1]));
        let original = fetch.original(0).unwrap();
        assert_eq!(original.to_string(), "record t-3@8");
        assert_eq!((original.key, original.value.as_deref()), (None, Some(&b"vvv"[..])));
        let headers: Vec<_> = original.headers.iter().map(|(key, value)| (&**key, value.as_deref())).collect();
        assert_eq!(headers, [("h", None), ("i", Some(&b"II"[..]))]);
        assert_eq!(fetch.original(1), None);
        let first = Fetch::new(consumed(), None).original(0).unwrap();
        let details = "consumed record is {topic='t', partition=3, offset=7, timestamp=5, timestampType=CreateTime}";
        assert_eq!(first.details(), details);
    }

    #[test]
    fn what_is_committed_or_too_much_is_forgotten() {
        let end = |offset| TopicOffset { partition: bulkhead_model::offset::TopicPartition::new("t", 3), offset };
        let mut history = History::default();
        history.push(0, Arc::new(Fetch::new(consumed(), None)), vec![end(9)]);
        history.push(2, Arc::new(Fetch::new(consumed(), None)), vec![end(11)]);
        assert!(history.original(0, 1).is_some() && history.original(1, 0).is_none());
        history.forget(|end| end.offset <= 9);
        assert!(history.original(0, 0).is_none() && history.original(2, 0).is_some());
        let large = Consumed { data: vec![0; MAX_WEIGHT - 200].into(), ..consumed() };
        history.push(3, Arc::new(Fetch::new(large, None)), vec![end(13)]);
        assert!(history.original(2, 0).is_none() && history.original(3, 0).is_some());
    }
}
