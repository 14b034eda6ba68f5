//! Schemas made from other schemas.

use std::collections::HashSet;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bulkhead_model::value::{Field, Schema, SchemaType};

use crate::convert::ConvertError;

/// How many schemas a transform remembers having changed.
const REMEMBERED: usize = 16;

/// The schemas that a transform made of those it met. A converter behind it knows schemas by their
/// address, so that each must be made only once.
pub(super) struct Rewritten {
    /// The one that was needed last comes first.
    schemas: Mutex<Vec<Pair>>,
}

/// What was made of what; the original is held, so that no other schema gets its address.
struct Pair {
    original: Arc<Schema>,
    rewritten: Arc<Schema>,
}

impl Rewritten {
    pub(super) fn new() -> Self {
        Self { schemas: Mutex::default() }
    }

    /// What `make` makes of a schema, or made of it before.
    pub(super) fn of(
        &self,
        original: &Arc<Schema>,
        make: impl FnOnce(&Schema) -> Result<Schema, ConvertError>,
    ) -> Result<Arc<Schema>, ConvertError> {
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        match schemas.iter().position(|pair| Arc::ptr_eq(&pair.original, original)) {
            Some(place) => schemas[..=place].rotate_right(1),
            None => {
                let rewritten = Arc::new(make(original)?);
                schemas.truncate(REMEMBERED - 1);
                schemas.insert(0, Pair { original: original.clone(), rewritten });
            }
        }
        Ok(schemas[0].rewritten.clone())
    }
}

impl fmt::Debug for Rewritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rewritten").finish_non_exhaustive()
    }
}

/// A required struct of these fields.
pub(super) fn struct_of(fields: Vec<Field>) -> Result<Schema, ConvertError> {
    let mut names = HashSet::new();
    for field in &fields {
        if field.name.is_empty() {
            return Err(ConvertError::Data("a field of a struct has no name".to_owned()));
        }
        if !names.insert(&*field.name) {
            return Err(ConvertError::Data(format!("the field `{}` is there twice", field.name)));
        }
    }
    Ok(Schema::required(SchemaType::Struct(fields)))
}

/// A required struct of other fields, but with the name, version, doc and parameters of `like`.
pub(super) fn struct_like(like: &Schema, fields: Vec<Field>) -> Result<Schema, ConvertError> {
    Ok(Schema {
        name: like.name.clone(),
        version: like.version,
        doc: like.doc.clone(),
        parameters: like.parameters.clone(),
        ..struct_of(fields)?
    })
}

/// A plain schema of some type.
pub(super) fn plain(kind: SchemaType, optional: bool) -> Arc<Schema> {
    Arc::new(Schema { optional, ..Schema::required(kind) })
}

/// A schema of a logical type.
pub(super) fn logical(kind: SchemaType, name: &str, optional: bool) -> Arc<Schema> {
    Arc::new(Schema { optional, version: Some(1), ..Schema::required(kind).named(name) })
}
