//! Between an item of a batch and a value with its schema.

use std::sync::Arc;

use bulkhead_model::value::{Schema, SchemaType, Value};
use bytes::Bytes;

use super::{ConvertError, Decoded, Encoded, SchemaAndValue, json};
use crate::batch::{Encoding, Item};
use crate::cbor;

/// The value of an item.
pub fn read(item: Item<'_>) -> Result<SchemaAndValue, ConvertError> {
    let value = match item.encoding {
        Encoding::None => Value::Null,
        Encoding::Bytes => Value::Bytes(Bytes::copy_from_slice(item.bytes)),
        Encoding::Text => Value::string(text(item.bytes)?),
        Encoding::Cbor => cbor::read(item.bytes, item.schema)?,
        Encoding::Json => json_text(item)?,
    };
    Ok(SchemaAndValue { schema: item.schema.cloned(), value })
}

/// JSON is a way to write schemaless values only.
fn json_text(item: Item<'_>) -> Result<Value, ConvertError> {
    match item.schema {
        None => json::read_text(item.bytes),
        Some(_) => Err(ConvertError::Data("a value with a schema cannot be given as JSON".to_owned())),
    }
}

/// Appends a value in the plainest encoding that holds it.
pub fn write(schema: Option<Arc<Schema>>, value: &Value, out: &mut Vec<u8>) -> Result<Decoded, ConvertError> {
    let encoding = match value {
        Value::Null => {
            return Ok(Decoded { encoding: Encoding::None, schema, bytes: Encoded::Null });
        }
        Value::String(text) if is_plainly(schema.as_deref(), &SchemaType::String) => {
            out.extend_from_slice(text.as_bytes());
            Encoding::Text
        }
        Value::Bytes(bytes) if is_plainly(schema.as_deref(), &SchemaType::Bytes) => {
            out.extend_from_slice(bytes);
            Encoding::Bytes
        }
        _ => {
            cbor::write(value, schema.as_deref(), out)?;
            Encoding::Cbor
        }
    };
    Ok(Decoded { encoding, schema, bytes: Encoded::Appended })
}

/// Whether a value of this type is all that the schema has to say.
fn is_plainly(schema: Option<&Schema>, kind: &SchemaType) -> bool {
    schema.is_none_or(|schema| schema.kind == *kind)
}

/// The text of an item, which a guest may have claimed to be UTF-8 without looking.
pub(super) fn text(bytes: &[u8]) -> Result<&str, ConvertError> {
    std::str::from_utf8(bytes).map_err(|_| ConvertError::Data("the text is not UTF-8".to_owned()))
}
