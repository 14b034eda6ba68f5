//! A tree of values to CBOR.

use std::sync::Arc;

use bulkhead_model::value::{Logical, Schema, SchemaType, Struct, Value};

use super::decode::has_text_keys;
use super::{MAX_DEPTH, Malformed, Writer};
use crate::convert::ConvertError;

/// Appends `value` to `out`. On an error the buffer holds part of an item.
pub fn write(value: &Value, schema: Option<&Schema>, out: &mut Vec<u8>) -> Result<(), ConvertError> {
    write_value(value, schema, &mut Writer::new(out), 0)
}

fn write_value(value: &Value, schema: Option<&Schema>, out: &mut Writer<'_>, depth: usize) -> Result<(), ConvertError> {
    match schema {
        Some(schema) => of_schema(value, schema, out, depth),
        None => schemaless(value, out, depth),
    }
}

fn schemaless(value: &Value, out: &mut Writer<'_>, depth: usize) -> Result<(), ConvertError> {
    match value {
        Value::Null => out.null(),
        Value::Boolean(value) => out.boolean(*value),
        Value::Int8(value) => out.tagged_int8(*value),
        Value::Int16(value) => out.tagged_int16(*value),
        Value::Int32(value) => out.tagged_int32(*value),
        Value::Int64(value) => out.integer(*value),
        Value::Float32(value) => out.float32(*value),
        Value::Float64(value) => out.float64(*value),
        Value::String(value) => out.text(value),
        Value::Bytes(value) => out.bytes(value),
        Value::Array(items) => return write_items(items, None, out, depth),
        Value::Map(entries) => return write_entries(entries, None, None, out, depth),
        Value::Decimal(_) | Value::Instant(_) | Value::Struct(_) => {
            return Err(ConvertError::Data(format!("a value of type {} needs a schema", value.type_name())));
        }
    }
    Ok(())
}

fn of_schema(value: &Value, schema: &Schema, out: &mut Writer<'_>, depth: usize) -> Result<(), ConvertError> {
    if value.is_null() {
        if !schema.optional && schema.default.is_none() {
            return Err(schema.null_where_required().into());
        }
        out.null();
        return Ok(());
    }
    if let Some(logical) = Logical::of(schema) {
        return rich(value, logical, schema, out);
    }
    match (&schema.kind, value) {
        (SchemaType::Int8, Value::Int8(value)) => out.integer((*value).into()),
        (SchemaType::Int16, Value::Int16(value)) => out.integer((*value).into()),
        (SchemaType::Int32, Value::Int32(value)) => out.integer((*value).into()),
        (SchemaType::Int64, Value::Int64(value)) => out.integer(*value),
        (SchemaType::Float32, Value::Float32(value)) => out.float32(*value),
        (SchemaType::Float64, Value::Float64(value)) => out.float64(*value),
        (SchemaType::Boolean, Value::Boolean(value)) => out.boolean(*value),
        (SchemaType::String, Value::String(value)) => out.text(value),
        (SchemaType::Bytes, Value::Bytes(value)) => out.bytes(value),
        (SchemaType::Array(item), Value::Array(items)) => return write_items(items, item.as_ref(), out, depth),
        (SchemaType::Map(key, value), Value::Map(entries)) => {
            let write = if has_text_keys(key.as_deref()) { write_entries } else { write_pairs };
            return write(entries, key.as_ref(), value.as_ref(), out, depth);
        }
        (SchemaType::Struct(_), Value::Struct(value)) => return write_fields(value, schema, out, depth),
        _ => return Err(mismatch(value, schema)),
    }
    Ok(())
}

/// A Decimal whose scale is not the schema's is brought to it, as long as no digit is lost.
fn rich(value: &Value, logical: Logical, schema: &Schema, out: &mut Writer<'_>) -> Result<(), ConvertError> {
    match (logical, value) {
        (Logical::Decimal, Value::Decimal(decimal)) => {
            out.bytes(&decimal.with_scale(schema.decimal_scale()?)?.unscaled);
        }
        (Logical::Date | Logical::Time | Logical::Timestamp, Value::Instant(millis)) => {
            out.integer(logical.instant_to_raw(*millis)?);
        }
        _ => return Err(mismatch(value, schema)),
    }
    Ok(())
}

fn write_items(
    items: &[Value],
    schema: Option<&Arc<Schema>>,
    out: &mut Writer<'_>,
    depth: usize,
) -> Result<(), ConvertError> {
    let depth = descend(depth)?;
    out.array(items.len());
    items.iter().try_for_each(|item| write_value(item, schema.map(|schema| &**schema), out, depth))
}

fn write_entries(
    entries: &[(Value, Value)],
    key_schema: Option<&Arc<Schema>>,
    value_schema: Option<&Arc<Schema>>,
    out: &mut Writer<'_>,
    depth: usize,
) -> Result<(), ConvertError> {
    let depth = descend(depth)?;
    out.map(entries.len());
    entries.iter().try_for_each(|(key, value)| {
        write_value(key, key_schema.map(|schema| &**schema), out, depth)?;
        write_value(value, value_schema.map(|schema| &**schema), out, depth)
    })
}

fn write_pairs(
    entries: &[(Value, Value)],
    key_schema: Option<&Arc<Schema>>,
    value_schema: Option<&Arc<Schema>>,
    out: &mut Writer<'_>,
    depth: usize,
) -> Result<(), ConvertError> {
    let depth = descend(descend(depth)?)?;
    out.array(entries.len());
    entries.iter().try_for_each(|(key, value)| {
        out.array(2);
        write_value(key, key_schema.map(|schema| &**schema), out, depth)?;
        write_value(value, value_schema.map(|schema| &**schema), out, depth)
    })
}

fn write_fields(value: &Struct, schema: &Schema, out: &mut Writer<'_>, depth: usize) -> Result<(), ConvertError> {
    if !std::ptr::eq(&*value.schema, schema) && *value.schema != *schema {
        return Err(ConvertError::Data(format!("the struct's schema is not that of {}", schema.describe())));
    }
    let depth = descend(depth)?;
    out.array(value.values.len());
    value.fields().try_for_each(|(field, value)| {
        write_value(value, Some(&field.schema), out, depth)
            .map_err(|error| error.at(&format!("field `{}`", field.name)))
    })
}

/// The level of a container's items.
fn descend(depth: usize) -> Result<usize, ConvertError> {
    if depth == MAX_DEPTH { Err(Malformed::TooDeep.into()) } else { Ok(depth + 1) }
}

fn mismatch(value: &Value, schema: &Schema) -> ConvertError {
    ConvertError::Data(format!(
        "a value of type {} was found where {} is expected",
        value.type_name(),
        schema.describe()
    ))
}
