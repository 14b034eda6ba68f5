//! The converters of single numbers: big-endian bits, nothing else.

use std::sync::Arc;

use bulkhead_model::value::{Schema, SchemaType, Value};

use super::{ConvertError, Converter, SchemaAndValue};

/// BooleanConverter and the five converters of numbers.
#[derive(Debug)]
pub struct NumberConverter {
    kind: Kind,
    schema: Arc<Schema>,
}

/// Which of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Boolean,
    Short,
    Integer,
    Long,
    Float,
    Double,
}

impl Kind {
    /// The full name of the converter's class.
    pub const fn class(self) -> &'static str {
        match self {
            Self::Boolean => "org.apache.kafka.connect.converters.BooleanConverter",
            Self::Short => "org.apache.kafka.connect.converters.ShortConverter",
            Self::Integer => "org.apache.kafka.connect.converters.IntegerConverter",
            Self::Long => "org.apache.kafka.connect.converters.LongConverter",
            Self::Float => "org.apache.kafka.connect.converters.FloatConverter",
            Self::Double => "org.apache.kafka.connect.converters.DoubleConverter",
        }
    }
}

impl NumberConverter {
    pub fn new(kind: Kind) -> Self {
        Self { kind, schema: Arc::new(Schema::optional(kind.schema_type())) }
    }
}

impl Converter for NumberConverter {
    fn class(&self) -> &'static str {
        self.kind.class()
    }

    /// Only BooleanConverter looks at the schema, and does so even where the value is null.
    fn from_connect(
        &self,
        _topic: &str,
        schema: Option<&Arc<Schema>>,
        value: &Value,
    ) -> Result<Option<Vec<u8>>, ConvertError> {
        if let (Kind::Boolean, Some(schema)) = (self.kind, schema)
            && schema.kind != SchemaType::Boolean
        {
            let found = schema.kind.name();
            return Err(ConvertError::Data(format!("Invalid schema type for BooleanConverter: {found}")));
        }
        match value {
            Value::Null => Ok(None),
            value => self.kind.write(value).map(Some),
        }
    }

    fn to_connect(&self, _topic: &str, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError> {
        let value = match bytes {
            None => Value::Null,
            Some(bytes) => self.kind.read(bytes).ok_or_else(|| {
                ConvertError::Data(format!("{} bytes are no {}", bytes.len(), self.schema.kind.name()))
            })?,
        };
        Ok(SchemaAndValue { schema: Some(self.schema.clone()), value })
    }
}

impl Kind {
    fn schema_type(self) -> SchemaType {
        match self {
            Self::Boolean => SchemaType::Boolean,
            Self::Short => SchemaType::Int16,
            Self::Integer => SchemaType::Int32,
            Self::Long => SchemaType::Int64,
            Self::Float => SchemaType::Float32,
            Self::Double => SchemaType::Float64,
        }
    }

    fn write(self, value: &Value) -> Result<Vec<u8>, ConvertError> {
        Ok(match (self, value) {
            (Self::Boolean, Value::Boolean(value)) => vec![u8::from(*value)],
            (Self::Short, Value::Int16(value)) => value.to_be_bytes().to_vec(),
            (Self::Integer, Value::Int32(value)) => value.to_be_bytes().to_vec(),
            (Self::Long, Value::Int64(value)) => value.to_be_bytes().to_vec(),
            (Self::Float, Value::Float32(value)) => canonical32(*value).to_be_bytes().to_vec(),
            (Self::Double, Value::Float64(value)) => canonical64(*value).to_be_bytes().to_vec(),
            _ => {
                return Err(ConvertError::Data(format!(
                    "a value of type {} was found where {} is expected",
                    value.type_name(),
                    self.schema_type().name()
                )));
            }
        })
    }

    fn read(self, bytes: &[u8]) -> Option<Value> {
        Some(match self {
            Self::Boolean => match bytes {
                [0] => Value::Boolean(false),
                [1] => Value::Boolean(true),
                _ => return None,
            },
            Self::Short => Value::Int16(i16::from_be_bytes(bytes.try_into().ok()?)),
            Self::Integer => Value::Int32(i32::from_be_bytes(bytes.try_into().ok()?)),
            Self::Long => Value::Int64(i64::from_be_bytes(bytes.try_into().ok()?)),
            Self::Float => Value::Float32(f32::from_be_bytes(bytes.try_into().ok()?)),
            Self::Double => Value::Float64(f64::from_be_bytes(bytes.try_into().ok()?)),
        })
    }
}

/// Java writes every NaN as this one.
fn canonical32(value: f32) -> u32 {
    if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() }
}

fn canonical64(value: f64) -> u64 {
    if value.is_nan() { 0x7ff8_0000_0000_0000 } else { value.to_bits() }
}
