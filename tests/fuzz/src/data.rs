//! Schemas and values, from bytes.

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use bulkhead_model::value::{Decimal, Field, Schema, SchemaType, Struct, Value, logical};
use bulkhead_pipeline::convert::SchemaAndValue;

type Source<'a> = Unstructured<'a>;

/// Names that configurations of transforms know.
const NAMES: [&str; 6] = ["a", "b", "c", "a.b", "", "ts"];

/// A schema or none, and a value that mostly fits.
pub(crate) fn schema_and_value(from: &mut Source<'_>) -> Result<SchemaAndValue> {
    let schema = if from.ratio(1, 4)? { None } else { Some(schema(from, 3)?) };
    let value = value(from, schema.as_ref(), 3)?;
    Ok(SchemaAndValue { schema, value })
}

pub(crate) fn schema(from: &mut Source<'_>, depth: usize) -> Result<Arc<Schema>> {
    let mut schema = Schema::required(kind(from, depth)?);
    schema.optional = from.arbitrary()?;
    name(from, &mut schema)?;
    if from.ratio(1, 8)? {
        let place = Arc::new(schema.clone());
        schema.default = Some(value(from, Some(&place), depth)?);
    }
    if from.ratio(1, 8)? {
        schema.version = Some(from.arbitrary()?);
        schema.doc = Some(text(from)?.into());
    }
    Ok(Arc::new(schema))
}

fn kind(from: &mut Source<'_>, depth: usize) -> Result<SchemaType> {
    Ok(match from.int_in_range(0..=if depth == 0 { 8 } else { 12 })? {
        0 => SchemaType::Int8,
        1 => SchemaType::Int16,
        2 => SchemaType::Int32,
        3 => SchemaType::Int64,
        4 => SchemaType::Float32,
        5 => SchemaType::Float64,
        6 => SchemaType::Boolean,
        7 => SchemaType::String,
        8 => SchemaType::Bytes,
        9 => SchemaType::Array(part(from, depth)?),
        10 => SchemaType::Map(part(from, depth)?, part(from, depth)?),
        _ => SchemaType::Struct(fields(from, depth)?),
    })
}

/// The schema of elements, keys or values; seldom there is none.
fn part(from: &mut Source<'_>, depth: usize) -> Result<Option<Arc<Schema>>> {
    if from.ratio(1, 16)? { Ok(None) } else { schema(from, depth - 1).map(Some) }
}

fn fields(from: &mut Source<'_>, depth: usize) -> Result<Vec<Field>> {
    let mut fields: Vec<Field> = Vec::new();
    for _ in 0..from.int_in_range(0..=4)? {
        let name = word(from)?;
        if fields.iter().all(|field| *field.name != name) {
            fields.push(Field { name: name.into(), schema: schema(from, depth - 1)? });
        }
    }
    Ok(fields)
}

fn name(from: &mut Source<'_>, schema: &mut Schema) -> Result<()> {
    if from.arbitrary()? {
        return Ok(());
    }
    let name = match schema.kind {
        SchemaType::Bytes => logical::DECIMAL,
        SchemaType::Int32 if from.arbitrary()? => logical::DATE,
        SchemaType::Int32 => logical::TIME,
        SchemaType::Int64 => logical::TIMESTAMP,
        _ => *from.choose(&["org.example.Named", logical::DATE, logical::DECIMAL])?,
    };
    schema.name = Some(name.into());
    if name == logical::DECIMAL && !from.ratio(1, 16)? {
        let scale = if from.ratio(1, 8)? { text(from)? } else { from.int_in_range(-3..=12)?.to_string() };
        schema.parameters = Some(vec![("scale".into(), scale.into())]);
    }
    Ok(())
}

/// A value for a place; seldom one that doesn't fit.
pub(crate) fn value(from: &mut Source<'_>, schema: Option<&Arc<Schema>>, depth: usize) -> Result<Value> {
    let Some(schema) = schema else { return schemaless(from, depth) };
    if from.ratio(1, 32)? {
        return schemaless(from, depth);
    }
    if (schema.optional || schema.default.is_some()) && from.ratio(1, 4)? {
        return Ok(Value::Null);
    }
    Ok(match (schema.name.as_deref(), &schema.kind) {
        (Some(logical::DECIMAL), _) => Value::Decimal(decimal(from)?),
        (Some(logical::DATE), _) => Value::Instant(i64::from(from.arbitrary::<i32>()?) * 86_400_000),
        (Some(logical::TIME), _) => Value::Instant(from.int_in_range(0..=86_400_000)?),
        (Some(logical::TIMESTAMP), _) => Value::Instant(from.arbitrary()?),
        (_, SchemaType::Int8) => Value::Int8(from.arbitrary()?),
        (_, SchemaType::Int16) => Value::Int16(from.arbitrary()?),
        (_, SchemaType::Int32) => Value::Int32(from.arbitrary()?),
        (_, SchemaType::Int64) => Value::Int64(from.arbitrary()?),
        (_, SchemaType::Float32) => Value::Float32(from.arbitrary()?),
        (_, SchemaType::Float64) => Value::Float64(from.arbitrary()?),
        (_, SchemaType::Boolean) => Value::Boolean(from.arbitrary()?),
        (_, SchemaType::String) => Value::string(text(from)?),
        (_, SchemaType::Bytes) => Value::Bytes(from.arbitrary::<Vec<u8>>()?.into()),
        (_, SchemaType::Array(item)) => Value::Array(items(from, item.as_ref(), depth)?),
        (_, SchemaType::Map(key, value)) => Value::Map(entries(from, key.as_ref(), value.as_ref(), depth)?),
        (_, SchemaType::Struct(fields)) => {
            let values = fields.iter().map(|field| value(from, Some(&field.schema), depth.saturating_sub(1)));
            Value::Struct(Struct { schema: schema.clone(), values: values.collect::<Result<_>>()? })
        }
    })
}

fn schemaless(from: &mut Source<'_>, depth: usize) -> Result<Value> {
    Ok(match from.int_in_range(0..=if depth == 0 { 11 } else { 14 })? {
        0 => Value::Null,
        1 => Value::Boolean(from.arbitrary()?),
        2 => Value::Int8(from.arbitrary()?),
        3 => Value::Int16(from.arbitrary()?),
        4 => Value::Int32(from.arbitrary()?),
        5 => Value::Int64(from.arbitrary()?),
        6 => Value::Float32(from.arbitrary()?),
        7 => Value::Float64(from.arbitrary()?),
        8 => Value::Bytes(from.arbitrary::<Vec<u8>>()?.into()),
        9 => Value::string(text(from)?),
        10 => Value::Decimal(decimal(from)?),
        11 => Value::Instant(from.arbitrary()?),
        12 => Value::Array(items(from, None, depth)?),
        _ => {
            let mut entries = Vec::new();
            for _ in 0..from.int_in_range(0..=4)? {
                entries.push((Value::string(word(from)?), schemaless(from, depth - 1)?));
            }
            Value::Map(entries)
        }
    })
}

fn items(from: &mut Source<'_>, schema: Option<&Arc<Schema>>, depth: usize) -> Result<Vec<Value>> {
    (0..from.int_in_range(0..=30)?).map(|_| value(from, schema, depth.saturating_sub(1))).collect()
}

fn entries(
    from: &mut Source<'_>,
    key: Option<&Arc<Schema>>,
    of_value: Option<&Arc<Schema>>,
    depth: usize,
) -> Result<Vec<(Value, Value)>> {
    let depth = depth.saturating_sub(1);
    (0..from.int_in_range(0..=4)?).map(|_| Ok((value(from, key, depth)?, value(from, of_value, depth)?))).collect()
}

fn decimal(from: &mut Source<'_>) -> Result<Decimal> {
    let scale = if from.ratio(1, 8)? { from.arbitrary()? } else { from.int_in_range(-3..=12)? };
    let digits: Vec<u8> = from.arbitrary()?;
    Ok(Decimal::from_unscaled(&digits, scale).unwrap_or_else(|_| Decimal::from_i64(0)))
}

/// A name: one of a few, or any text.
pub(crate) fn word(from: &mut Source<'_>) -> Result<String> {
    if from.ratio(1, 4)? { text(from) } else { Ok((*from.choose(&NAMES)?).to_owned()) }
}

pub(crate) fn text(from: &mut Source<'_>) -> Result<String> {
    from.arbitrary()
}

/// Equality where all NaN are one.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    format!("{a:?}") == format!("{b:?}")
}
