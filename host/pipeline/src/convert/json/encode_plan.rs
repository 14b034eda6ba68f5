//! What writing values of a schema comes down to, worked out once for each schema.

use std::sync::Arc;

use bulkhead_model::value::{Field, Logical, Schema, SchemaType};

use super::settings::{DecimalFormat, Settings};
use super::text::write_string;
use super::write::write_payload;
use super::write_schema::write_schema;
use crate::convert::ConvertError;
use bulkhead_model::value::Value;

/// Everything about the documents of one schema that doesn't depend on the value.
#[derive(Debug)]
pub(super) struct EncodePlan {
    /// The schema itself: as long as it is held here, its address belongs to no other.
    _schema: Option<Arc<Schema>>,
    /// What stands before the payload: the envelope up to it, or nothing.
    pub(super) before: Box<[u8]>,
    pub(super) payload: Plan,
}

/// How a value is written.
#[derive(Debug)]
pub(super) struct Plan {
    /// JSON of a null: `null` or the default. None where null is not allowed.
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
    /// The unscaled number as base64.
    Decimal,
    Array(Box<Plan>),
    /// A map as an object: text keys, values of this plan.
    Members(Box<Plan>),
    /// A map as pairs of key and value.
    Pairs(Box<(Plan, Plan)>),
    Struct(Vec<Member>),
    /// Something rare that only a tree of values is written for.
    ByTree,
}

/// A field of a struct.
#[derive(Debug)]
pub(super) struct Member {
    /// What stands before the value: brace or comma, name and colon.
    pub(super) before: Box<[u8]>,
    pub(super) plan: Plan,
}

/// The values that a Time can have.
const TIME: Shape = Shape::Integer(0, 86_400_000);

impl EncodePlan {
    pub(super) fn new(schema: Option<&Arc<Schema>>, settings: &Settings) -> Result<Self, ConvertError> {
        let mut before = Vec::new();
        if settings.schemas_enabled {
            before.extend_from_slice(b"{\"schema\":");
            write_schema(schema.map(|schema| &**schema), settings, &mut before)?;
            before.extend_from_slice(b",\"payload\":");
        }
        Ok(Self {
            _schema: schema.cloned(),
            before: before.into(),
            payload: Plan::new(schema.map(|schema| &**schema), settings),
        })
    }
}

impl Plan {
    fn new(schema: Option<&Schema>, settings: &Settings) -> Self {
        let mut null = Vec::new();
        let null_is_fine = write_payload(&Value::Null, schema, settings, &mut null).is_ok();
        Self {
            null: null_is_fine.then(|| null.into()),
            shape: schema.map_or(Shape::Any, |schema| Shape::of(schema, settings)),
        }
    }

    fn part(schema: Option<&Arc<Schema>>, settings: &Settings) -> Box<Self> {
        Box::new(Self::new(schema.map(|schema| &**schema), settings))
    }
}

impl Shape {
    fn of(schema: &Schema, settings: &Settings) -> Self {
        if let Some(logical) = Logical::of(schema) {
            return Self::of_logical(logical, schema, settings);
        }
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
            SchemaType::Array(item) => Self::Array(Plan::part(item.as_ref(), settings)),
            SchemaType::Map(None, _) => Self::ByTree,
            SchemaType::Map(Some(key), value) if key.kind == SchemaType::String => match Logical::of(key) {
                None => Self::Members(Plan::part(value.as_ref(), settings)),
                Some(_) => Self::ByTree,
            },
            SchemaType::Map(Some(key), value) => {
                let value = Plan::new(value.as_deref(), settings);
                Self::Pairs(Box::new((Plan::new(Some(key), settings), value)))
            }
            SchemaType::Struct(fields) => Self::Struct(Member::all(fields, settings)),
        }
    }

    fn of_logical(logical: Logical, schema: &Schema, settings: &Settings) -> Self {
        match (logical, &schema.kind, settings.decimals) {
            (Logical::Decimal, _, DecimalFormat::Base64) if schema.decimal_scale().is_ok() => Self::Decimal,
            (Logical::Date, SchemaType::Int32, _) => Self::Integer(i32::MIN.into(), i32::MAX.into()),
            (Logical::Time, _, _) => TIME,
            (Logical::Timestamp, _, _) => Self::Integer(i64::MIN, i64::MAX),
            (Logical::Date | Logical::Decimal, _, _) => Self::ByTree,
        }
    }
}

impl Member {
    fn all(fields: &[Field], settings: &Settings) -> Vec<Self> {
        let member = |(index, field): (usize, &Field)| {
            let mut before = vec![if index == 0 { b'{' } else { b',' }];
            write_string(&field.name, &mut before);
            before.push(b':');
            Self { before: before.into(), plan: Plan::new(Some(&field.schema), settings) }
        };
        fields.iter().enumerate().map(member).collect()
    }
}
