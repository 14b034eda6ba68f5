//! The schemas that the worker has shown to a transformation, a predicate or a converter.

use crate::Result;
use crate::bindings::base::bulkhead::connect::types::{RecordBatch, SchemaDef};
use crate::data::Schema;
use crate::sink::{Schemas, SinkBatch};

/// They keep the worker's numbers when they go back.
#[derive(Default)]
pub(crate) struct Shown(Schemas);

impl Shown {
    /// The records of a batch, which know the schemas until they are [taken back](Self::take_back).
    pub(crate) fn lend(&mut self, mut records: RecordBatch, offset: Vec<i64>) -> Result<SinkBatch> {
        for SchemaDef { id, nodes } in std::mem::take(&mut records.schemas) {
            let schema = Schema::from_nodes(nodes)?;
            schema.set_id(id);
            self.0.insert(id, schema);
        }
        Ok(SinkBatch::of_records(records, offset, std::mem::take(&mut self.0)))
    }

    pub(crate) fn take_back(&mut self, batch: SinkBatch) {
        self.0 = batch.into_schemas();
    }
}
