use std::cell::Cell;
use std::rc::Rc;

use super::{Value, cbor};
use crate::{Result, host};

/// Types of schemas, in Connect's naming.
pub use crate::bindings::base::bulkhead::connect::types::SchemaType;

/// A Connect schema: cheap to clone, so build it once and keep it in the task.
///
/// ```
/// use bulkhead_sdk::prelude::*;
///
/// let order = Schema::record("org.example.Order")
///     .field("id", Schema::int64())
///     .field("placed", Schema::timestamp())
///     .field("total", Schema::decimal(2))
///     .field("note", Schema::text().optional());
/// # let _ = order;
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Schema(pub(super) Rc<Node>);

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub(super) kind: SchemaType,
    pub(super) optional: bool,
    pub(super) name: Option<String>,
    pub(super) version: Option<i32>,
    pub(super) doc: Option<String>,
    pub(super) parameters: Vec<(String, String)>,
    /// As it travels: CBOR under this very schema.
    pub(super) default: Option<Vec<u8>>,
    pub(super) key: Option<Schema>,
    pub(super) element: Option<Schema>,
    pub(super) fields: Vec<(String, Schema)>,
    pub(super) id: Number,
}

macro_rules! plain {
    ($($(#[$doc:meta])* $name:ident $kind:ident;)*) => {$(
        $(#[$doc])*
        pub fn $name() -> Self {
            Self::of(SchemaType::$kind)
        }
    )*};
}

impl Schema {
    plain! {
        /// 8-bit integers.
        int8 Int8;
        /// 16-bit integers.
        int16 Int16;
        /// 32-bit integers.
        int32 Int32;
        /// 64-bit integers.
        int64 Int64;
        /// 32-bit floats.
        float32 Float32;
        /// 64-bit floats.
        float64 Float64;
        /// True or false.
        boolean Boolean;
        /// Text; Connect's STRING.
        text Text;
        /// Bytes.
        bytes Bytes;
    }

    /// Lists of `element`.
    pub fn array(element: Self) -> Self {
        Self::of(SchemaType::Array).edit(|node| node.element = Some(element))
    }

    /// Maps from `key` to `value`.
    pub fn map(key: Self, value: Self) -> Self {
        Self::of(SchemaType::MapOf).edit(|node| (node.key, node.element) = (Some(key), Some(value)))
    }

    /// A struct of that name; add its fields by [`field`](Self::field).
    pub fn record(name: impl Into<String>) -> Self {
        Self::of(SchemaType::StructOf).name(name)
    }

    /// Numbers of any size with `scale` digits behind the point; a value is the unscaled number in bytes.
    pub fn decimal(scale: i32) -> Self {
        Self::bytes().logical("Decimal").parameter("scale", scale.to_string())
    }

    /// Days; a value is their number since 1970-01-01 as an int32.
    pub fn date() -> Self {
        Self::int32().logical("Date")
    }

    /// Times of day; a value is milliseconds since midnight as an int32.
    pub fn time() -> Self {
        Self::int32().logical("Time")
    }

    /// Points in time; a value is milliseconds since 1970 in UTC as an int64.
    pub fn timestamp() -> Self {
        Self::int64().logical("Timestamp")
    }

    /// The same, and null is a value.
    #[must_use]
    pub fn optional(self) -> Self {
        self.edit(|node| node.optional = true)
    }

    /// The same under a name.
    #[must_use]
    pub fn name(self, name: impl Into<String>) -> Self {
        self.edit(|node| node.name = Some(name.into()))
    }

    /// The same with a version.
    #[must_use]
    pub fn version(self, version: i32) -> Self {
        self.edit(|node| node.version = Some(version))
    }

    /// The same with a text for people.
    #[must_use]
    pub fn doc(self, doc: impl Into<String>) -> Self {
        self.edit(|node| node.doc = Some(doc.into()))
    }

    /// The same with a parameter.
    #[must_use]
    pub fn parameter(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.edit(|node| node.parameters.push((name.into(), value.into())))
    }

    /// The same with a field at the end; structs only.
    #[must_use]
    pub fn field(self, name: impl Into<String>, schema: Self) -> Self {
        self.edit(|node| node.fields.push((name.into(), schema)))
    }

    /// The same with a default. Fails if the value doesn't fit.
    pub fn default_value<'a>(self, value: impl Into<Value<'a>>) -> Result<Self> {
        let mut encoded = Vec::new();
        cbor::encode(Some(&self), &value.into(), &mut encoded)?;
        Ok(self.edit(|node| node.default = Some(encoded)))
    }

    /// Its type.
    pub fn kind(&self) -> SchemaType {
        self.0.kind
    }

    /// Whether null is a value.
    pub fn is_optional(&self) -> bool {
        self.0.optional
    }

    /// Its name, if it has one.
    pub fn get_name(&self) -> Option<&str> {
        self.0.name.as_deref()
    }

    /// The value of a parameter.
    pub fn get_parameter(&self, name: &str) -> Option<&str> {
        self.0.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The default, if there is one.
    pub fn get_default(&self) -> Option<Value<'_>> {
        self.0.default.as_deref().and_then(|encoded| cbor::decode(Some(self), encoded).ok())
    }

    /// The schema of a map's keys.
    pub fn key(&self) -> Option<&Self> {
        self.0.key.as_ref()
    }

    /// The schema of an array's elements or a map's values.
    pub fn element(&self) -> Option<&Self> {
        self.0.element.as_ref()
    }

    /// The fields of a struct, in order.
    pub fn fields(&self) -> &[(String, Self)] {
        &self.0.fields
    }

    /// The place of a struct's field.
    pub fn position(&self, field: &str) -> Option<usize> {
        self.0.fields.iter().position(|(name, _)| name == field)
    }

    /// Makes the schema known to the worker now. Not needed: it is done when a record is first written with it.
    pub fn register(&self) -> Result<()> {
        self.id().map(drop)
    }

    pub(crate) fn accepts_null(&self) -> bool {
        self.0.optional || self.0.default.is_some()
    }

    pub(super) fn is_decimal(&self) -> bool {
        self.kind() == SchemaType::Bytes && self.get_name() == Some("org.apache.kafka.connect.data.Decimal")
    }

    /// The worker's number for this schema; asks for it once.
    pub(crate) fn id(&self) -> Result<u32> {
        let Number(id) = &self.0.id;
        if id.get() == 0 {
            id.set(host::register_schema(&self.to_nodes())?);
        }
        Ok(id.get())
    }

    /// The worker has said its number of its own accord.
    pub(crate) fn set_id(&self, id: u32) {
        let Number(known) = &self.0.id;
        known.set(id);
    }

    fn of(kind: SchemaType) -> Self {
        Self(Rc::new(Node {
            kind,
            optional: false,
            name: None,
            version: None,
            doc: None,
            parameters: Vec::new(),
            default: None,
            key: None,
            element: None,
            fields: Vec::new(),
            id: Number::default(),
        }))
    }

    fn logical(self, name: &str) -> Self {
        self.name(format!("org.apache.kafka.connect.data.{name}")).version(1)
    }

    fn edit(self, change: impl FnOnce(&mut Node)) -> Self {
        let mut node = Rc::unwrap_or_clone(self.0);
        node.id = Number::default();
        change(&mut node);
        Self(Rc::new(node))
    }
}

/// The worker's number of a schema, 0 until it was asked; no part of what makes schemas equal.
#[derive(Clone, Debug, Default)]
pub(super) struct Number(Cell<u32>);

impl PartialEq for Number {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

/// What Connect calls a type, in small letters.
pub(super) fn type_name(kind: SchemaType) -> &'static str {
    match kind {
        SchemaType::Int8 => "int8",
        SchemaType::Int16 => "int16",
        SchemaType::Int32 => "int32",
        SchemaType::Int64 => "int64",
        SchemaType::Float32 => "float32",
        SchemaType::Float64 => "float64",
        SchemaType::Boolean => "boolean",
        SchemaType::Text => "string",
        SchemaType::Bytes => "bytes",
        SchemaType::Array => "array",
        SchemaType::MapOf => "map",
        SchemaType::StructOf => "struct",
    }
}
