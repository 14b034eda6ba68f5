//! Schemas and values as the vectors write them.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bulkhead_model::RawConfig;
use bulkhead_model::value::{Decimal, Field, Schema, SchemaType, Struct, Value};
use serde_json::Value as Json;

/// A value of a class that Connect doesn't know, or something else that cannot come up here.
#[derive(Debug)]
pub struct Outside;

/// Null means that there is no schema.
pub fn schema(json: &Json) -> Option<Arc<Schema>> {
    if json.is_null() {
        return None;
    }
    let mut schema = Schema::required(kind(json));
    schema.optional = json["optional"].as_bool().unwrap_or(false);
    schema.name = json["name"].as_str().map(Arc::from);
    schema.version = json["version"].as_i64().map(|version| version.try_into().unwrap());
    schema.doc = json["doc"].as_str().map(Arc::from);
    schema.parameters = json["parameters"].as_array().map(|parameters| parameters.iter().map(parameter).collect());
    if let Some(default) = json.get("default") {
        let place = Arc::new(schema.clone());
        schema.default = Some(value(default, Some(&place)).unwrap());
    }
    Some(Arc::new(schema))
}

fn kind(json: &Json) -> SchemaType {
    match json["type"].as_str().unwrap() {
        "int8" => SchemaType::Int8,
        "int16" => SchemaType::Int16,
        "int32" => SchemaType::Int32,
        "int64" => SchemaType::Int64,
        "float32" => SchemaType::Float32,
        "float64" => SchemaType::Float64,
        "boolean" => SchemaType::Boolean,
        "string" => SchemaType::String,
        "bytes" => SchemaType::Bytes,
        "array" => SchemaType::Array(schema(&json["items"])),
        "map" => SchemaType::Map(schema(&json["keys"]), schema(&json["values"])),
        "struct" => SchemaType::Struct(json["fields"].as_array().unwrap().iter().map(field).collect()),
        other => panic!("schema type {other}"),
    }
}

fn field(json: &Json) -> Field {
    Field { name: json["name"].as_str().unwrap().into(), schema: schema(&json["schema"]).unwrap() }
}

fn parameter(json: &Json) -> (Arc<str>, Arc<str>) {
    (json[0].as_str().unwrap().into(), json[1].as_str().unwrap().into())
}

/// A value; a struct without schema of its own has that of its place.
pub fn value(json: &Json, place: Option<&Arc<Schema>>) -> Result<Value, Outside> {
    let Some(object) = json.as_object() else {
        return Ok(Value::Null);
    };
    let (form, content) = object.iter().next().unwrap();
    let number = || content.as_i64().unwrap();
    let text = || content.as_str().unwrap();
    Ok(match form.as_str() {
        "boolean" => Value::Boolean(content.as_bool().unwrap()),
        "int8" => Value::Int8(number().try_into().unwrap()),
        "int16" => Value::Int16(number().try_into().unwrap()),
        "int32" => Value::Int32(number().try_into().unwrap()),
        "int64" => Value::Int64(text().parse().unwrap()),
        "float32" => Value::Float32(text().parse().unwrap()),
        "float64" => Value::Float64(text().parse().unwrap()),
        "string" => Value::string(text()),
        "bytes" | "buffer" => Value::Bytes(STANDARD.decode(text()).unwrap().into()),
        "decimal" => Value::Decimal(Decimal {
            scale: content["scale"].as_i64().unwrap().try_into().unwrap(),
            ..Decimal::parse(content["unscaled"].as_str().unwrap()).unwrap()
        }),
        "instant" => Value::Instant(text().parse().unwrap()),
        "biginteger" | "other" => return Err(Outside),
        "array" => Value::Array(items(content, place)?),
        "map" => Value::Map(entries(content, place)?),
        "struct" => Value::Struct(structure(content, place)?),
        other => panic!("value form {other}"),
    })
}

fn items(json: &Json, place: Option<&Arc<Schema>>) -> Result<Vec<Value>, Outside> {
    let item = match place.map(|place| &place.kind) {
        Some(SchemaType::Array(item)) => item.as_ref(),
        _ => None,
    };
    json.as_array().unwrap().iter().map(|json| value(json, item)).collect()
}

fn entries(json: &Json, place: Option<&Arc<Schema>>) -> Result<Vec<(Value, Value)>, Outside> {
    let (key, of_value) = match place.map(|place| &place.kind) {
        Some(SchemaType::Map(key, value)) => (key.as_ref(), value.as_ref()),
        _ => (None, None),
    };
    json.as_array().unwrap().iter().map(|pair| Ok((value(&pair[0], key)?, value(&pair[1], of_value)?))).collect()
}

fn structure(json: &Json, place: Option<&Arc<Schema>>) -> Result<Struct, Outside> {
    let own = json.get("schema").and_then(schema);
    let schema = own.as_ref().or(place).expect("a struct has a schema, or its place has").clone();
    let mut values = Struct::new(schema.clone());
    for pair in json["fields"].as_array().unwrap() {
        let name = pair[0].as_str().unwrap();
        let index = schema.field_index(name).unwrap_or_else(|| panic!("field {name}"));
        values.values[index] = value(&pair[1], Some(&schema.fields()[index].schema))?;
    }
    Ok(values)
}

/// Base64, or a text; null and nothing are no bytes.
pub fn bytes(case: &Json) -> Option<Vec<u8>> {
    match (case["bytes"].as_str(), case["text"].as_str()) {
        (Some(bytes), _) => Some(STANDARD.decode(bytes).unwrap()),
        (None, Some(text)) => Some(text.as_bytes().to_vec()),
        (None, None) => None,
    }
}

/// A key with a null is left out: what reaches a plugin has passed validation, which refuses nulls.
pub fn config(json: &Json) -> RawConfig {
    let pairs = json.as_object().into_iter().flatten();
    pairs.filter_map(|(key, text)| Some((key.as_str(), text.as_str()?))).collect()
}

/// Equality where the order of maps doesn't count and all NaN are one.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Float32(a), Value::Float32(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        (Value::Float64(a), Value::Float64(b)) => a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Map(a), Value::Map(b)) => a.len() == b.len() && a.iter().all(|entry| has_entry(b, entry)),
        (Value::Struct(a), Value::Struct(b)) => {
            a.schema == b.schema && a.values.iter().zip(&b.values).all(|(a, b)| same(a, b))
        }
        _ => a == b,
    }
}

fn has_entry(entries: &[(Value, Value)], (key, value): &(Value, Value)) -> bool {
    entries.iter().any(|(other_key, other)| same(key, other_key) && same(value, other))
}
