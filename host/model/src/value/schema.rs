//! Schemas. Equality compares everything, field order and `doc` included, as Connect does.

use std::sync::Arc;

use super::Value;

/// Names of the logical types; each sits on a base type and is recognised by name alone.
pub mod logical {
    /// On BYTES, with the parameter `scale`.
    pub const DECIMAL: &str = "org.apache.kafka.connect.data.Decimal";
    /// On INT32: days since 1970.
    pub const DATE: &str = "org.apache.kafka.connect.data.Date";
    /// On INT32: milliseconds of the day.
    pub const TIME: &str = "org.apache.kafka.connect.data.Time";
    /// On INT64: milliseconds since 1970.
    pub const TIMESTAMP: &str = "org.apache.kafka.connect.data.Timestamp";
}

#[derive(Clone, Debug, PartialEq)]
pub struct Schema {
    pub kind: SchemaType,
    pub optional: bool,
    pub name: Option<Arc<str>>,
    pub version: Option<i32>,
    pub doc: Option<Arc<str>>,
    /// In order; `None` if they were never set, which isn't the same as empty.
    pub parameters: Option<Parameters>,
    pub default: Option<Value>,
}

/// Texts by name, in order.
pub type Parameters = Vec<(Arc<str>, Arc<str>)>;

/// The type, with what it is made of. Item, key and value schemas may be absent: Connect's parser of
/// header texts makes such schemas.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaType {
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    Boolean,
    String,
    Bytes,
    Array(Option<Arc<Schema>>),
    Map(Option<Arc<Schema>>, Option<Arc<Schema>>),
    Struct(Vec<Field>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: Arc<str>,
    pub schema: Arc<Schema>,
}

impl Schema {
    pub fn required(kind: SchemaType) -> Self {
        Self { kind, optional: false, name: None, version: None, doc: None, parameters: None, default: None }
    }

    pub fn optional(kind: SchemaType) -> Self {
        Self { optional: true, ..Self::required(kind) }
    }

    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.as_ref()?.iter().find(|(key, _)| &**key == name).map(|(_, value)| &**value)
    }

    pub fn fields(&self) -> &[Field] {
        match &self.kind {
            SchemaType::Struct(fields) => fields,
            SchemaType::Int8
            | SchemaType::Int16
            | SchemaType::Int32
            | SchemaType::Int64
            | SchemaType::Float32
            | SchemaType::Float64
            | SchemaType::Boolean
            | SchemaType::String
            | SchemaType::Bytes
            | SchemaType::Array(_)
            | SchemaType::Map(_, _) => &[],
        }
    }

    pub fn field_index(&self, name: &str) -> Option<usize> {
        self.fields().iter().position(|field| &*field.name == name)
    }

    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields().iter().find(|field| &*field.name == name)
    }

    /// `value`, or this schema's default in place of a null.
    pub fn or_default<'a>(&'a self, value: &'a Value) -> &'a Value {
        match (value, &self.default) {
            (Value::Null, Some(default)) => default,
            _ => value,
        }
    }
}

impl SchemaType {
    /// Connect's name of the type.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Int8 => "INT8",
            Self::Int16 => "INT16",
            Self::Int32 => "INT32",
            Self::Int64 => "INT64",
            Self::Float32 => "FLOAT32",
            Self::Float64 => "FLOAT64",
            Self::Boolean => "BOOLEAN",
            Self::String => "STRING",
            Self::Bytes => "BYTES",
            Self::Array(_) => "ARRAY",
            Self::Map(_, _) => "MAP",
            Self::Struct(_) => "STRUCT",
        }
    }
}
