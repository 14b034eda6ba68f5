//! Values to text. Schemas play no part, apart from the names and defaults of a struct's fields.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bulkhead_model::value::{DataError, Struct, Value, write_f32, write_f64};

use super::temporal;
use crate::convert::display::write_integer;

/// Whether a value stands alone or inside of another one, where texts need quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Alone,
    Inside,
}

/// The text of a value; none of null.
pub(crate) fn write(value: &Value) -> Result<Option<String>, DataError> {
    if value.is_null() {
        return Ok(None);
    }
    let mut text = String::new();
    write_at(value, Place::Alone, &mut text)?;
    Ok(Some(text))
}

fn write_at(value: &Value, place: Place, out: &mut String) -> Result<(), DataError> {
    match value {
        Value::Null => out.push_str("null"),
        Value::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Int8(value) => write_integer((*value).into(), out),
        Value::Int16(value) => write_integer((*value).into(), out),
        Value::Int32(value) => write_integer((*value).into(), out),
        Value::Int64(value) => write_integer(*value, out),
        Value::Float32(value) => write_f32(*value, out),
        Value::Float64(value) => write_f64(*value, out),
        Value::String(value) => write_text(value, place, out),
        Value::Bytes(value) => write_text(&STANDARD.encode(value), place, out),
        Value::Decimal(value) => out.push_str(&value.to_text()?),
        Value::Instant(value) => out.push_str(&temporal::format(*value)),
        Value::Array(items) => write_items(items, out)?,
        Value::Map(entries) => write_entries(entries, out)?,
        Value::Struct(value) => write_fields(value, out)?,
    }
    Ok(())
}

fn write_text(text: &str, place: Place, out: &mut String) {
    if place == Place::Alone {
        out.push_str(text);
        return;
    }
    out.push('"');
    for char in text.chars() {
        if matches!(char, '"' | '\\') {
            out.push('\\');
        }
        out.push(char);
    }
    out.push('"');
}

fn write_items(items: &[Value], out: &mut String) -> Result<(), DataError> {
    out.push('[');
    for (index, item) in items.iter().enumerate() {
        separate(index, out);
        write_at(item, Place::Inside, out)?;
    }
    out.push(']');
    Ok(())
}

fn write_entries(entries: &[(Value, Value)], out: &mut String) -> Result<(), DataError> {
    out.push('{');
    for (index, (key, value)) in entries.iter().enumerate() {
        separate(index, out);
        write_at(key, Place::Inside, out)?;
        out.push(':');
        write_at(value, Place::Inside, out)?;
    }
    out.push('}');
    Ok(())
}

fn write_fields(value: &Struct, out: &mut String) -> Result<(), DataError> {
    out.push('{');
    for (index, (field, value)) in value.fields_or_defaults().enumerate() {
        separate(index, out);
        write_text(&field.name, Place::Inside, out);
        out.push(':');
        write_at(value, Place::Inside, out)?;
    }
    out.push('}');
    Ok(())
}

fn separate(index: usize, out: &mut String) {
    if index > 0 {
        out.push(',');
    }
}
