//! `schemas`: the numbers by which one instance's records refer to their schemas.

use std::collections::HashMap;
use std::sync::Arc;

use bulkhead_model::value::Schema;

use super::bad_data;
use crate::tenant::Tenant;
use crate::v0_1::schema;
use crate::v0_1::wit::schemas::Host;
use crate::v0_1::wit::types::{Error, SchemaDef, SchemaNode};

/// The WIT package promises this many.
const MAX_SCHEMAS: usize = 100_000;
/// Bytes of text in all of an instance's schemas.
const MAX_WEIGHT: usize = 64 << 20;

/// Number `n` is at index `n - 1`.
#[derive(Default)]
pub(crate) struct Schemas {
    all: Vec<Arc<Schema>>,
    /// By digest.
    numbers: HashMap<[u8; 32], u32>,
    weight: usize,
    /// `all` as batches share it; made anew only after a schema was added.
    shared: Option<Arc<Vec<Arc<Schema>>>>,
}

impl Schemas {
    /// What the records of a batch refer to.
    pub(crate) fn shared(&mut self) -> Arc<Vec<Arc<Schema>>> {
        let all = &self.all;
        Arc::clone(self.shared.get_or_insert_with(|| Arc::new(all.clone())))
    }

    pub(crate) fn register(&mut self, nodes: Vec<SchemaNode>) -> Result<u32, String> {
        let given = schema::from_nodes(nodes)?;
        if let Some(number) = self.numbers.get(&given.digest) {
            return Ok(*number);
        }
        self.weight += given.weight;
        if self.all.len() == MAX_SCHEMAS || self.weight > MAX_WEIGHT {
            return Err(format!(
                "too many schemas: at most {MAX_SCHEMAS}, and {MAX_WEIGHT} bytes of them, for each instance"
            ));
        }
        self.all.push(given.schema);
        self.shared = None;
        let number = self.all.len() as u32;
        self.numbers.insert(given.digest, number);
        Ok(number)
    }

    /// Takes a schema that came along with a batch, under the number that the guest gave it.
    pub(crate) fn define(&mut self, definition: SchemaDef) -> Result<(), String> {
        let id = definition.id;
        let number = self.register(definition.nodes)?;
        if number == id {
            return Ok(());
        }
        Err(format!("the batch calls schema number {number} by the number {id}"))
    }
}

impl Host for Tenant {
    fn register(&mut self, nodes: Vec<SchemaNode>) -> Result<u32, Error> {
        self.schemas.register(nodes).map_err(bad_data)
    }
}
