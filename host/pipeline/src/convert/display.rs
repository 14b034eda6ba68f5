//! What Java's `toString` makes of a value.

use std::fmt::Write as _;

use bulkhead_model::value::time::{DateFormat, IllegalPattern};
use bulkhead_model::value::{DataError, Struct, Value, write_f32, write_f64};

/// As `java.util.Date` prints itself.
const DATE_PATTERN: &str = "EEE MMM dd HH:mm:ss z yyyy";

/// Writes values as StringConverter does. Schemas play no part.
#[derive(Debug)]
pub(super) struct Display {
    date: DateFormat,
}

impl Display {
    pub(super) fn new() -> Result<Self, IllegalPattern> {
        Ok(Self { date: DateFormat::new(DATE_PATTERN)? })
    }

    /// Appends the text of a value.
    pub(super) fn write(&self, value: &Value, out: &mut String) -> Result<(), DataError> {
        match value {
            Value::Null => out.push_str("null"),
            Value::Boolean(value) => out.push_str(if *value { "true" } else { "false" }),
            Value::Int8(value) => write_integer((*value).into(), out),
            Value::Int16(value) => write_integer((*value).into(), out),
            Value::Int32(value) => write_integer((*value).into(), out),
            Value::Int64(value) => write_integer(*value, out),
            Value::Float32(value) => write_f32(*value, out),
            Value::Float64(value) => write_f64(*value, out),
            Value::String(value) => out.push_str(value),
            // Java prints where the array lies in memory; its length at least means something.
            Value::Bytes(value) => out.push_str(&format!("[{} bytes]", value.len())),
            Value::Decimal(value) => out.push_str(&value.to_text()?),
            Value::Instant(value) => out.push_str(&self.date.format(*value)),
            Value::Array(items) => self.items(items, out)?,
            Value::Map(entries) => self.entries(entries, out)?,
            Value::Struct(value) => self.fields(value, out)?,
        }
        Ok(())
    }

    fn items(&self, items: &[Value], out: &mut String) -> Result<(), DataError> {
        out.push('[');
        for (index, item) in items.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { ", " });
            self.write(item, out)?;
        }
        out.push(']');
        Ok(())
    }

    fn entries(&self, entries: &[(Value, Value)], out: &mut String) -> Result<(), DataError> {
        out.push('{');
        for (index, (key, value)) in entries.iter().enumerate() {
            out.push_str(if index == 0 { "" } else { ", " });
            self.write(key, out)?;
            out.push('=');
            self.write(value, out)?;
        }
        out.push('}');
        Ok(())
    }

    /// Fields that are null are left out.
    fn fields(&self, value: &Struct, out: &mut String) -> Result<(), DataError> {
        out.push_str("Struct{");
        let set = value.fields().filter(|(_, value)| !value.is_null());
        for (index, (field, value)) in set.enumerate() {
            out.push_str(if index == 0 { "" } else { "," });
            out.push_str(&field.name);
            out.push('=');
            self.write(value, out)?;
        }
        out.push('}');
        Ok(())
    }
}

pub(super) fn write_integer(value: i64, out: &mut String) {
    // Writing to a String cannot fail.
    let _ = write!(out, "{value}");
}
