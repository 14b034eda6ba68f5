//! Numbers among texts, and numbers made from values.

use std::sync::Arc;

use bulkhead_model::value::{DataError, Number, Schema, Value};

use super::{SCHEMAS, decimal_schema};

/// The smallest type that holds a text's number: integers if it is whole, then floats, then a Decimal.
pub(super) fn parse(text: &str) -> Option<(Arc<Schema>, Value)> {
    let number = Number::parse(text).ok()?;
    Some(match number.to_i64() {
        Some(whole) => integer(whole),
        None => real(&number),
    })
}

fn integer(number: i64) -> (Arc<Schema>, Value) {
    if let Ok(number) = i8::try_from(number) {
        (SCHEMAS.int8.clone(), Value::Int8(number))
    } else if let Ok(number) = i16::try_from(number) {
        (SCHEMAS.int16.clone(), Value::Int16(number))
    } else if let Ok(number) = i32::try_from(number) {
        (SCHEMAS.int32.clone(), Value::Int32(number))
    } else {
        (SCHEMAS.int64.clone(), Value::Int64(number))
    }
}

/// A float takes precedence even if it has fewer digits than the text.
fn real(number: &Number) -> (Arc<Schema>, Value) {
    let (float, double) = (number.to_f32(), number.to_f64());
    if number.scale() != 0 && float.is_finite() {
        (SCHEMAS.float32.clone(), Value::Float32(float))
    } else if number.scale() != 0 && double.is_finite() {
        (SCHEMAS.float64.clone(), Value::Float64(double))
    } else {
        (decimal_schema(number.scale()), Value::Decimal(number.to_decimal()))
    }
}

/// The low 64 bits of a number, or of the number that a string says.
pub(crate) fn as_long(value: &Value) -> Result<i64, DataError> {
    Ok(match value {
        Value::Int8(number) => (*number).into(),
        Value::Int16(number) => (*number).into(),
        Value::Int32(number) => (*number).into(),
        Value::Int64(number) => *number,
        // As Java does: cut, and bounded.
        Value::Float32(number) => *number as i64,
        Value::Float64(number) => *number as i64,
        Value::Decimal(number) => number.to_number()?.low_bits(),
        Value::String(text) => Number::parse(text)?.low_bits(),
        Value::Null
        | Value::Boolean(_)
        | Value::Bytes(_)
        | Value::Instant(_)
        | Value::Array(_)
        | Value::Map(_)
        | Value::Struct(_) => return Err(not_a_number(value)),
    })
}

/// The nearest double.
pub(crate) fn as_double(value: &Value) -> Result<f64, DataError> {
    Ok(match value {
        Value::Int8(number) => (*number).into(),
        Value::Int16(number) => (*number).into(),
        Value::Int32(number) => (*number).into(),
        Value::Int64(number) => *number as f64,
        Value::Float32(number) => (*number).into(),
        Value::Float64(number) => *number,
        Value::Decimal(number) => number.to_number()?.to_f64(),
        Value::String(text) => Number::parse(text)?.to_f64(),
        Value::Null
        | Value::Boolean(_)
        | Value::Bytes(_)
        | Value::Instant(_)
        | Value::Array(_)
        | Value::Map(_)
        | Value::Struct(_) => return Err(not_a_number(value)),
    })
}

fn not_a_number(value: &Value) -> DataError {
    DataError(format!("a value of type {} is no number", value.type_name()))
}
