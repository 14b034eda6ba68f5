//! `record-batch` and `value-batch`, written so that they are lowered into the guest's memory straight from a batch:
//! the buffer is shared, texts are shared, columns are copied once.

use std::sync::Arc;

use bulkhead_pipeline::batch::{Batch, Items, Values};
use bytes::Bytes;
use wasmtime::component::{ComponentType, Lower};

use super::wit::types;

/// `record-batch`, field by field.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct Records {
    count: u32,
    topics: Vec<Arc<str>>,
    pub(super) schemas: Vec<types::SchemaDef>,
    topic: Vec<u32>,
    partition: Vec<i32>,
    timestamp: Vec<i64>,
    keys: Column,
    pub(super) values: Column,
    #[component(name = "header-count")]
    header_count: Vec<u32>,
    #[component(name = "header-keys")]
    header_keys: Vec<Arc<str>>,
    #[component(name = "header-key")]
    header_key: Vec<u32>,
    headers: Column,
    data: Bytes,
}

/// `value-batch`, field by field.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct ValueBatch {
    count: u32,
    topics: Vec<Arc<str>>,
    schemas: Vec<types::SchemaDef>,
    topic: Vec<u32>,
    #[component(name = "header-keys")]
    header_keys: Vec<Arc<str>>,
    #[component(name = "header-key")]
    header_key: Vec<u32>,
    items: Column,
    data: Bytes,
}

/// `values`, field by field.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct Column {
    encoding: Vec<u8>,
    pub(super) schema: Vec<u32>,
    len: Vec<u32>,
}

/// How a batch's numbers of schemas become the guest's.
pub(crate) struct Numbering {
    /// The guest's number of each schema of the batch; none if they are the batch's own.
    numbers: Option<Vec<u32>>,
    unseen: Vec<types::SchemaDef>,
}

impl Records {
    pub(super) fn lower(batch: &Batch, numbering: Numbering) -> Self {
        Self {
            count: batch.count as u32,
            topics: batch.topics.clone(),
            topic: batch.topic.clone(),
            partition: batch.partition.clone(),
            timestamp: batch.timestamp.clone(),
            keys: Column::lower(&batch.keys, &numbering),
            values: Column::lower(&batch.values, &numbering),
            header_count: batch.header_count.clone(),
            header_keys: batch.header_keys.clone(),
            header_key: batch.header_key.clone(),
            headers: Column::lower(&batch.headers, &numbering),
            schemas: numbering.unseen,
            data: batch.data.clone(),
        }
    }
}

impl ValueBatch {
    pub(super) fn lower(items: &Items, numbering: Numbering) -> Self {
        Self {
            count: items.column.count as u32,
            topics: items.topics.clone(),
            topic: items.topic.clone(),
            header_keys: items.header_keys.clone(),
            header_key: items.header_key.clone(),
            items: Column::lower(&items.column.values, &numbering),
            schemas: numbering.unseen,
            data: items.column.data.clone(),
        }
    }
}

impl Column {
    fn lower(values: &Values, numbering: &Numbering) -> Self {
        Self {
            encoding: values.encoding.iter().map(|encoding| *encoding as u8).collect(),
            schema: numbering.apply(&values.schema),
            len: values.len.clone(),
        }
    }
}

impl Numbering {
    /// `numbers` are the guest's of all schemas of a batch, `unseen` those that it doesn't have yet.
    pub(crate) fn new(numbers: Vec<u32>, unseen: Vec<types::SchemaDef>) -> Self {
        let same = (1..).eq(numbers.iter().copied());
        Self { numbers: (!same).then_some(numbers), unseen }
    }

    fn apply(&self, column: &[u32]) -> Vec<u32> {
        let Some(numbers) = &self.numbers else {
            return column.to_vec();
        };
        let guests = |number: &u32| match number {
            0 => 0,
            number => numbers[*number as usize - 1],
        };
        column.iter().map(guests).collect()
    }
}
