//! A tree of values to JSON.

use bulkhead_model::value::{Decimal, Logical, Schema, SchemaType, Struct, Value};

use super::settings::{DecimalFormat, Settings};
use super::text::{write_boolean, write_bytes, write_f32, write_f64, write_integer, write_string};
use crate::convert::ConvertError;

/// Appends the payload of a value. After an error the buffer holds part of it.
pub(super) fn write_payload(
    value: &Value,
    schema: Option<&Schema>,
    settings: &Settings,
    out: &mut Vec<u8>,
) -> Result<(), ConvertError> {
    match (value, schema) {
        (Value::Null, None) => out.extend_from_slice(b"null"),
        (Value::Null, Some(schema)) => return write_null(schema, settings, out),
        (value, Some(schema)) => return write_of_schema(value, schema, settings, out),
        (value, None) => return write_schemaless(value, settings, out),
    }
    Ok(())
}

fn write_null(schema: &Schema, settings: &Settings, out: &mut Vec<u8>) -> Result<(), ConvertError> {
    match schema.default.as_ref().filter(|default| !default.is_null()) {
        Some(default) if settings.replace_null_with_default => write_payload(default, Some(schema), settings, out),
        _ if schema.optional => {
            out.extend_from_slice(b"null");
            Ok(())
        }
        _ => Err(schema.null_where_required().into()),
    }
}

fn write_schemaless(value: &Value, settings: &Settings, out: &mut Vec<u8>) -> Result<(), ConvertError> {
    match value {
        Value::Array(items) => write_items(items, None, settings, out),
        Value::Map(entries) if entries.iter().all(|(key, _)| matches!(key, Value::String(_))) => {
            write_members(entries, None, None, settings, out)
        }
        Value::Map(entries) => write_pairs(entries, None, None, settings, out),
        Value::Decimal(_) | Value::Instant(_) | Value::Struct(_) => {
            Err(ConvertError::Data(format!("a value of type {} needs a schema", value.type_name())))
        }
        value => {
            write_scalar(value, out);
            Ok(())
        }
    }
}

fn write_of_schema(value: &Value, schema: &Schema, settings: &Settings, out: &mut Vec<u8>) -> Result<(), ConvertError> {
    if let Some(logical) = Logical::of(schema) {
        return write_rich(value, logical, schema, settings, out);
    }
    match (&schema.kind, value) {
        (SchemaType::Array(item), Value::Array(items)) => write_items(items, item.as_deref(), settings, out),
        (SchemaType::Map(key, of_value), Value::Map(entries)) => {
            let Some(key) = key.as_deref() else {
                return Err(ConvertError::Other("the map's schema names no key schema".to_owned()));
            };
            let write = if key.kind == SchemaType::String { write_members } else { write_pairs };
            write(entries, Some(key), of_value.as_deref(), settings, out)
        }
        (SchemaType::Struct(_), Value::Struct(value)) => write_fields(value, schema, settings, out),
        (SchemaType::Int8, Value::Int8(_))
        | (SchemaType::Int16, Value::Int16(_))
        | (SchemaType::Int32, Value::Int32(_))
        | (SchemaType::Int64, Value::Int64(_))
        | (SchemaType::Float32, Value::Float32(_))
        | (SchemaType::Float64, Value::Float64(_))
        | (SchemaType::Boolean, Value::Boolean(_))
        | (SchemaType::String, Value::String(_))
        | (SchemaType::Bytes, Value::Bytes(_)) => {
            write_scalar(value, out);
            Ok(())
        }
        _ => Err(mismatch(value, schema)),
    }
}

/// A value that is neither a container nor in need of a schema.
fn write_scalar(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Boolean(value) => write_boolean(*value, out),
        Value::Int8(value) => write_integer((*value).into(), out),
        Value::Int16(value) => write_integer((*value).into(), out),
        Value::Int32(value) => write_integer((*value).into(), out),
        Value::Int64(value) => write_integer(*value, out),
        Value::Float32(value) => write_f32(*value, out),
        Value::Float64(value) => write_f64(*value, out),
        Value::String(value) => write_string(value, out),
        Value::Bytes(value) => write_bytes(value, out),
        Value::Null | Value::Decimal(_) | Value::Instant(_) | Value::Array(_) | Value::Map(_) | Value::Struct(_) => {
            out.extend_from_slice(b"null")
        }
    }
}

fn write_rich(
    value: &Value,
    logical: Logical,
    schema: &Schema,
    settings: &Settings,
    out: &mut Vec<u8>,
) -> Result<(), ConvertError> {
    match (logical, value) {
        (Logical::Decimal, Value::Decimal(decimal)) => write_decimal(decimal, schema, settings, out),
        (Logical::Date | Logical::Time | Logical::Timestamp, Value::Instant(millis)) => {
            write_integer(logical.instant_to_raw(*millis)?, out);
            Ok(())
        }
        _ => Err(mismatch(value, schema)),
    }
}

/// As a number the scale is the value's own; as base64 it has to be the schema's.
fn write_decimal(
    decimal: &Decimal,
    schema: &Schema,
    settings: &Settings,
    out: &mut Vec<u8>,
) -> Result<(), ConvertError> {
    match settings.decimals {
        DecimalFormat::Numeric => out.extend_from_slice(decimal.to_text()?.as_bytes()),
        DecimalFormat::Base64 if schema.parameters.is_none() => {
            return Err(ConvertError::Other("a Decimal schema has no parameters".to_owned()));
        }
        DecimalFormat::Base64 => write_bytes(decimal.unscaled_for(schema.decimal_scale()?)?, out),
    }
    Ok(())
}

fn write_items(
    items: &[Value],
    schema: Option<&Schema>,
    settings: &Settings,
    out: &mut Vec<u8>,
) -> Result<(), ConvertError> {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        separate(index, out);
        write_payload(item, schema, settings, out)?;
    }
    out.push(b']');
    Ok(())
}

/// A map as an object; a null key becomes the text `null`.
fn write_members(
    entries: &[(Value, Value)],
    key_schema: Option<&Schema>,
    value_schema: Option<&Schema>,
    settings: &Settings,
    out: &mut Vec<u8>,
) -> Result<(), ConvertError> {
    out.push(b'{');
    for (index, (key, value)) in entries.iter().enumerate() {
        separate(index, out);
        let start = out.len();
        write_payload(key, key_schema, settings, out)?;
        if out.get(start) != Some(&b'"') {
            out.insert(start, b'"');
            out.push(b'"');
        }
        out.push(b':');
        write_payload(value, value_schema, settings, out)?;
    }
    out.push(b'}');
    Ok(())
}

/// A map as an array of pairs.
fn write_pairs(
    entries: &[(Value, Value)],
    key_schema: Option<&Schema>,
    value_schema: Option<&Schema>,
    settings: &Settings,
    out: &mut Vec<u8>,
) -> Result<(), ConvertError> {
    out.push(b'[');
    for (index, (key, value)) in entries.iter().enumerate() {
        separate(index, out);
        out.push(b'[');
        write_payload(key, key_schema, settings, out)?;
        out.push(b',');
        write_payload(value, value_schema, settings, out)?;
        out.push(b']');
    }
    out.push(b']');
    Ok(())
}

fn write_fields(value: &Struct, schema: &Schema, settings: &Settings, out: &mut Vec<u8>) -> Result<(), ConvertError> {
    if !std::ptr::eq(&*value.schema, schema) && *value.schema != *schema {
        return Err(ConvertError::Data(format!("the struct's schema is not that of {}", schema.describe())));
    }
    out.push(b'{');
    for (index, (field, value)) in value.fields().enumerate() {
        separate(index, out);
        write_string(&field.name, out);
        out.push(b':');
        write_payload(value, Some(&field.schema), settings, out)
            .map_err(|error| error.at(&format!("field `{}`", field.name)))?;
    }
    out.push(b'}');
    Ok(())
}

pub(super) fn separate(index: usize, out: &mut Vec<u8>) {
    if index > 0 {
        out.push(b',');
    }
}

fn mismatch(value: &Value, schema: &Schema) -> ConvertError {
    let (found, expected) = (value.type_name(), schema.describe());
    ConvertError::Data(format!("a value of type {found} was found where {expected} is expected"))
}
