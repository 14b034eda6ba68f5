//! SimpleHeaderConverter: header values in their text form, types guessed when read.

use std::sync::{Arc, Mutex, PoisonError};

use bulkhead_model::value::{Schema, SchemaType, Value};

use super::cache::Cache;
use super::{ConvertError, Converter, Decoded, Encoded, SchemaAndValue, encode_by_tree, item, values};
use crate::batch::{Encoding, Item};

/// How many schemas of arrays, maps and Decimals are remembered.
const SCHEMAS: usize = 1000;

pub(super) const CLASS: &str = "org.apache.kafka.connect.storage.SimpleHeaderConverter";

/// The default header converter.
#[derive(Debug)]
pub struct SimpleHeaderConverter {
    /// Composite schemas by what they look like, so that equal ones are one.
    schemas: Mutex<Cache<String, Arc<Schema>>>,
}

impl SimpleHeaderConverter {
    pub fn new() -> Self {
        Self { schemas: Mutex::new(Cache::new(SCHEMAS)) }
    }

    /// The schema that was seen first among equal ones. Those of simple values are shared anyway.
    fn shared(&self, schema: Arc<Schema>) -> Arc<Schema> {
        if !matches!(schema.kind, SchemaType::Array(_) | SchemaType::Map(_, _) | SchemaType::Bytes) {
            return schema;
        }
        let key = format!("{schema:?}");
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        schemas.get(&key).unwrap_or_else(|| {
            schemas.insert(key, schema.clone());
            schema
        })
    }
}

impl Converter for SimpleHeaderConverter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn from_connect(
        &self,
        _topic: &str,
        _schema: Option<&Arc<Schema>>,
        value: &Value,
    ) -> Result<Option<Vec<u8>>, ConvertError> {
        Ok(values::write(value)?.map(String::into_bytes))
    }

    fn to_connect(&self, _topic: &str, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError> {
        let Some(bytes) = bytes else { return Ok(SchemaAndValue::NULL) };
        let SchemaAndValue { schema, value } = values::parse(&String::from_utf8_lossy(bytes));
        Ok(SchemaAndValue { schema: schema.map(|schema| self.shared(schema)), value })
    }

    fn encode(&self, topic: &str, item: Item<'_>, out: &mut Vec<u8>) -> Result<Encoded, ConvertError> {
        if item.encoding == Encoding::Text {
            item::text(item.bytes)?;
            return Ok(Encoded::Same);
        }
        encode_by_tree(self, topic, item, out)
    }

    fn decode(&self, topic: &str, bytes: Option<&[u8]>, out: &mut Vec<u8>) -> Result<Decoded, ConvertError> {
        let SchemaAndValue { schema, value } = self.to_connect(topic, bytes)?;
        match (&value, bytes) {
            (Value::String(text), Some(bytes)) if text.as_bytes() == bytes => {
                Ok(Decoded { encoding: Encoding::Text, schema, bytes: Encoded::Same })
            }
            _ => {
                let start = out.len();
                item::write(schema, &value, out).or_else(|_| {
                    out.truncate(start);
                    Ok(as_text(bytes.unwrap_or_default(), out))
                })
            }
        }
    }
}

/// A guess may give values that their own schema doesn't allow (times beyond a day, arrays of arrays
/// of several types). Those can't be in a batch; then it's the text that goes on.
fn as_text(bytes: &[u8], out: &mut Vec<u8>) -> Decoded {
    out.extend_from_slice(String::from_utf8_lossy(bytes).as_bytes());
    Decoded { encoding: Encoding::Text, schema: Some(values::string_schema()), bytes: Encoded::Appended }
}
