use std::borrow::Cow;

use super::Schema;
use crate::{Error, Result};

/// Any Connect value. Texts and bytes are borrowed where they can be, e.g. from a sink's batch.
///
/// Logical types come as what they are stored as: a Decimal as bytes, a Date or Time as an int32, a Timestamp as an
/// int64; the schema says which is meant.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Value<'a> {
    Null,
    Boolean(bool),
    Int8(i8),
    Int16(i16),
    Int32(i32),
    Int64(i64),
    Float32(f32),
    Float64(f64),
    Text(Cow<'a, str>),
    Bytes(Cow<'a, [u8]>),
    Array(Vec<Value<'a>>),
    /// Keys and values in the order in which they are written.
    Map(Vec<(Value<'a>, Value<'a>)>),
    Struct(Struct<'a>),
}

/// A value with named fields, under its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct<'a> {
    schema: Schema,
    values: Vec<Value<'a>>,
}

impl<'a> Struct<'a> {
    /// A struct with all fields unset.
    pub fn new(schema: &Schema) -> Self {
        Self { schema: schema.clone(), values: vec![Value::Null; schema.fields().len()] }
    }

    pub(super) fn from_values(schema: &Schema, values: Vec<Value<'a>>) -> Self {
        Self { schema: schema.clone(), values }
    }

    /// The same with a field set. Fails if the schema has no such field; whether the value fits is seen when the
    /// struct is written.
    pub fn with(mut self, field: &str, value: impl Into<Value<'a>>) -> Result<Self> {
        let place = self.schema.position(field).ok_or_else(|| no_field(&self.schema, field))?;
        self.values[place] = value.into();
        Ok(self)
    }

    /// The value of a field; null if it is unset, nothing if there is no such field.
    pub fn get(&self, field: &str) -> Option<&Value<'a>> {
        self.values.get(self.schema.position(field)?)
    }

    /// The schema that says what the fields are.
    pub fn schema(&self) -> &Schema {
        &self.schema
    }

    /// The values of all fields, in the schema's order.
    pub fn values(&self) -> &[Value<'a>] {
        &self.values
    }
}

pub(crate) fn no_field(schema: &Schema, field: &str) -> Error {
    Error::data(format!("{} has no field `{field}`", schema.get_name().unwrap_or("the struct")))
}

impl Value<'_> {
    /// The same value, holding its own copies of what was borrowed.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Null => Value::Null,
            Self::Boolean(value) => Value::Boolean(value),
            Self::Int8(value) => Value::Int8(value),
            Self::Int16(value) => Value::Int16(value),
            Self::Int32(value) => Value::Int32(value),
            Self::Int64(value) => Value::Int64(value),
            Self::Float32(value) => Value::Float32(value),
            Self::Float64(value) => Value::Float64(value),
            Self::Text(text) => Value::Text(text.into_owned().into()),
            Self::Bytes(bytes) => Value::Bytes(bytes.into_owned().into()),
            Self::Array(elements) => Value::Array(elements.into_iter().map(Value::into_owned).collect()),
            Self::Map(entries) => {
                Value::Map(entries.into_iter().map(|(key, value)| (key.into_owned(), value.into_owned())).collect())
            }
            Self::Struct(Struct { schema, values }) => {
                Value::Struct(Struct { schema, values: values.into_iter().map(Value::into_owned).collect() })
            }
        }
    }

    /// What it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean(_) => "boolean",
            Self::Int8(_) => "int8",
            Self::Int16(_) => "int16",
            Self::Int32(_) => "int32",
            Self::Int64(_) => "int64",
            Self::Float32(_) => "float32",
            Self::Float64(_) => "float64",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Array(_) => "array",
            Self::Map(_) => "map",
            Self::Struct(_) => "struct",
        }
    }
}

macro_rules! from {
    ($($type:ty: $variant:ident;)*) => {$(
        impl<'a> From<$type> for Value<'a> {
            fn from(value: $type) -> Self {
                Self::$variant(value.into())
            }
        }
    )*};
}

from! {
    bool: Boolean;
    i8: Int8;
    i16: Int16;
    i32: Int32;
    i64: Int64;
    f32: Float32;
    f64: Float64;
    &'a str: Text;
    String: Text;
    &'a [u8]: Bytes;
    Vec<u8>: Bytes;
    Struct<'a>: Struct;
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_field_is_named() {
        let schema = Schema::record("P").field("x", Schema::int32());
        assert_eq!(Struct::new(&schema).with("z", 1).unwrap_err().to_string(), "P has no field `z`");
    }
}
