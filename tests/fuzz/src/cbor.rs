//! CBOR of guests, and what is written for them.

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use bulkhead_model::value::Schema;
use bulkhead_pipeline::cbor;

use crate::data;

/// The first byte says whether a schema comes, and whether bytes or a value follow.
pub fn cbor(bytes: &[u8]) {
    // What is too short for a schema or a value is no case.
    let _ = case(&mut Unstructured::new(bytes));
}

fn case(from: &mut Unstructured<'_>) -> Result<()> {
    let (has_schema, is_document): (bool, bool) = (from.arbitrary()?, from.arbitrary()?);
    if !is_document {
        let data = data::schema_and_value(from)?;
        let mut written = Vec::new();
        if cbor::write(&data.value, data.schema.as_deref(), &mut written).is_ok() {
            read_twice(&written, data.schema.as_ref());
        }
        return Ok(());
    }
    let schema = if has_schema { Some(data::schema(from, 3)?) } else { None };
    let document = from.bytes(from.len())?;
    if cbor::read(document, schema.as_ref()).is_ok() {
        read_twice(document, schema.as_ref());
    }
    Ok(())
}

/// What was read, written and read again is what was read.
fn read_twice(document: &[u8], schema: Option<&Arc<Schema>>) {
    let value = match cbor::read(document, schema) {
        Ok(value) => value,
        Err(error) => panic!("what was written can't be read: {error}"),
    };
    let mut written = Vec::new();
    if let Err(error) = cbor::write(&value, schema.map(|schema| &**schema), &mut written) {
        panic!("what was read can't be written: {error}: {value:?}");
    }
    let again = cbor::read(&written, schema).expect("what was just written can be read");
    assert!(data::same(&value, &again), "{value:?} became {again:?}");
}
