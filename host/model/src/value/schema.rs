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
    pub parameters: Option<Vec<(Arc<str>, Arc<str>)>>,
    pub default: Option<Value>,
}

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
        Self {
            kind,
            optional: false,
            name: None,
            version: None,
            doc: None,
            parameters: None,
            default: None,
        }
    }

    pub fn optional(kind: SchemaType) -> Self {
        Self {
            optional: true,
            ..Self::required(kind)
        }
    }

    pub fn named(mut self, name: &str) -> Self {
        self.name = Some(name.into());
        self
    }

    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters
            .as_ref()?
            .iter()
            .find(|(key, _)| &**key == name)
            .map(|(_, value)| &**value)
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
}
