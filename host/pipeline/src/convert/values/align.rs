//! One schema for all elements of an array, keys of a map or values of a map.

use std::sync::Arc;

use bulkhead_model::value::{DataError, Logical, Schema, SchemaType, Value};

use super::number::{as_double, as_long};

/// What the elements so far have in common.
#[derive(Debug, Default)]
pub(super) enum Common {
    /// There was none but nulls.
    #[default]
    Unknown,
    Schema(Arc<Schema>),
    Nothing,
}

impl Common {
    /// Takes one more element into account; nulls fit everything.
    pub(super) fn merge(&mut self, element: Option<&Arc<Schema>>) {
        let Some(element) = element else { return };
        *self = match self {
            Self::Unknown => Self::Schema(element.clone()),
            Self::Schema(common) => merge(common, element).map_or(Self::Nothing, Self::Schema),
            Self::Nothing => return,
        };
    }

    pub(super) fn schema(self) -> Option<Arc<Schema>> {
        match self {
            Self::Schema(schema) => Some(schema),
            Self::Unknown | Self::Nothing => None,
        }
    }
}

/// Of two schemas of one type the later one, of two numeric ones the wider one.
fn merge(common: &Arc<Schema>, element: &Arc<Schema>) -> Option<Arc<Schema>> {
    if std::mem::discriminant(&common.kind) == std::mem::discriminant(&element.kind) {
        return Some(element.clone());
    }
    let (width, other) = (width(&common.kind)?, width(&element.kind)?);
    Some(if other > width { element.clone() } else { common.clone() })
}

fn width(kind: &SchemaType) -> Option<u8> {
    match kind {
        SchemaType::Int8 => Some(0),
        SchemaType::Int16 => Some(1),
        SchemaType::Int32 => Some(2),
        SchemaType::Int64 => Some(3),
        SchemaType::Float32 => Some(4),
        SchemaType::Float64 => Some(5),
        SchemaType::Boolean
        | SchemaType::String
        | SchemaType::Bytes
        | SchemaType::Array(_)
        | SchemaType::Map(_, _)
        | SchemaType::Struct(_) => None,
    }
}

/// Converts an element to the common schema. What is inside of an array or map stays as it is.
pub(super) fn align(value: Value, schema: &Schema) -> Result<Value, DataError> {
    match (Logical::of(schema), value) {
        (_, Value::Null) => Err(schema.null_where_required()),
        (Some(Logical::Date | Logical::Time | Logical::Timestamp), Value::Instant(millis)) => {
            Ok(Value::Instant(millis))
        }
        (Some(logical @ (Logical::Date | Logical::Time)), value) => {
            let raw = as_long(&value)? as i32;
            logical.instant_from_raw(raw.into()).map(Value::Instant)
        }
        (Some(Logical::Timestamp), value) => as_long(&value).map(Value::Instant),
        (Some(Logical::Decimal), value) => Ok(value),
        (None, value) => align_plain(value, &schema.kind),
    }
}

fn align_plain(value: Value, kind: &SchemaType) -> Result<Value, DataError> {
    Ok(match kind {
        SchemaType::Int8 => Value::Int8(as_long(&value)? as i8),
        SchemaType::Int16 => Value::Int16(as_long(&value)? as i16),
        SchemaType::Int32 => Value::Int32(as_long(&value)? as i32),
        SchemaType::Int64 => Value::Int64(as_long(&value)?),
        SchemaType::Float32 => Value::Float32(as_double(&value)? as f32),
        SchemaType::Float64 => Value::Float64(as_double(&value)?),
        SchemaType::Boolean
        | SchemaType::String
        | SchemaType::Bytes
        | SchemaType::Array(_)
        | SchemaType::Map(_, _)
        | SchemaType::Struct(_) => value,
    })
}
