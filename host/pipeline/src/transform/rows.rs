//! A batch in the making, row by row.

use std::sync::Arc;

use bulkhead_model::value::Schema;

use super::Record;
use crate::batch::{Batch, Encoding, Item, NO_PARTITION, NO_TIMESTAMP, RecordRef, Values};
use crate::convert::{ConvertError, SchemaAndValue, item};

#[derive(Default)]
pub(crate) struct Rows {
    batch: Batch,
    schemas: Vec<Arc<Schema>>,
    data: Vec<u8>,
}

impl Rows {
    /// Adds all of a record, or nothing.
    pub(crate) fn push(&mut self, record: &Record) -> Result<(), ConvertError> {
        let start = self.data.len();
        let items = std::iter::once(&record.key).chain([&record.value]).chain(record.headers.iter().map(|h| &h.value));
        let written = items.map(|half| self.write(half)).collect::<Result<Vec<_>, _>>();
        let written = written.inspect_err(|_| self.data.truncate(start))?;
        let [key, value, headers @ ..] = written.as_slice() else { return Ok(()) };
        push(&mut self.batch.keys, key);
        push(&mut self.batch.values, value);
        for (header, written) in record.headers.iter().zip(headers) {
            self.push_header(&header.key, written);
        }
        self.end_row(headers.len(), &record.topic, record.partition, record.timestamp);
        Ok(())
    }

    /// Adds a record of another batch; its bytes stay as they are.
    pub(crate) fn push_row(&mut self, record: &RecordRef<'_>) {
        let (key, value) = (self.copy(&record.key), self.copy(&record.value));
        push(&mut self.batch.keys, &key);
        push(&mut self.batch.values, &value);
        for (key, item) in record.headers() {
            let written = self.copy(&item);
            self.push_header(key, &written);
        }
        self.end_row(record.header_count(), record.topic(), record.partition(), record.timestamp());
    }

    pub(crate) fn finish(mut self) -> Batch {
        self.batch.schemas = Arc::new(self.schemas);
        self.batch.data = self.data.into();
        self.batch
    }

    fn push_header(&mut self, key: &Arc<str>, written: &Written) {
        push(&mut self.batch.headers, written);
        self.batch.header_key.push(pooled(&mut self.batch.header_keys, key));
    }

    fn end_row(&mut self, headers: usize, topic: &Arc<str>, partition: Option<i32>, timestamp: Option<i64>) {
        self.batch.header_count.push(headers as u32);
        self.batch.topic.push(pooled(&mut self.batch.topics, topic));
        self.batch.partition.push(partition.unwrap_or(NO_PARTITION));
        self.batch.timestamp.push(timestamp.unwrap_or(NO_TIMESTAMP));
        self.batch.count += 1;
    }

    fn write(&mut self, half: &SchemaAndValue) -> Result<Written, ConvertError> {
        let start = self.data.len();
        let written = item::write(half.schema.clone(), &half.value, &mut self.data)?;
        let schema = written.schema.map_or(0, |schema| self.schema(&schema));
        Ok(Written { encoding: written.encoding, schema, len: (self.data.len() - start) as u32 })
    }

    fn copy(&mut self, item: &Item<'_>) -> Written {
        self.data.extend_from_slice(item.bytes);
        let schema = item.schema.map_or(0, |schema| self.schema(schema));
        Written { encoding: item.encoding, schema, len: item.bytes.len() as u32 }
    }

    fn schema(&mut self, schema: &Arc<Schema>) -> u32 {
        let known = self.schemas.iter().rposition(|known| Arc::ptr_eq(known, schema));
        let index = known.unwrap_or_else(|| {
            self.schemas.push(Arc::clone(schema));
            self.schemas.len() - 1
        });
        index as u32 + 1
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
pub(crate) fn pooled(pool: &mut Vec<Arc<str>>, name: &Arc<str>) -> u32 {
    let known = pool.iter().rposition(|known| known == name);
    known.unwrap_or_else(|| {
        pool.push(Arc::clone(name));
        pool.len() - 1
    }) as u32
}
