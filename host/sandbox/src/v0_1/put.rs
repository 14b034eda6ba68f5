//! The parameter of `put`, and the schemas that a sink's guest knows.

use std::collections::HashMap;
use std::sync::Arc;

use bulkhead_model::value::Schema;
use bulkhead_pipeline::batch::SinkBatch;
use wasmtime::component::{ComponentType, Lower};

use super::bindings::exports::bulkhead::connect::sink_task;
use super::lower::{Numbering, Records};
use super::schema;
use super::wit::types;

/// What `put` answers.
pub(crate) type PutAnswer = Result<Vec<sink_task::Rejection>, types::Error>;

/// `sink-batch`, field by field.
#[derive(ComponentType, Lower)]
#[component(record)]
pub(crate) struct PutBatch {
    id: u64,
    records: Records,
    offset: Vec<i64>,
    #[component(name = "timestamp-type")]
    timestamp_type: Vec<u8>,
    #[component(name = "original-topic")]
    original_topic: Vec<u32>,
    #[component(name = "original-partition")]
    original_partition: Vec<i32>,
    #[component(name = "original-offset")]
    original_offset: Vec<i64>,
}

/// Which schemas a sink task's guest knows, and by which numbers.
#[derive(Default)]
pub(super) struct Known {
    /// By address, which is only compared; `schemas` keeps the addresses taken.
    numbers: HashMap<usize, u32>,
    schemas: Vec<Arc<Schema>>,
    /// Puts so far.
    puts: u64,
}

impl Known {
    /// The batch as `put`'s parameter, with definitions of the schemas that the guest hasn't seen.
    pub(super) fn lower(&mut self, batch: &SinkBatch) -> PutBatch {
        let numbering = self.number(&batch.records.schemas);
        let id = self.puts;
        self.puts += 1;
        PutBatch {
            id,
            records: Records::lower(&batch.records, numbering),
            offset: batch.offset.clone(),
            timestamp_type: batch.timestamp_type.clone(),
            original_topic: batch.original_topic.clone(),
            original_partition: batch.original_partition.clone(),
            // Transforms leave offsets as they are.
            original_offset: if batch.original_topic.is_empty() { Vec::new() } else { batch.offset.clone() },
        }
    }

    fn number(&mut self, schemas: &[Arc<Schema>]) -> Numbering {
        let mut unseen = Vec::new();
        let numbers = schemas.iter().map(|schema| self.number_of(schema, &mut unseen)).collect();
        Numbering::new(numbers, unseen)
    }

    fn number_of(&mut self, schema: &Arc<Schema>, unseen: &mut Vec<types::SchemaDef>) -> u32 {
        let address = Arc::as_ptr(schema).addr();
        if let Some(number) = self.numbers.get(&address) {
            return *number;
        }
        self.schemas.push(Arc::clone(schema));
        let number = self.schemas.len() as u32;
        self.numbers.insert(address, number);
        unseen.push(types::SchemaDef { id: number, nodes: schema::to_nodes(schema) });
        number
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_model::value::SchemaType;
    use bulkhead_pipeline::batch::{Batch, Values};

    use super::*;

    fn batch(schemas: &[&Arc<Schema>], column: &[u32]) -> SinkBatch {
        SinkBatch {
            records: Batch {
                count: column.len(),
                schemas: Arc::new(schemas.iter().map(|schema| Arc::clone(schema)).collect()),
                values: Values { schema: column.to_vec(), ..Values::default() },
                ..Batch::default()
            },
            ..SinkBatch::default()
        }
    }

    /// The ids of definitions sent, and the column of numbers.
    fn lowered(known: &mut Known, batch: &SinkBatch) -> (Vec<u32>, Vec<u32>) {
        let put = known.lower(batch);
        let sent = put.records.schemas.iter().map(|definition| definition.id).collect();
        (sent, put.records.values.schema)
    }

    #[test]
    fn a_definition_is_sent_once_and_numbers_are_the_guests() {
        let (a, b) = (Arc::new(Schema::required(SchemaType::Int8)), Arc::new(Schema::required(SchemaType::String)));
        let mut known = Known::default();
        assert_eq!(lowered(&mut known, &batch(&[&a], &[1, 0])), (vec![1], vec![1, 0]));
        assert_eq!(lowered(&mut known, &batch(&[&b, &a], &[1, 2, 0])), (vec![2], vec![2, 1, 0]));
        assert_eq!(lowered(&mut known, &batch(&[&a, &b], &[1, 2])), (vec![], vec![1, 2]));
    }

    #[test]
    fn puts_are_numbered_from_0() {
        let mut known = Known::default();
        let ids: Vec<_> = (0..3).map(|_| known.lower(&SinkBatch::default()).id).collect();
        assert_eq!(ids, [0, 1, 2]);
    }
}
