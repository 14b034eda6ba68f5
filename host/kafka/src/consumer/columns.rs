//! Records by column as they are copied out of librdkafka's buffers.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bulkhead_pipeline::batch::NO_TIMESTAMP;
use bulkhead_pipeline::ports::{ConsumeError, Consumed};
use bytes::{BufMut, BytesMut};
use rdkafka::Timestamp;
use rdkafka::message::{BorrowedMessage, Headers, Message};

/// A batch that grows at its end.
#[derive(Debug, Default)]
pub(super) struct Columns {
    /// Everything but `data` and the pools of names.
    records: Consumed,
    data: BytesMut,
    header_keys: HashMap<Arc<str>, u32>,
}

/// Key and value of a header.
pub(super) type Header<'a> = (&'a str, Option<&'a [u8]>);

/// A record on its way into columns.
#[derive(Clone, Debug)]
pub(super) struct Record<'a, H> {
    pub(super) topic: &'a str,
    pub(super) partition: i32,
    pub(super) offset: i64,
    pub(super) timestamp: i64,
    pub(super) timestamp_type: u8,
    pub(super) key: Option<&'a [u8]>,
    pub(super) value: Option<&'a [u8]>,
    pub(super) headers: H,
}

impl Columns {
    /// Empty, with room for a batch like the last one.
    pub(super) fn with_capacity(records: usize, bytes: usize) -> Self {
        Self {
            records: Consumed {
                topic: Vec::with_capacity(records),
                partition: Vec::with_capacity(records),
                offset: Vec::with_capacity(records),
                timestamp: Vec::with_capacity(records),
                timestamp_type: Vec::with_capacity(records),
                key_len: Vec::with_capacity(records),
                value_len: Vec::with_capacity(records),
                header_count: Vec::with_capacity(records),
                ..Consumed::default()
            },
            data: BytesMut::with_capacity(bytes),
            header_keys: HashMap::new(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.records.count()
    }

    pub(super) fn bytes(&self) -> usize {
        self.data.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    pub(super) fn into_consumed(self) -> Consumed {
        Consumed { data: self.data.freeze(), ..self.records }
    }

    pub(super) fn push<'a>(&mut self, record: Record<'a, impl Iterator<Item = Header<'a>>>) {
        let topic = self.topic(record.topic);
        let columns = &mut self.records;
        columns.topic.push(topic);
        columns.partition.push(record.partition);
        columns.offset.push(record.offset);
        columns.timestamp.push(record.timestamp);
        columns.timestamp_type.push(record.timestamp_type);
        columns.key_len.push(append(&mut self.data, record.key));
        columns.value_len.push(append(&mut self.data, record.value));
        let mut count = 0;
        for (key, value) in record.headers {
            let key = self.header_key(key);
            self.records.header_key.push(key);
            self.records.header_len.push(append(&mut self.data, value));
            count += 1;
        }
        self.records.header_count.push(count);
    }

    /// Divides the records into those for which `belongs` holds and the others; both keep their order.
    pub(super) fn split(self, belongs: impl Fn(&str, i32) -> bool) -> (Self, Self) {
        let (mut chosen, mut others) = (Self::default(), Self::default());
        let mut cursor = Cursor::default();
        for index in 0..self.count() {
            let record = cursor.record(&self, index);
            let target = if belongs(record.topic, record.partition) { &mut chosen } else { &mut others };
            target.push(record);
        }
        (chosen, others)
    }

    /// Moves the records of `later` behind those here.
    pub(super) fn append(&mut self, later: &Self) {
        let mut cursor = Cursor::default();
        for index in 0..later.count() {
            self.push(cursor.record(later, index));
        }
    }

    /// Place of a topic's name in the pool. Records of one topic mostly come in a row.
    fn topic(&mut self, name: &str) -> u32 {
        let topics = &mut self.records.topics;
        if let Some(last) = self.records.topic.last().filter(|last| &*topics[**last as usize] == name) {
            return *last;
        }
        let found = topics.iter().position(|topic| &**topic == name);
        let index = found.unwrap_or_else(|| {
            topics.push(Arc::from(name));
            topics.len() - 1
        });
        pool_index(index)
    }

    fn header_key(&mut self, key: &str) -> u32 {
        if let Some(index) = self.header_keys.get(key) {
            return *index;
        }
        let key: Arc<str> = Arc::from(key);
        let index = pool_index(self.records.header_keys.len());
        self.records.header_keys.push(Arc::clone(&key));
        self.header_keys.insert(key, index);
        index
    }
}

/// A walk through columns.
#[derive(Default)]
struct Cursor {
    position: usize,
    header: usize,
}

impl Cursor {
    /// The record at `index`; to be called for each in turn.
    fn record<'a>(&mut self, columns: &'a Columns, index: usize) -> Record<'a, std::vec::IntoIter<Header<'a>>> {
        let records = &columns.records;
        let key = self.bytes(columns, records.key_len[index]);
        let value = self.bytes(columns, records.value_len[index]);
        let mut headers = Vec::new();
        for _ in 0..records.header_count[index] {
            let name = &*records.header_keys[records.header_key[self.header] as usize];
            headers.push((name, self.bytes(columns, records.header_len[self.header])));
            self.header += 1;
        }
        Record {
            topic: &records.topics[records.topic[index] as usize],
            partition: records.partition[index],
            offset: records.offset[index],
            timestamp: records.timestamp[index],
            timestamp_type: records.timestamp_type[index],
            key,
            value,
            headers: headers.into_iter(),
        }
    }

    fn bytes<'a>(&mut self, columns: &'a Columns, len: i32) -> Option<&'a [u8]> {
        let len = usize::try_from(len).ok()?;
        let start = self.position;
        self.position += len;
        Some(&columns.data[start..self.position])
    }
}

/// A message as librdkafka lends it.
pub(super) fn record<'a>(
    message: &'a BorrowedMessage<'_>,
) -> Result<Record<'a, std::vec::IntoIter<Header<'a>>>, ConsumeError> {
    let (timestamp, timestamp_type) = match message.timestamp() {
        Timestamp::NotAvailable => (NO_TIMESTAMP, 0),
        Timestamp::CreateTime(millis) => (millis, 1),
        Timestamp::LogAppendTime(millis) => (millis, 2),
    };
    Ok(Record {
        topic: message.topic(),
        partition: message.partition(),
        offset: message.offset(),
        timestamp,
        timestamp_type,
        key: message.key(),
        value: message.payload(),
        headers: headers(message)?.into_iter(),
    })
}

/// rdkafka panics on a header key that isn't UTF-8, which anybody may write into a topic.
fn headers<'a>(message: &'a BorrowedMessage<'_>) -> Result<Vec<Header<'a>>, ConsumeError> {
    let Some(headers) = message.headers() else {
        return Ok(Vec::new());
    };
    let read = || headers.iter().map(|header| (header.key, header.value)).collect();
    std::panic::catch_unwind(AssertUnwindSafe(read)).map_err(|_| {
        ConsumeError::Fatal(format!(
            "the record at offset {} of {}-{} has a header key that is not UTF-8",
            message.offset(),
            message.topic(),
            message.partition()
        ))
    })
}

/// Appends and answers the length column's entry. No part of a Kafka record is longer than `i32` says.
fn append(data: &mut BytesMut, bytes: Option<&[u8]>) -> i32 {
    let Some(bytes) = bytes else { return -1 };
    data.put_slice(bytes);
    i32::try_from(bytes.len()).expect("the length of a record's part is an i32 in Kafka's format")
}

fn pool_index(index: usize) -> u32 {
    u32::try_from(index).expect("a batch has fewer names than bytes, and those are bounded")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn push(columns: &mut Columns, topic: &str, partition: i32, offset: i64, headers: &[Header<'static>]) {
        let value = format!("{topic}-{partition}@{offset}");
        columns.push(Record {
            topic,
            partition,
            offset,
            timestamp: 1,
            timestamp_type: 1,
            key: (offset % 2 == 0).then_some(b"k"),
            value: Some(value.as_bytes()),
            headers: headers.iter().copied(),
        });
    }

    /// One line for each record.
    fn lines(columns: &Columns) -> Vec<String> {
        let mut cursor = Cursor::default();
        (0..columns.count())
            .map(|index| {
                let record = cursor.record(columns, index);
                let text = |bytes: Option<&[u8]>| bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
                let headers: Vec<_> = record.headers.map(|(key, value)| (key, text(value))).collect();
                format!("{:?} {:?} {headers:?}", text(record.key), text(record.value))
            })
            .collect()
    }

    fn sample() -> Columns {
        let mut columns = Columns::default();
        push(&mut columns, "a", 0, 0, &[("h", Some(b"1")), ("g", None)]);
        push(&mut columns, "b", 0, 5, &[]);
        push(&mut columns, "a", 0, 1, &[("h", Some(b""))]);
        push(&mut columns, "a", 1, 8, &[]);
        columns
    }

    #[test]
    fn names_are_kept_once() {
        let consumed = sample().into_consumed();
        assert_eq!(consumed.topics, ["a".into(), "b".into()]);
        assert_eq!(consumed.topic, [0, 1, 0, 0]);
        assert_eq!(consumed.header_keys, ["h".into(), "g".into()]);
        assert_eq!(consumed.header_key, [0, 1, 0]);
        assert_eq!(consumed.header_len, [1, -1, 0]);
        assert_eq!(consumed.header_count, [2, 0, 1, 0]);
        assert_eq!(consumed.key_len, [1, -1, -1, 1]);
        assert_eq!(&consumed.data[..], b"ka-0@01b-0@5a-0@1ka-1@8");
    }

    #[test]
    fn a_split_keeps_every_record_whole_and_in_order() {
        let (chosen, others) = sample().split(|topic, partition| topic == "a" && partition == 0);
        assert_eq!(
            lines(&chosen),
            [r#"Some("k") Some("a-0@0") [("h", Some("1")), ("g", None)]"#, r#"None Some("a-0@1") [("h", Some(""))]"#,]
        );
        assert_eq!(lines(&others), [r#"None Some("b-0@5") []"#, r#"Some("k") Some("a-1@8") []"#]);
        let mut both = chosen;
        both.append(&others);
        assert_eq!(both.count(), 4);
        assert_eq!(lines(&both)[3], r#"Some("k") Some("a-1@8") []"#);
    }
}
