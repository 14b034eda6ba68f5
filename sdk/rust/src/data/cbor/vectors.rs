//! The codec against the vectors that every SDK and the worker share.

use serde_json::Value as Json;

use super::{decode, encode};
use crate::data::{Schema, Struct, Value};

const VECTORS: &str = include_str!("../../../../../wit/connect/0.1/cbor-vectors.json");
const REFUSED: &str = include_str!("../../../../../wit/connect/0.1/cbor-refused.json");

#[test]
fn every_vector_is_written_and_read_back_exactly() {
    for vector in list(VECTORS) {
        let name = text(&vector["name"]);
        let schema = schema(&vector["schema"]);
        let wanted = value(schema.as_ref(), &vector["value"]);
        let mut written = Vec::new();
        encode(schema.as_ref(), &wanted, &mut written).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(hex(&written), text(&vector["hex"]), "{name}");
        let read = decode(schema.as_ref(), &written).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(format!("{read:?}"), format!("{wanted:?}"), "{name}"); // as text, because NaN equals nothing
    }
}

#[test]
fn whatever_breaks_the_profile_is_refused() {
    for vector in list(REFUSED) {
        let schema = schema(&vector["schema"]);
        let bytes = bytes(text(&vector["hex"]));
        let read = decode(schema.as_ref(), &bytes);
        assert!(read.is_err(), "{} was read as {read:?}, but {}", vector["name"], vector["why"]);
    }
}

fn list(text: &str) -> Vec<Json> {
    serde_json::from_str(text).unwrap()
}

fn text(json: &Json) -> &str {
    json.as_str().unwrap()
}

fn items(json: &Json) -> &[Json] {
    json.as_array().map_or(&[], Vec::as_slice)
}

fn schema(json: &Json) -> Option<Schema> {
    let nested = |key: &str| schema(&json[key]).unwrap();
    let mut schema = match json.get("type")?.as_str()? {
        "int8" => Schema::int8(),
        "int16" => Schema::int16(),
        "int32" => Schema::int32(),
        "int64" => Schema::int64(),
        "float32" => Schema::float32(),
        "float64" => Schema::float64(),
        "boolean" => Schema::boolean(),
        "string" => Schema::text(),
        "bytes" => Schema::bytes(),
        "array" => Schema::array(nested("items")),
        "map" => Schema::map(nested("keys"), nested("values")),
        "struct" => {
            let field =
                |all: Schema, field: &Json| all.field(text(&field["name"]), self::schema(&field["schema"]).unwrap());
            items(&json["fields"]).iter().fold(Schema::record("S"), field)
        }
        other => panic!("unknown type {other}"),
    };
    if let Some(name) = json["name"].as_str() {
        schema = schema.name(name);
    }
    for pair in items(&json["parameters"]) {
        schema = schema.parameter(text(&pair[0]), text(&pair[1]));
    }
    if json["optional"] == true {
        schema = schema.optional();
    }
    if let Some(default) = json.get("default") {
        let value = value(Some(&schema), default);
        schema = schema.clone().default_value(value).unwrap();
    }
    Some(schema)
}

fn value(schema: Option<&Schema>, json: &Json) -> Value<'static> {
    let Some((kind, content)) = json.as_object().and_then(|object| object.iter().next()) else { return Value::Null };
    let whole = || content.as_i64().or_else(|| content.as_str()?.parse().ok()).unwrap();
    match kind.as_str() {
        "boolean" => content.as_bool().unwrap().into(),
        "int8" => Value::Int8(whole().try_into().unwrap()),
        "int16" => Value::Int16(whole().try_into().unwrap()),
        "int32" => Value::Int32(whole().try_into().unwrap()),
        "int64" => Value::Int64(whole()),
        "float32" => Value::Float32(text(content).parse().unwrap()),
        "float64" => Value::Float64(text(content).parse().unwrap()),
        "string" => Value::from(text(content).to_owned()),
        "bytes" => Value::from(base64(text(content))),
        "decimal" => Value::from(shortest(text(&content["unscaled"]).parse().unwrap())),
        "instant" => instant(schema.unwrap(), whole()),
        "array" => {
            let element = schema.and_then(Schema::element);
            Value::Array(items(content).iter().map(|item| value(element, item)).collect())
        }
        "map" => {
            let (keys, values) = (schema.and_then(Schema::key), schema.and_then(Schema::element));
            Value::Map(items(content).iter().map(|pair| (value(keys, &pair[0]), value(values, &pair[1]))).collect())
        }
        "struct" => {
            let schema = schema.unwrap();
            let set = |all: Struct<'static>, pair: &Json| {
                let (_, field) = &schema.fields()[schema.position(text(&pair[0])).unwrap()];
                all.with(text(&pair[0]), value(Some(field), &pair[1])).unwrap()
            };
            items(&content["fields"]).iter().fold(Struct::new(schema), set).into()
        }
        other => panic!("unknown kind {other}"),
    }
}

/// Dates, times and timestamps are all given in milliseconds.
fn instant(schema: &Schema, millis: i64) -> Value<'static> {
    match schema.get_name().unwrap().rsplit('.').next().unwrap() {
        "Date" => Value::Int32((millis / 86_400_000).try_into().unwrap()),
        "Time" => Value::Int32(millis.try_into().unwrap()),
        _ => Value::Int64(millis),
    }
}

/// The shortest two's complement, big-endian.
fn shortest(number: i128) -> Vec<u8> {
    let bytes = number.to_be_bytes();
    let redundant = |pair: &[u8]| matches!((pair[0], pair[1] >> 7), (0, 0) | (0xff, 1));
    let start = bytes.windows(2).take_while(|pair| redundant(pair)).count();
    bytes[start..].to_vec()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<u32> =
        text.bytes().filter_map(|byte| ALPHABET.iter().position(|known| *known == byte)).map(|at| at as u32).collect();
    let whole = digits.chunks(4).flat_map(|four| {
        let bits = four.iter().enumerate().fold(0, |bits, (place, digit)| bits | digit << (18 - 6 * place));
        bits.to_be_bytes()[1..four.len()].to_vec()
    });
    whole.collect()
}
