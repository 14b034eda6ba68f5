//! ByteArrayConverter: bytes as they are.

use std::sync::Arc;

use bulkhead_model::value::{Schema, SchemaType, Value};
use bytes::Bytes;

use super::{ConvertError, Converter, Decoded, Encoded, SchemaAndValue, encode_by_tree};
use crate::batch::{Encoding, Item};

pub(super) const CLASS: &str = "org.apache.kafka.connect.converters.ByteArrayConverter";

/// Takes and gives bytes without looking at them.
#[derive(Debug)]
pub struct ByteArrayConverter {
    schema: Arc<Schema>,
}

impl ByteArrayConverter {
    pub fn new() -> Self {
        Self { schema: Arc::new(Schema::optional(SchemaType::Bytes)) }
    }
}

impl Converter for ByteArrayConverter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn from_connect(
        &self,
        _topic: &str,
        schema: Option<&Arc<Schema>>,
        value: &Value,
    ) -> Result<Option<Vec<u8>>, ConvertError> {
        check_schema(schema)?;
        match value {
            Value::Null => Ok(None),
            Value::Bytes(bytes) => Ok(Some(bytes.to_vec())),
            _ => Err(ConvertError::Data(format!(
                "ByteArrayConverter takes bytes, not a value of type {}",
                value.type_name()
            ))),
        }
    }

    fn to_connect(&self, _topic: &str, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError> {
        let value = bytes.map_or(Value::Null, |bytes| Value::Bytes(Bytes::copy_from_slice(bytes)));
        Ok(SchemaAndValue { schema: Some(self.schema.clone()), value })
    }

    fn encode(&self, topic: &str, item: Item<'_>, out: &mut Vec<u8>) -> Result<Encoded, ConvertError> {
        if item.encoding == Encoding::Bytes {
            check_schema(item.schema)?;
            return Ok(Encoded::Same);
        }
        encode_by_tree(self, topic, item, out)
    }

    fn decode(&self, _topic: &str, bytes: Option<&[u8]>, _out: &mut Vec<u8>) -> Result<Decoded, ConvertError> {
        let (encoding, bytes) = match bytes {
            Some(_) => (Encoding::Bytes, Encoded::Same),
            None => (Encoding::None, Encoded::Null),
        };
        Ok(Decoded { encoding, schema: Some(self.schema.clone()), bytes })
    }
}

fn check_schema(schema: Option<&Arc<Schema>>) -> Result<(), ConvertError> {
    match schema {
        Some(schema) if schema.kind != SchemaType::Bytes => {
            Err(ConvertError::Data(format!("Invalid schema type for ByteArrayConverter: {}", schema.kind.name())))
        }
        _ => Ok(()),
    }
}
