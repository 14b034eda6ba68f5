//! CBOR to a tree of values.

use std::sync::Arc;

use bulkhead_model::value::{DataError, Decimal, Logical, Schema, SchemaType, Struct, Value};
use bytes::Bytes;

use super::{Malformed, Reader, Token};
use crate::convert::ConvertError;

/// Reads the one value that `bytes` hold, of `schema` or, without it, of any type.
pub fn read(bytes: &[u8], schema: Option<&Arc<Schema>>) -> Result<Value, ConvertError> {
    let mut reader = Reader::new(bytes);
    let value = read_value(&mut reader, schema)?;
    reader.finish()?;
    Ok(value)
}

fn read_value(reader: &mut Reader<'_>, schema: Option<&Arc<Schema>>) -> Result<Value, ConvertError> {
    let token = reader.token()?;
    match schema {
        Some(schema) => of_schema(token, reader, schema),
        None => schemaless(token, reader),
    }
}

fn schemaless(token: Token<'_>, reader: &mut Reader<'_>) -> Result<Value, ConvertError> {
    Ok(match token {
        Token::Null => Value::Null,
        Token::Boolean(value) => Value::Boolean(value),
        Token::Int8(value) => Value::Int8(value),
        Token::Int16(value) => Value::Int16(value),
        Token::Int32(value) => Value::Int32(value),
        Token::Integer(value) => Value::Int64(value),
        Token::Float32(value) => Value::Float32(value),
        Token::Float64(value) => Value::Float64(value),
        Token::Bytes(value) => Value::Bytes(Bytes::copy_from_slice(value)),
        Token::Text(value) => Value::string(value),
        Token::Array(length) => Value::Array(items(reader, length, None)?),
        Token::Map(length) => Value::Map(entries(reader, length, None, None)?),
    })
}

fn of_schema(token: Token<'_>, reader: &mut Reader<'_>, schema: &Arc<Schema>) -> Result<Value, ConvertError> {
    if token == Token::Null {
        return match schema.optional || schema.default.is_some() {
            true => Ok(Value::Null),
            false => Err(schema.null_where_required().into()),
        };
    }
    if let Some(logical) = Logical::of(schema) {
        return rich(token, logical, schema);
    }
    Ok(match (&schema.kind, token) {
        (SchemaType::Int8, Token::Integer(number)) => Value::Int8(narrow(number, schema)?),
        (SchemaType::Int16, Token::Integer(number)) => Value::Int16(narrow(number, schema)?),
        (SchemaType::Int32, Token::Integer(number)) => Value::Int32(narrow(number, schema)?),
        (SchemaType::Int64, Token::Integer(number)) => Value::Int64(number),
        (SchemaType::Float32, Token::Float32(number)) => Value::Float32(number),
        (SchemaType::Float64, Token::Float64(number)) => Value::Float64(number),
        (SchemaType::Boolean, Token::Boolean(value)) => Value::Boolean(value),
        (SchemaType::String, Token::Text(text)) => Value::string(text),
        (SchemaType::Bytes, Token::Bytes(bytes)) => Value::Bytes(Bytes::copy_from_slice(bytes)),
        (SchemaType::Array(item), Token::Array(length)) => Value::Array(items(reader, length, item.as_ref())?),
        (SchemaType::Map(key, value), Token::Map(length)) if has_text_keys(key.as_deref()) => {
            Value::Map(entries(reader, length, key.as_ref(), value.as_ref())?)
        }
        (SchemaType::Map(key, value), Token::Array(length)) if !has_text_keys(key.as_deref()) => {
            Value::Map(pairs(reader, length, key.as_ref(), value.as_ref())?)
        }
        (SchemaType::Struct(_), Token::Array(length)) => Value::Struct(fields(reader, length, schema)?),
        _ => return Err(mismatch(schema)),
    })
}

/// Maps with such keys are CBOR maps, others are arrays of pairs.
pub(super) fn has_text_keys(key: Option<&Schema>) -> bool {
    key.is_some_and(|key| key.kind == SchemaType::String)
}

fn rich(token: Token<'_>, logical: Logical, schema: &Schema) -> Result<Value, ConvertError> {
    match (logical, token) {
        (Logical::Decimal, Token::Bytes(unscaled)) => {
            Ok(Value::Decimal(Decimal::from_unscaled(unscaled, schema.decimal_scale()?)?))
        }
        (Logical::Date | Logical::Time, Token::Integer(number)) if schema.kind == SchemaType::Int32 => {
            let number: i32 = narrow(number, schema)?;
            Ok(Value::Instant(logical.instant_from_raw(number.into())?))
        }
        (Logical::Date | Logical::Time | Logical::Timestamp, Token::Integer(number)) => {
            Ok(Value::Instant(logical.instant_from_raw(number)?))
        }
        _ => Err(mismatch(schema)),
    }
}

fn items(reader: &mut Reader<'_>, length: usize, schema: Option<&Arc<Schema>>) -> Result<Vec<Value>, ConvertError> {
    inside(reader, |reader| (0..length).map(|_| read_value(reader, schema)).collect())
}

fn entries(
    reader: &mut Reader<'_>,
    length: usize,
    key: Option<&Arc<Schema>>,
    value: Option<&Arc<Schema>>,
) -> Result<Vec<(Value, Value)>, ConvertError> {
    inside(reader, |reader| (0..length).map(|_| Ok((read_value(reader, key)?, read_value(reader, value)?))).collect())
}

fn pairs(
    reader: &mut Reader<'_>,
    length: usize,
    key: Option<&Arc<Schema>>,
    value: Option<&Arc<Schema>>,
) -> Result<Vec<(Value, Value)>, ConvertError> {
    let pair = |reader: &mut Reader<'_>| match reader.token()? {
        Token::Array(2) => inside(reader, |reader| Ok((read_value(reader, key)?, read_value(reader, value)?))),
        _ => Err(ConvertError::Data("an entry of a map is no pair".to_owned())),
    };
    inside(reader, |reader| (0..length).map(|_| pair(reader)).collect())
}

fn fields(reader: &mut Reader<'_>, length: usize, schema: &Arc<Schema>) -> Result<Struct, ConvertError> {
    let expected = schema.fields().len();
    if length != expected {
        let name = schema.describe();
        return Err(ConvertError::Data(format!("{name} has {expected} fields, {length} were found")));
    }
    let read_field = |reader: &mut Reader<'_>, field: &bulkhead_model::value::Field| {
        read_value(reader, Some(&field.schema)).map_err(|error| error.at(&format!("field `{}`", field.name)))
    };
    let values = inside(reader, |reader| schema.fields().iter().map(|field| read_field(reader, field)).collect())?;
    Ok(Struct { schema: schema.clone(), values })
}

fn inside<T>(
    reader: &mut Reader<'_>,
    content: impl FnOnce(&mut Reader<'_>) -> Result<T, ConvertError>,
) -> Result<T, ConvertError> {
    reader.enter()?;
    let content = content(reader)?;
    reader.leave();
    Ok(content)
}

fn narrow<N: TryFrom<i64>>(number: i64, schema: &Schema) -> Result<N, ConvertError> {
    N::try_from(number)
        .map_err(|_| ConvertError::Data(format!("{number} is out of the range of {}", schema.describe())))
}

fn mismatch(schema: &Schema) -> ConvertError {
    ConvertError::Data(format!("the CBOR item is no {}", schema.describe()))
}

impl From<Malformed> for ConvertError {
    fn from(malformed: Malformed) -> Self {
        Self::Data(malformed.to_string())
    }
}

impl From<DataError> for ConvertError {
    fn from(DataError(message): DataError) -> Self {
        Self::Data(message)
    }
}
