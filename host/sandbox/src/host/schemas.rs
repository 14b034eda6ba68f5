//! `schemas`: the numbers by which one instance's records refer to their schemas.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use bulkhead_model::value::Schema;

use super::bad_data;
use crate::tenant::Tenant;
use crate::v0_1::wit::schemas::Host;
use crate::v0_1::wit::types::{Error, SchemaDef, SchemaNode};
use crate::v0_1::{Numbering, schema};

/// The WIT package promises this many.
const MAX_SCHEMAS: usize = 100_000;
/// Bytes of text in all of an instance's schemas.
const MAX_WEIGHT: usize = 64 << 20;

/// Schemas whose number is found without looking into them; then it begins anew.
const MAX_KNOWN_ADDRESSES: usize = 10_000;

/// Number `n` is at index `n - 1`.
#[derive(Default)]
pub(crate) struct Schemas {
    all: Vec<Arc<Schema>>,
    /// By digest.
    numbers: HashMap<[u8; 32], u32>,
    weight: usize,
    /// `all` as batches share it; made anew only after a schema was added.
    shared: Option<Arc<Vec<Arc<Schema>>>>,
    shown: Shown,
}

/// What the worker has shown to the guest, of its own accord.
#[derive(Default)]
struct Shown {
    numbers: HashSet<u32>,
    /// By address, which is only compared; `held` keeps the addresses taken.
    addresses: HashMap<usize, u32>,
    held: Vec<Arc<Schema>>,
}

impl Schemas {
    /// What the records of a batch refer to.
    fn shared(&mut self) -> Arc<Vec<Arc<Schema>>> {
        let all = &self.all;
        Arc::clone(self.shared.get_or_insert_with(|| Arc::new(all.clone())))
    }

    pub(crate) fn register(&mut self, nodes: Vec<SchemaNode>) -> Result<u32, String> {
        let given = schema::from_nodes(nodes)?;
        if let Some(number) = self.numbers.get(&given.digest) {
            return Ok(*number);
        }
        let number = self.add(given.schema, given.weight)?;
        self.numbers.insert(given.digest, number);
        Ok(number)
    }

    /// The numbers of a batch's schemas, for a guest that also registers schemas of its own: there is one
    /// count for both.
    pub(crate) fn show(&mut self, schemas: &[Arc<Schema>]) -> Result<Numbering, String> {
        let mut unseen = Vec::new();
        let numbers = schemas.iter().map(|schema| self.show_one(schema, &mut unseen));
        let numbers = numbers.collect::<Result<_, _>>()?;
        Ok(Numbering::new(numbers, unseen))
    }

    fn show_one(&mut self, schema: &Arc<Schema>, unseen: &mut Vec<SchemaDef>) -> Result<u32, String> {
        let address = Arc::as_ptr(schema).addr();
        if let Some(number) = self.shown.addresses.get(&address) {
            return Ok(*number);
        }
        let nodes = schema::to_nodes(schema);
        let number = match schema::from_nodes(nodes.clone()) {
            Ok(given) => match self.numbers.get(&given.digest) {
                Some(number) => *number,
                None => {
                    let number = self.add(Arc::clone(schema), given.weight)?;
                    self.numbers.insert(given.digest, number);
                    number
                }
            },
            // Larger than what guests may give, but ours.
            Err(_) => self.add(Arc::clone(schema), nodes.len())?,
        };
        if self.shown.held.len() == MAX_KNOWN_ADDRESSES {
            self.shown.held.clear();
            self.shown.addresses.clear();
        }
        self.shown.held.push(Arc::clone(schema));
        self.shown.addresses.insert(address, number);
        if self.shown.numbers.insert(number) {
            unseen.push(SchemaDef { id: number, nodes });
        }
        Ok(number)
    }

    fn add(&mut self, schema: Arc<Schema>, weight: usize) -> Result<u32, String> {
        self.weight += weight;
        if self.all.len() == MAX_SCHEMAS || self.weight > MAX_WEIGHT {
            return Err(format!(
                "too many schemas: at most {MAX_SCHEMAS}, and {MAX_WEIGHT} bytes of them, for each instance"
            ));
        }
        self.all.push(schema);
        self.shared = None;
        Ok(self.all.len() as u32)
    }

    /// Takes the schemas that a batch brings along, and answers with all that the guest has by now.
    pub(crate) fn take(&mut self, definitions: Vec<SchemaDef>) -> Result<Arc<Vec<Arc<Schema>>>, String> {
        definitions.into_iter().try_for_each(|definition| self.define(definition))?;
        Ok(self.shared())
    }

    /// Takes one under the number that the guest gave it.
    fn define(&mut self, definition: SchemaDef) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use bulkhead_model::value::SchemaType;

    use super::*;

    fn text() -> Arc<Schema> {
        Arc::new(Schema::required(SchemaType::String))
    }

    fn shown(schemas: &mut Schemas, batch: &[Arc<Schema>]) -> (Vec<u32>, Vec<u32>) {
        let mut unseen = Vec::new();
        let numbers = batch.iter().map(|schema| schemas.show_one(schema, &mut unseen).unwrap()).collect();
        (numbers, unseen.iter().map(|definition| definition.id).collect())
    }

    #[test]
    fn the_guests_schemas_and_ours_are_counted_together() {
        let mut schemas = Schemas::default();
        let number = Arc::new(Schema::required(SchemaType::Int8));
        assert_eq!(schemas.register(schema::to_nodes(&text())), Ok(1));
        assert_eq!(shown(&mut schemas, &[Arc::clone(&number), text()]), (vec![2, 1], vec![2, 1]));
        assert_eq!(shown(&mut schemas, &[text(), number]), (vec![1, 2], vec![]));
        assert_eq!(schemas.register(schema::to_nodes(&text())), Ok(1));
        assert_eq!(schemas.shared().len(), 2);
    }

    #[test]
    fn a_schema_that_no_guest_could_give_is_shown_all_the_same() {
        let mut schemas = Schemas::default();
        let deep = (0..100).fold(text(), |below, _| Arc::new(Schema::required(SchemaType::Array(Some(below)))));
        assert_eq!(shown(&mut schemas, &[Arc::clone(&deep)]), (vec![1], vec![1]));
        assert_eq!(shown(&mut schemas, &[deep]), (vec![1], vec![]));
    }
}
