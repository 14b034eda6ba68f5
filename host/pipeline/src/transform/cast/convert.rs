//! One value to another primitive type, by Java's rules.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bulkhead_model::value::{Logical, Number, Schema, SchemaType, Value};

use super::parse::parse_double;
use crate::convert::{ConvertError, values};

/// A type that values can be cast to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    Int8,
    Int16,
    Int32,
    Int64,
    Float32,
    Float64,
    Boolean,
    String,
}

impl Target {
    /// By its name, in any case.
    pub(super) fn named(name: &str) -> Result<Self, ConvertError> {
        Ok(match name.to_ascii_lowercase().as_str() {
            "int8" => Self::Int8,
            "int16" => Self::Int16,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "float32" => Self::Float32,
            "float64" => Self::Float64,
            "boolean" => Self::Boolean,
            "string" => Self::String,
            _ => return Err(ConvertError::Config(format!("values cannot be cast to `{name}`"))),
        })
    }

    pub(super) fn schema_type(self) -> SchemaType {
        match self {
            Self::Int8 => SchemaType::Int8,
            Self::Int16 => SchemaType::Int16,
            Self::Int32 => SchemaType::Int32,
            Self::Int64 => SchemaType::Int64,
            Self::Float32 => SchemaType::Float32,
            Self::Float64 => SchemaType::Float64,
            Self::Boolean => SchemaType::Boolean,
            Self::String => SchemaType::String,
        }
    }
}

/// The value as another type; null stays null.
pub(super) fn cast(value: &Value, schema: Option<&Schema>, target: Target) -> Result<Value, ConvertError> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    check_source(value, schema)?;
    if target == Target::String {
        return to_string(value);
    }
    let raw = raw(value, schema)?;
    let value = &raw;
    Ok(match target {
        Target::Int8 => Value::Int8(integer(value, |text| text.parse().ok().map(|number: i8| number.into()))? as i8),
        Target::Int16 => {
            Value::Int16(integer(value, |text| text.parse().ok().map(|number: i16| number.into()))? as i16)
        }
        Target::Int32 => {
            Value::Int32(integer(value, |text| text.parse().ok().map(|number: i32| number.into()))? as i32)
        }
        Target::Int64 => Value::Int64(long(value)?),
        Target::Float32 => Value::Float32(float(value)?),
        Target::Float64 => Value::Float64(double(value)?),
        Target::Boolean => Value::Boolean(boolean(value)?),
        Target::String => to_string(value)?,
    })
}

/// Without a schema, only what has one type for sure can be cast.
fn check_source(value: &Value, schema: Option<&Schema>) -> Result<(), ConvertError> {
    let castable = match (value, schema) {
        (Value::Array(_) | Value::Map(_) | Value::Struct(_), _) => false,
        (Value::Decimal(_) | Value::Instant(_), schema) => schema.is_some(),
        _ => true,
    };
    if castable {
        return Ok(());
    }
    Err(ConvertError::Data(format!("a value of type {} cannot be cast", value.type_name())))
}

/// Instants become the numbers that they are on the wire.
fn raw(value: &Value, schema: Option<&Schema>) -> Result<Value, ConvertError> {
    match (value, schema.and_then(Logical::of)) {
        (Value::Instant(millis), Some(logical @ (Logical::Date | Logical::Time))) => {
            Ok(Value::Int32(logical.instant_to_raw(*millis)? as i32))
        }
        (Value::Instant(millis), _) => Ok(Value::Int64(*millis)),
        (value, _) => Ok(value.clone()),
    }
}

/// To at most 32 bits: floats by way of an int, so that they are bounded by it. The caller cuts to size.
fn integer(value: &Value, parse: impl Fn(&str) -> Option<i64>) -> Result<i64, ConvertError> {
    Ok(match value {
        Value::Float32(number) => (*number as i32).into(),
        Value::Float64(number) => (*number as i32).into(),
        Value::Boolean(value) => (*value).into(),
        Value::String(text) => parse(text).ok_or_else(|| out_of_range(text))?,
        value => number(value)?,
    })
}

fn long(value: &Value) -> Result<i64, ConvertError> {
    Ok(match value {
        Value::Boolean(value) => (*value).into(),
        Value::String(text) => text.parse().map_err(|_| out_of_range(text))?,
        value => number(value)?,
    })
}

/// The low 64 bits of a number.
fn number(value: &Value) -> Result<i64, ConvertError> {
    match value {
        Value::Bytes(_) => Err(ConvertError::Data("bytes can be cast to nothing but a string".to_owned())),
        value => Ok(values::as_long(value)?),
    }
}

fn double(value: &Value) -> Result<f64, ConvertError> {
    Ok(match value {
        Value::Boolean(value) => u8::from(*value).into(),
        Value::String(text) => parse_double(text).ok_or_else(|| out_of_range(text))?,
        value => values::as_double(value)?,
    })
}

/// From the number itself, not from a double that has been rounded already.
fn float(value: &Value) -> Result<f32, ConvertError> {
    Ok(match value {
        Value::Int64(number) => *number as f32,
        Value::Float32(number) => *number,
        Value::Decimal(number) => number.to_number()?.to_f32(),
        Value::String(text) => match Number::parse(text) {
            Ok(_) => text.parse().map_err(|_| out_of_range(text))?,
            Err(_) => parse_double(text).ok_or_else(|| out_of_range(text))? as f32,
        },
        value => double(value)? as f32,
    })
}

/// Of a number, the whole part counts; of a text, only `true` is true.
fn boolean(value: &Value) -> Result<bool, ConvertError> {
    Ok(match value {
        Value::Boolean(value) => *value,
        Value::String(text) => text.eq_ignore_ascii_case("true"),
        value => number(value)? != 0,
    })
}

fn to_string(value: &Value) -> Result<Value, ConvertError> {
    Ok(match value {
        Value::Bytes(bytes) => Value::string(STANDARD.encode(bytes)),
        value => values::write(value)?.map_or(Value::Null, Value::string),
    })
}

fn out_of_range(text: &str) -> ConvertError {
    ConvertError::Data(format!("Value ({text}) was out of range for requested data type"))
}
