//! The other converters: what comes from Kafka by the tree and into a batch, and any value for Kafka.

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use bulkhead_model::RawConfig;
use bulkhead_pipeline::batch::Item;
use bulkhead_pipeline::convert::{self, Converter, Encoded, Role, SchemaAndValue, item};

use crate::data;

const CLASSES: [&str; 10] =
    ["SimpleHeader", "String", "ByteArray", "Boolean", "Short", "Integer", "Long", "Float", "Double", "Json"];
const CHARSETS: [&str; 6] = ["UTF-8", "US-ASCII", "ISO-8859-1", "UTF-16", "UTF-16BE", "UTF-16LE"];

/// A byte for the converter, then one that is even for bytes of Kafka's and odd for a value.
pub fn converters(bytes: &[u8]) {
    let [which, way, rest @ ..] = bytes else { return };
    let converter = converter(*which);
    if way.is_multiple_of(2) {
        decode(&*converter, rest);
    } else {
        // What is too short for a schema or a value is no case.
        let _ = encode_any(&*converter, &mut Unstructured::new(rest));
    }
}

fn converter(which: u8) -> Arc<dyn Converter> {
    let class = match CLASSES[usize::from(which) % CLASSES.len()] {
        "SimpleHeader" => "SimpleHeaderConverter",
        class => class,
    };
    let charset = CHARSETS[usize::from(which) / CLASSES.len() % CHARSETS.len()];
    let config = match class {
        "String" => RawConfig::from([("converter.encoding", charset)]),
        _ => RawConfig::new(),
    };
    convert::create(class, &config, Role::Header).expect("the settings are right")
}

fn decode(converter: &dyn Converter, bytes: &[u8]) {
    let by_tree = converter.to_connect("t", Some(bytes));
    let mut out = Vec::new();
    let decoded = converter.decode("t", Some(bytes), &mut out);
    let Ok(decoded) = decoded else {
        // A header value that doesn't fit its own schema has no place in a batch.
        return assert!(by_tree.is_err() || converter.class().ends_with("SimpleHeaderConverter"), "{decoded:?}");
    };
    let data = match decoded.bytes {
        Encoded::Null => &[],
        Encoded::Same => bytes,
        Encoded::Appended => &out[..],
    };
    let item = Item { encoding: decoded.encoding, schema: decoded.schema.as_ref(), bytes: data };
    let from_batch = item::read(item).expect("what was decoded can be read");
    let SchemaAndValue { schema, value } = by_tree.expect("what can be decoded can be read");
    let mut by_tree = Vec::new();
    if item::write(schema.clone(), &value, &mut by_tree).is_ok() {
        let mut again = Vec::new();
        item::write(from_batch.schema, &from_batch.value, &mut again).expect("it has been in a batch");
        assert_eq!(again, by_tree, "{value:?} of {schema:?}");
    }
    encode(converter, &SchemaAndValue { schema, value });
}

fn encode_any(converter: &dyn Converter, from: &mut Unstructured<'_>) -> Result<()> {
    encode(converter, &data::schema_and_value(from)?);
    Ok(())
}

/// From the tree, and from a batch.
fn encode(converter: &dyn Converter, SchemaAndValue { schema, value }: &SchemaAndValue) {
    let _ = converter.from_connect("t", schema.as_ref(), value);
    let mut data = Vec::new();
    let Ok(written) = item::write(schema.clone(), value, &mut data) else { return };
    let item = Item { encoding: written.encoding, schema: schema.as_ref(), bytes: &data };
    let read = item::read(item).expect("what was written can be read");
    let by_tree = converter.from_connect("t", read.schema.as_ref(), &read.value);
    let mut out = Vec::new();
    let by_item = converter.encode("t", item, &mut out).map(|encoded| match encoded {
        Encoded::Null => None,
        Encoded::Same => Some(item.bytes.to_vec()),
        Encoded::Appended => Some(out),
    });
    assert_eq!(by_item, by_tree, "{value:?} of {schema:?}");
}
