//! Schemas and values there and back.

mod arbitrary;
mod hostile;
mod latest;
mod mapping;

use std::sync::Arc;

use bulkhead_model::value::{Schema, SchemaType, Value};

use super::encode_plan::Plan;
use super::read_schema::{Readable, read_schema};
use super::schema::Type;
use super::settings::Mapping;
use super::write_schema::write_schema;
use super::{decode, defaults};
use crate::batch::Item;
use crate::cbor;
use crate::convert::{ConvertError, Converter, SchemaAndValue, item};
use crate::ports::SchemaText;

const MAPPING: Mapping = Mapping {
    meta_data: true,
    enhanced: false,
    scrub_names: false,
    ignore_defaults: false,
    optional_keys: false,
    flatten_singletons: true,
};

fn parse(text: &str) -> Result<Type, ConvertError> {
    Type::parse(&SchemaText { schema: text.into(), references: Vec::new() })
}

/// A Connect schema from the JSON that JsonConverter has for it.
fn connect(json: &str) -> Option<Arc<Schema>> {
    let text = format!("{ARRAY_OF}{json}{NULL}");
    let array = json_converter().to_connect("t", Some(text.as_bytes())).unwrap().schema.unwrap();
    let SchemaType::Array(schema) = &array.kind else { panic!("{array:?}") };
    schema.clone()
}

/// The JSON that JsonConverter has for a Connect schema.
fn shown(schema: &Arc<Schema>) -> String {
    let array = Arc::new(Schema::optional(SchemaType::Array(Some(schema.clone()))));
    let text = json_converter().from_connect("t", Some(&array), &Value::Null).unwrap().unwrap();
    let text = String::from_utf8(text).unwrap();
    text.strip_prefix(ARRAY_OF).and_then(|text| text.strip_suffix(NULL)).unwrap().to_owned()
}

/// An optional array's schema can be read and written without a value.
const ARRAY_OF: &str = r#"{"schema":{"type":"array","items":"#;
const NULL: &str = r#","optional":true},"payload":null}"#;

fn json_converter() -> Arc<dyn Converter> {
    crate::convert::create("JsonConverter", &Default::default(), crate::convert::Role::Value).unwrap()
}

/// Encodes a value under the Avro schema made from its own.
fn encode(schema: Option<&Arc<Schema>>, value: &Value, mapping: &Mapping) -> Result<(String, Vec<u8>), ConvertError> {
    let text = write_schema(schema.map(|schema| &**schema), mapping)?;
    let bytes = encode_as(&text, schema, value, mapping)?;
    Ok((text, bytes))
}

fn encode_as(
    avro: &str,
    schema: Option<&Arc<Schema>>,
    value: &Value,
    mapping: &Mapping,
) -> Result<Vec<u8>, ConvertError> {
    let plan = Plan::new(schema.map(|schema| &**schema), &parse(avro)?, mapping)?;
    let (mut item, mut out) = (Vec::new(), Vec::new());
    cbor::write(value, schema.map(|schema| &**schema), &mut item)?;
    plan.write_whole(&item, &mut out)?;
    Ok(out)
}

fn decode_as(avro: &str, bytes: &[u8], mapping: &Mapping) -> Result<SchemaAndValue, ConvertError> {
    decode_with(&read_schema(&parse(avro)?, None, mapping)?, bytes)
}

fn decode_with(readable: &Readable, bytes: &[u8]) -> Result<SchemaAndValue, ConvertError> {
    let Readable { schema, plan } = readable;
    let mut out = Vec::new();
    let encoding = decode::decode(plan, bytes, &mut out).map_err(|error| ConvertError::Data(error.to_string()))?;
    item::read(Item { encoding, schema: schema.as_ref(), bytes: &out })
}
