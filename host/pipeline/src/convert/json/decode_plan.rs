//! What reading documents of a schema comes down to, worked out once for each schema.

use std::sync::Arc;

use bulkhead_model::value::{Field, Logical, Schema, SchemaType, Value};

use super::read::read_payload;
use super::settings::Settings;
use crate::cbor;

/// How documents of one schema are read.
#[derive(Debug)]
pub(super) struct DecodePlan {
    pub(super) schema: Option<Arc<Schema>>,
    /// The schema's text, as it stands in envelopes.
    pub(super) text: Box<[u8]>,
    pub(super) payload: Plan,
}

/// How a value is read.
#[derive(Debug)]
pub(super) struct Plan {
    /// CBOR of a null: that of null or of the default. None where null is not allowed.
    pub(super) null: Option<Box<[u8]>>,
    pub(super) shape: Shape,
}

#[derive(Debug)]
pub(super) enum Shape {
    /// Without a schema, whatever comes.
    Any,
    Boolean,
    /// An integer within these bounds, both included.
    Integer(i64, i64),
    Float32,
    Float64,
    Text,
    Bytes,
    /// Base64 of the unscaled number.
    Decimal,
    Array(Box<Plan>),
    /// An object as a map of such values.
    Members(Box<Plan>),
    Struct(Vec<Member>),
    /// Something rare that only a tree is read for.
    ByTree,
}

/// A field of a struct.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: Arc<str>,
    pub(super) plan: Plan,
}

impl DecodePlan {
    pub(super) fn new(schema: Option<Arc<Schema>>, text: &[u8], settings: &Settings) -> Self {
        let payload = Plan::new(schema.as_ref(), settings);
        Self { schema, text: text.into(), payload }
    }
}

impl Plan {
    fn new(schema: Option<&Arc<Schema>>, settings: &Settings) -> Self {
        let null = read_payload(None, schema, settings).ok().and_then(|value| null_as_cbor(&value, schema));
        Self { null, shape: schema.map_or(Shape::Any, |schema| Shape::of(schema, settings)) }
    }
}

fn null_as_cbor(value: &Value, schema: Option<&Arc<Schema>>) -> Option<Box<[u8]>> {
    let mut out = Vec::new();
    cbor::write(value, schema.map(|schema| &**schema), &mut out).ok()?;
    Some(out.into())
}

impl Shape {
    fn of(schema: &Schema, settings: &Settings) -> Self {
        if let Some(logical) = Logical::of(schema) {
            return Self::of_logical(logical, schema);
        }
        let part = |schema: Option<&Arc<Schema>>| Box::new(Plan::new(schema, settings));
        match &schema.kind {
            SchemaType::Boolean => Self::Boolean,
            SchemaType::Int8 => Self::Integer(i8::MIN.into(), i8::MAX.into()),
            SchemaType::Int16 => Self::Integer(i16::MIN.into(), i16::MAX.into()),
            SchemaType::Int32 => Self::Integer(i32::MIN.into(), i32::MAX.into()),
            SchemaType::Int64 => Self::Integer(i64::MIN, i64::MAX),
            SchemaType::Float32 => Self::Float32,
            SchemaType::Float64 => Self::Float64,
            SchemaType::String => Self::Text,
            SchemaType::Bytes => Self::Bytes,
            SchemaType::Array(item) => Self::Array(part(item.as_ref())),
            SchemaType::Map(Some(key), value) if key.kind == SchemaType::String && Logical::of(key).is_none() => {
                Self::Members(part(value.as_ref()))
            }
            SchemaType::Map(_, _) => Self::ByTree,
            SchemaType::Struct(fields) => Self::Struct(Member::all(fields, settings)),
        }
    }

    fn of_logical(logical: Logical, schema: &Schema) -> Self {
        match logical {
            Logical::Decimal if schema.decimal_scale().is_ok() => Self::Decimal,
            Logical::Date if schema.kind == SchemaType::Int32 => Self::Integer(i32::MIN.into(), i32::MAX.into()),
            Logical::Time => Self::Integer(0, 86_400_000),
            Logical::Timestamp => Self::Integer(i64::MIN, i64::MAX),
            Logical::Date | Logical::Decimal => Self::ByTree,
        }
    }
}

impl Member {
    fn all(fields: &[Field], settings: &Settings) -> Vec<Self> {
        let member = |field: &Field| Self { name: field.name.clone(), plan: Plan::new(Some(&field.schema), settings) };
        fields.iter().map(member).collect()
    }
}
