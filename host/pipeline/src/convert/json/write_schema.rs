//! A schema to JSON.

use std::sync::Arc;

use bulkhead_model::value::{Field, Schema, SchemaType};

use super::settings::Settings;
use super::text::{write_boolean, write_integer, write_string};
use super::write::{separate, write_payload};
use crate::convert::ConvertError;

/// Appends a schema; none is `null`.
pub(super) fn write_schema(
    schema: Option<&Schema>,
    settings: &Settings,
    out: &mut Vec<u8>,
) -> Result<(), ConvertError> {
    match schema {
        Some(schema) => write_node(schema, None, settings, out),
        None => {
            out.extend_from_slice(b"null");
            Ok(())
        }
    }
}

/// One schema; inside a struct it ends with the field's name.
fn write_node(
    schema: &Schema,
    field: Option<&str>,
    settings: &Settings,
    out: &mut Vec<u8>,
) -> Result<(), ConvertError> {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(type_name(&schema.kind).as_bytes());
    out.push(b'"');
    write_parts(&schema.kind, settings, out)?;
    out.extend_from_slice(b",\"optional\":");
    write_boolean(schema.optional, out);
    write_text("name", schema.name.as_deref(), out);
    if let Some(version) = schema.version {
        out.extend_from_slice(b",\"version\":");
        write_integer(version.into(), out);
    }
    write_text("doc", schema.doc.as_deref(), out);
    if let Some(parameters) = &schema.parameters {
        write_parameters(parameters, out);
    }
    if let Some(default) = &schema.default {
        out.extend_from_slice(b",\"default\":");
        write_payload(default, Some(schema), settings, out)?;
    }
    write_text("field", field, out);
    out.push(b'}');
    Ok(())
}

/// The schemas that a type is made of.
fn write_parts(kind: &SchemaType, settings: &Settings, out: &mut Vec<u8>) -> Result<(), ConvertError> {
    match kind {
        SchemaType::Array(item) => write_part("items", item.as_ref(), settings, out),
        SchemaType::Map(key, value) => {
            write_part("keys", key.as_ref(), settings, out)?;
            write_part("values", value.as_ref(), settings, out)
        }
        SchemaType::Struct(fields) => write_fields(fields, settings, out),
        SchemaType::Int8
        | SchemaType::Int16
        | SchemaType::Int32
        | SchemaType::Int64
        | SchemaType::Float32
        | SchemaType::Float64
        | SchemaType::Boolean
        | SchemaType::String
        | SchemaType::Bytes => Ok(()),
    }
}

fn write_part(
    key: &str,
    schema: Option<&Arc<Schema>>,
    settings: &Settings,
    out: &mut Vec<u8>,
) -> Result<(), ConvertError> {
    write_key(key, out);
    write_schema(schema.map(|schema| &**schema), settings, out)
}

fn write_fields(fields: &[Field], settings: &Settings, out: &mut Vec<u8>) -> Result<(), ConvertError> {
    write_key("fields", out);
    out.push(b'[');
    for (index, field) in fields.iter().enumerate() {
        separate(index, out);
        write_node(&field.schema, Some(&field.name), settings, out)?;
    }
    out.push(b']');
    Ok(())
}

fn write_parameters(parameters: &[(Arc<str>, Arc<str>)], out: &mut Vec<u8>) {
    write_key("parameters", out);
    out.push(b'{');
    for (index, (key, value)) in parameters.iter().enumerate() {
        separate(index, out);
        write_string(key, out);
        out.push(b':');
        write_string(value, out);
    }
    out.push(b'}');
}

fn write_text(key: &str, text: Option<&str>, out: &mut Vec<u8>) {
    if let Some(text) = text {
        write_key(key, out);
        write_string(text, out);
    }
}

fn write_key(key: &str, out: &mut Vec<u8>) {
    out.push(b',');
    write_string(key, out);
    out.push(b':');
}

/// JSON's names of types; two differ from Connect's own.
pub(super) fn type_name(kind: &SchemaType) -> &'static str {
    match kind {
        SchemaType::Int8 => "int8",
        SchemaType::Int16 => "int16",
        SchemaType::Int32 => "int32",
        SchemaType::Int64 => "int64",
        SchemaType::Float32 => "float",
        SchemaType::Float64 => "double",
        SchemaType::Boolean => "boolean",
        SchemaType::String => "string",
        SchemaType::Bytes => "bytes",
        SchemaType::Array(_) => "array",
        SchemaType::Map(_, _) => "map",
        SchemaType::Struct(_) => "struct",
    }
}
