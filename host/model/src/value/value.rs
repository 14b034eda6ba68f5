//! Values. Which schema one belongs to is the holder's business, except for structs, which bring
//! theirs.

use std::sync::Arc;

use bytes::Bytes;

use super::{Decimal, Field, Schema};

/// Any Connect value. Logical types have their rich form here: a Decimal is [`Value::Decimal`]; Date,
/// Time and Timestamp alike are [`Value::Instant`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Null,
    Boolean(bool),
    Int8(i8),
    Int16(i16),
    Int32(i32),
    Int64(i64),
    Float32(f32),
    Float64(f64),
    String(Arc<str>),
    Bytes(Bytes),
    Decimal(Decimal),
    /// Milliseconds since 1970-01-01T00:00:00Z.
    Instant(i64),
    Array(Vec<Value>),
    /// Entries in the order they came.
    Map(Vec<(Value, Value)>),
    Struct(Struct),
}

/// Values of a struct's fields, one for each field of the schema, in its order; unset is null.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct {
    pub schema: Arc<Schema>,
    pub values: Vec<Value>,
}

impl Value {
    pub fn string(text: impl AsRef<str>) -> Self {
        Self::String(Arc::from(text.as_ref()))
    }

    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// The name of the value's type, for messages.
    pub fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "BOOLEAN",
            Self::Int8(_) => "INT8",
            Self::Int16(_) => "INT16",
            Self::Int32(_) => "INT32",
            Self::Int64(_) => "INT64",
            Self::Float32(_) => "FLOAT32",
            Self::Float64(_) => "FLOAT64",
            Self::String(_) => "STRING",
            Self::Bytes(_) => "BYTES",
            Self::Decimal(_) => "Decimal",
            Self::Instant(_) => "Date, Time or Timestamp",
            Self::Array(_) => "ARRAY",
            Self::Map(_) => "MAP",
            Self::Struct(_) => "STRUCT",
        }
    }
}

impl Struct {
    /// A struct with no field set.
    pub fn new(schema: Arc<Schema>) -> Self {
        let values = vec![Value::Null; schema.fields().len()];
        Self { schema, values }
    }

    /// The raw value of a field, defaults not filled in.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values.get(self.schema.field_index(name)?)
    }

    /// Fields and their raw values, in order.
    pub fn fields(&self) -> impl Iterator<Item = (&Field, &Value)> {
        self.schema.fields().iter().zip(&self.values)
    }

    /// Fields and their values, where a null is the field's default if it has one.
    pub fn fields_or_defaults(&self) -> impl Iterator<Item = (&Field, &Value)> {
        self.fields().map(|(field, value)| (field, field.schema.or_default(value)))
    }
}
