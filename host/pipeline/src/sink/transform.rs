//! The way through a chain of transforms: every record becomes a tree, and what is left of it a row of a
//! new batch.

use std::sync::Arc;

use bulkhead_model::value::Schema;

use super::decode::{Converted, Cursor, Decoder, Refused};
use super::fetch::Original;
use crate::batch::{Batch, Encoding, NO_PARTITION, NO_TIMESTAMP, SinkBatch, Values};
use crate::convert::{ConvertError, Converter, SchemaAndValue, item};
use crate::ports::Consumed;
use crate::tolerance::{Fault, Stage};
use crate::transform::{Header, Record};

impl Decoder {
    pub(super) fn transform(&self, consumed: &Consumed) -> Converted {
        let mut rows = Rows::default();
        let mut refused = Vec::new();
        let mut cursor = Cursor::default();
        for index in 0..consumed.count() {
            let start = cursor;
            cursor = start.past_record(consumed, index);
            let row = self
                .read(consumed, index, start)
                .and_then(|record| self.chain.apply(record).map_err(Fault::transforming));
            let pushed = row.and_then(|record| match record {
                Some(record) => rows.push(consumed, index, record).map_err(Fault::reading),
                None => Ok(()),
            });
            if let Err(fault) = pushed {
                refused.push(Refused { original: Original::of(consumed, index, start), fault });
            }
        }
        let places = std::mem::take(&mut rows.places);
        Converted { batch: rows.finish(consumed, &places), rows: Some(places), refused }
    }

    fn read(&self, consumed: &Consumed, index: usize, mut cursor: Cursor) -> Result<Record, Fault> {
        let topic = &consumed.topics[consumed.topic[index] as usize];
        let first = cursor.header;
        let mut convert = |converter: &dyn Converter, len, stage| {
            let bytes = cursor.take(len).map(|(start, len)| &consumed.data[start..start + len]);
            converter.to_connect(topic, bytes).map_err(|error| Fault::converting(stage, converter, error))
        };
        let key = convert(&*self.converters.key, consumed.key_len[index], Stage::KeyConverter)?;
        let value = convert(&*self.converters.value, consumed.value_len[index], Stage::ValueConverter)?;
        let headers = (first..first + consumed.header_count[index] as usize).map(|header| {
            let key = consumed.header_keys[consumed.header_key[header] as usize].clone();
            let value = convert(&*self.converters.header, consumed.header_len[header], Stage::HeaderConverter)?;
            Ok(Header { key, value })
        });
        let headers = headers.collect::<Result<_, _>>()?;
        Ok(Record {
            topic: topic.clone(),
            partition: Some(consumed.partition[index]),
            key,
            value,
            timestamp: Some(consumed.timestamp[index]).filter(|timestamp| *timestamp != NO_TIMESTAMP),
            headers,
            offset: Some(consumed.offset[index]),
        })
    }
}

/// A batch on its way, row by row.
#[derive(Default)]
struct Rows {
    batch: Batch,
    schemas: Vec<Arc<Schema>>,
    offset: Vec<i64>,
    timestamp_type: Vec<u8>,
    data: Vec<u8>,
    /// Where in the fetch each record was.
    places: Vec<usize>,
}

impl Rows {
    /// All of the record, or nothing.
    fn push(&mut self, consumed: &Consumed, index: usize, record: Record) -> Result<(), ConvertError> {
        let start = self.data.len();
        let items = std::iter::once(&record.key).chain([&record.value]).chain(record.headers.iter().map(|h| &h.value));
        let written = items.map(|half| self.write(half)).collect::<Result<Vec<_>, _>>();
        let written = written.inspect_err(|_| self.data.truncate(start))?;
        let [key, value, headers @ ..] = written.as_slice() else { return Ok(()) };
        push(&mut self.batch.keys, key);
        push(&mut self.batch.values, value);
        for (header, written) in record.headers.iter().zip(headers) {
            push(&mut self.batch.headers, written);
            self.batch.header_key.push(pooled(&mut self.batch.header_keys, &header.key));
        }
        self.batch.header_count.push(headers.len() as u32);
        self.batch.topic.push(pooled(&mut self.batch.topics, &record.topic));
        self.batch.partition.push(record.partition.unwrap_or(NO_PARTITION));
        self.batch.timestamp.push(record.timestamp.unwrap_or(NO_TIMESTAMP));
        self.offset.push(consumed.offset[index]);
        self.timestamp_type.push(consumed.timestamp_type[index]);
        self.places.push(index);
        self.batch.count += 1;
        Ok(())
    }

    fn write(&mut self, half: &SchemaAndValue) -> Result<Written, ConvertError> {
        let start = self.data.len();
        let written = item::write(half.schema.clone(), &half.value, &mut self.data)?;
        let schema = written.schema.map_or(0, |schema| {
            let known = self.schemas.iter().rposition(|known| Arc::ptr_eq(known, &schema));
            known.unwrap_or_else(|| {
                self.schemas.push(schema);
                self.schemas.len() - 1
            }) as u32
                + 1
        });
        Ok(Written { encoding: written.encoding, schema, len: (self.data.len() - start) as u32 })
    }

    fn finish(mut self, consumed: &Consumed, places: &[usize]) -> SinkBatch {
        let (original_topic, original_partition) = self.originals(consumed, places);
        self.batch.schemas = Arc::new(self.schemas);
        self.batch.data = self.data.into();
        let (offset, timestamp_type) = (self.offset, self.timestamp_type);
        SinkBatch { records: self.batch, offset, timestamp_type, original_topic, original_partition }
    }

    /// Where the records were read; nothing if that is where they are.
    fn originals(&mut self, consumed: &Consumed, places: &[usize]) -> (Vec<u32>, Vec<i32>) {
        let topic = |place: &usize| &consumed.topics[consumed.topic[*place] as usize];
        let partitions: Vec<_> = places.iter().map(|place| consumed.partition[*place]).collect();
        let topics = self.batch.topic.iter().map(|topic| &self.batch.topics[*topic as usize]);
        if partitions == self.batch.partition && topics.eq(places.iter().map(topic)) {
            return (Vec::new(), Vec::new());
        }
        let topics = places.iter().map(|place| pooled(&mut self.batch.topics, topic(place))).collect();
        (topics, partitions)
    }
}

struct Written {
    encoding: Encoding,
    schema: u32,
    len: u32,
}

fn push(column: &mut Values, written: &Written) {
    column.encoding.push(written.encoding);
    column.schema.push(written.schema);
    column.len.push(written.len);
}

/// The place of a name in a pool, which it joins if it is new.
fn pooled(pool: &mut Vec<Arc<str>>, name: &Arc<str>) -> u32 {
    let known = pool.iter().rposition(|known| known == name);
    known.unwrap_or_else(|| {
        pool.push(name.clone());
        pool.len() - 1
    }) as u32
}

#[cfg(test)]
mod tests {
    use bulkhead_model::RawConfig;

    use super::*;
    use crate::convert::{Converters, Role, create};
    use crate::transform::Chain;

    fn decoded(pattern: &str) -> SinkBatch {
        let string = |role| create("StringConverter", &RawConfig::new(), role).unwrap();
        let converters =
            Converters { key: string(Role::Key), value: string(Role::Value), header: string(Role::Header) };
        let chain = Chain::new(&RawConfig::from([
            ("transforms", "rename"),
            ("transforms.rename.type", "org.apache.kafka.connect.transforms.RegexRouter"),
            ("transforms.rename.regex", pattern),
            ("transforms.rename.replacement", "all"),
        ]));
        let consumed = Consumed {
            topics: vec!["a".into(), "b".into()],
            topic: vec![0, 1],
            partition: vec![4, 5],
            offset: vec![7, 8],
            timestamp: vec![1, 2],
            timestamp_type: vec![1, 1],
            key_len: vec![-1, -1],
            value_len: vec![1, 1],
            header_count: vec![0, 0],
            data: bytes::Bytes::from_static(b"xy"),
            ..Consumed::default()
        };
        Decoder::new(converters, chain.unwrap()).decode(&consumed).batch
    }

    #[test]
    fn where_records_were_read_is_said_once_a_transform_has_moved_one() {
        let batch = decoded("b");
        let topics = |column: &[u32]| column.iter().map(|at| &*batch.records.topics[*at as usize]).collect::<Vec<_>>();
        assert_eq!(topics(&batch.records.topic), ["a", "all"]);
        assert_eq!(topics(&batch.original_topic), ["a", "b"]);
        assert_eq!(batch.original_partition, [4, 5]);
        let unmoved = decoded("c");
        assert!(unmoved.original_topic.is_empty() && unmoved.original_partition.is_empty());
    }
}
