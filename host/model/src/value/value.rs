//! Values. Which schema one belongs to is the holder's business, except for structs, which bring
//! theirs.

use std::sync::Arc;

use bytes::Bytes;

use super::Schema;

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

/// `unscaled` × 10^-`scale`, of any size: the bytes are big-endian two's complement, as short as
/// possible, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    pub unscaled: Bytes,
    pub scale: i32,
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
}

impl Struct {
    /// The raw value of a field, defaults not filled in.
    pub fn get(&self, name: &str) -> Option<&Value> {
        let index = self.schema.fields().iter().position(|field| &*field.name == name)?;
        self.values.get(index)
    }
}
