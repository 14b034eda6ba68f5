//! Default values: JSON in Avro schemas, values in Connect's.

use std::sync::Arc;

use bulkhead_model::value::{Decimal, Logical, Schema, SchemaType, Struct, Value};
use serde_json::{Map, Number, Value as Json};

use super::names::{UNION, scrubbed};
use super::schema::{Kind, Type};
use super::settings::Mapping;

/// A value as it stands in an Avro schema; none if JSON has nothing for it.
pub(super) fn to_json(value: &Value, schema: &Schema, mapping: &Mapping) -> Option<Json> {
    Some(match value {
        Value::Null => Json::Null,
        Value::Boolean(value) => Json::from(*value),
        Value::Int8(number) => Json::from(*number),
        Value::Int16(number) => Json::from(*number),
        Value::Int32(number) => Json::from(*number),
        Value::Int64(number) => Json::from(*number),
        // By way of its digits: 0.1 stays 0.1.
        Value::Float32(number) => Json::from(Number::from_f64(number.to_string().parse().ok()?)?),
        Value::Float64(number) => Json::from(Number::from_f64(*number)?),
        Value::String(text) => Json::from(&**text),
        Value::Bytes(bytes) => latin1(bytes),
        Value::Decimal(decimal) => latin1(&decimal.with_scale(schema.decimal_scale().ok()?).ok()?.unscaled),
        Value::Instant(millis) => Json::from(Logical::of(schema)?.instant_to_raw(*millis).ok()?),
        Value::Array(items) => {
            let SchemaType::Array(Some(item)) = &schema.kind else { return None };
            items.iter().map(|value| to_json(value, item, mapping)).collect::<Option<_>>()?
        }
        Value::Map(entries) => map_to_json(entries, schema, mapping)?,
        Value::Struct(of) if schema.name.as_deref() == Some(UNION) => {
            let (field, value) = of.fields_or_defaults().next()?;
            to_json(value, &field.schema, mapping)?
        }
        Value::Struct(of) => {
            let members = of.fields_or_defaults().map(|(field, value)| {
                let name = scrubbed(&field.name, mapping.scrub_names).into_owned();
                Some((name, to_json(value, &field.schema, mapping)?))
            });
            Json::Object(members.collect::<Option<_>>()?)
        }
    })
}

/// A map of Avro, or pairs.
fn map_to_json(entries: &[(Value, Value)], schema: &Schema, mapping: &Mapping) -> Option<Json> {
    let SchemaType::Map(Some(key), Some(value)) = &schema.kind else { return None };
    if !is_avro_map(key, mapping) {
        let pairs = entries
            .iter()
            .map(|(k, v)| Some(Json::Array(vec![to_json(k, key, mapping)?, to_json(v, value, mapping)?])));
        return pairs.collect();
    }
    let members = entries.iter().map(|(k, v)| match k {
        Value::String(name) => Some((name.to_string(), to_json(v, value, mapping)?)),
        _ => None,
    });
    Some(Json::Object(members.collect::<Option<Map<_, _>>>()?))
}

/// Whether maps with such keys are maps of Avro; others are arrays of pairs.
pub(super) fn is_avro_map(key: &Schema, mapping: &Mapping) -> bool {
    key.kind == SchemaType::String && (!key.optional || mapping.optional_keys)
}

/// The value that the JSON of a type's default stands for; none if it stands for none.
pub(super) fn from_json(json: &Json, of: &Type, schema: &Arc<Schema>, mapping: &Mapping) -> Option<Value> {
    let value = match (&of.kind, json) {
        (Kind::Union(members), json) if schema.name.as_deref() == Some(UNION) => {
            return union_from_json(json, members, schema, mapping);
        }
        (Kind::Union(members), json) => {
            let first = members.first().filter(|first| !first.is_null() || json.is_null())?;
            if first.is_null() { Value::Null } else { return from_json(json, first, schema, mapping) }
        }
        (_, Json::Null) => Value::Null,
        (Kind::Int, json) => match schema.kind {
            SchemaType::Int8 => Value::Int8(json.as_i64()?.try_into().ok()?),
            SchemaType::Int16 => Value::Int16(json.as_i64()?.try_into().ok()?),
            _ => Value::Int32(json.as_i64()?.try_into().ok()?),
        },
        (Kind::Long, json) => Value::Int64(json.as_i64()?),
        (Kind::Float, json) => Value::Float32(json.as_f64()? as f32),
        (Kind::Double, json) => Value::Float64(json.as_f64()?),
        (Kind::Boolean, json) => Value::Boolean(json.as_bool()?),
        (Kind::String | Kind::Enum(_), Json::String(text)) => Value::string(text),
        (Kind::Bytes | Kind::Fixed(_), Json::String(text)) => Value::Bytes(from_latin1(text)?.into()),
        (Kind::Array(_), Json::Array(items)) if matches!(schema.kind, SchemaType::Map(_, _)) && items.is_empty() => {
            Value::Map(Vec::new())
        }
        (Kind::Array(item), Json::Array(items)) => {
            let SchemaType::Array(Some(schema)) = &schema.kind else { return None };
            Value::Array(items.iter().map(|json| from_json(json, item, schema, mapping)).collect::<Option<_>>()?)
        }
        (Kind::Map(item), Json::Object(members)) => {
            let SchemaType::Map(_, Some(schema)) = &schema.kind else { return None };
            let entry =
                |(name, json): (&String, _)| Some((Value::string(name), from_json(json, item, schema, mapping)?));
            Value::Map(members.iter().map(entry).collect::<Option<_>>()?)
        }
        (Kind::Record(record), Json::Object(members)) => {
            let fields =
                record.fields.iter().zip(schema.fields()).map(|(field, connect)| match members.get(&*field.name) {
                    Some(json) => from_json(json, &field.of, &connect.schema, mapping),
                    None => Some(connect.schema.default.clone().unwrap_or(Value::Null)),
                });
            Value::Struct(Struct { schema: schema.clone(), values: fields.collect::<Option<_>>()? })
        }
        _ => return None,
    };
    rich(value, schema)
}

/// A default belongs to a union's first type.
fn union_from_json(json: &Json, members: &[Type], schema: &Arc<Schema>, mapping: &Mapping) -> Option<Value> {
    let first = members.first()?;
    if first.is_null() || json.is_null() {
        return json.is_null().then_some(Value::Null);
    }
    let mut of = Struct::new(schema.clone());
    let value = from_json(json, first, &schema.fields().first()?.schema, mapping)?;
    *of.values.first_mut()? = value;
    Some(Value::Struct(of))
}

/// The form in memory of what is a logical type.
fn rich(value: Value, schema: &Schema) -> Option<Value> {
    Some(match (Logical::of(schema), value) {
        (Some(Logical::Decimal), Value::Bytes(unscaled)) => {
            Value::Decimal(Decimal::from_unscaled(&unscaled, schema.decimal_scale().ok()?).ok()?)
        }
        (Some(logical), Value::Int32(raw)) => Value::Instant(logical.instant_from_raw(raw.into()).ok()?),
        (Some(logical), Value::Int64(raw)) => Value::Instant(logical.instant_from_raw(raw).ok()?),
        (_, value) => value,
    })
}

/// Bytes are texts in JSON, a character up to U+00FF for each byte.
fn latin1(bytes: &[u8]) -> Json {
    Json::String(bytes.iter().map(|byte| char::from(*byte)).collect())
}

fn from_latin1(text: &str) -> Option<Vec<u8>> {
    text.chars().map(|character| u8::try_from(u32::from(character)).ok()).collect()
}
