//! JsonConverter: its fast way and its plain one.

use std::sync::Arc;

use arbitrary::{Result, Unstructured};
use bulkhead_model::RawConfig;
use bulkhead_pipeline::batch::Item;
use bulkhead_pipeline::convert::{self, ConvertError, Converter, Decoded, Encoded, Role, SchemaAndValue, item};

use crate::data;

/// A byte of settings, then a document of Kafka's; with a fixed schema, that and a line feed before it.
pub fn json_decode(bytes: &[u8]) {
    let Some((flags, document)) = bytes.split_first() else { return };
    let (schema, document) = match flags & 0x10 != 0 {
        true => match document.iter().position(|byte| *byte == b'\n') {
            Some(end) => (std::str::from_utf8(&document[..end]).ok(), &document[end + 1..]),
            None => return,
        },
        false => (None, document),
    };
    let Ok(converter) = converter(*flags, schema) else { return };
    let plainly = decode_plainly(&*converter, document);
    assert_eq!(shown(&decode(&*converter, document)), shown(&plainly));
    // The second time, schemas come from a memory.
    assert_eq!(shown(&decode(&*converter, document)), shown(&plainly));
    let Ok((decoded, data)) = plainly else { return };
    let item = Item { encoding: decoded.encoding, schema: decoded.schema.as_ref(), bytes: &data };
    let encoded = encode(&*converter, item);
    assert_eq!(shown(&encoded), shown(&encode_plainly(&*converter, item)));
}

/// A byte of settings, then a schema and a value.
pub fn json_encode(bytes: &[u8]) {
    // What is too short for a schema or a value is no case.
    let _ = encoding(&mut Unstructured::new(bytes));
}

fn encoding(from: &mut Unstructured<'_>) -> Result<()> {
    let flags: u8 = from.arbitrary()?;
    let SchemaAndValue { schema, value } = data::schema_and_value(from)?;
    let converter = converter(flags, None).expect("the settings are right");
    let _ = converter.from_connect("t", schema.as_ref(), &value);
    let mut bytes = Vec::new();
    let Ok(written) = item::write(schema.clone(), &value, &mut bytes) else { return Ok(()) };
    let item = Item { encoding: written.encoding, schema: schema.as_ref(), bytes: &bytes };
    let plainly = encode_plainly(&*converter, item);
    assert_eq!(shown(&encode(&*converter, item)), shown(&plainly), "{value:?} of {schema:?}");
    let Ok(Some(text)) = plainly else { return Ok(()) };
    // As text: numbers may be larger than any that is counted with.
    let is_json = serde_json::from_slice::<&serde_json::value::RawValue>(&text).is_ok();
    assert!(is_json, "no JSON: {}", String::from_utf8_lossy(&text));
    assert_eq!(shown(&decode(&*converter, &text)), shown(&decode_plainly(&*converter, &text)));
    Ok(())
}

fn converter(flags: u8, schema: Option<&str>) -> std::result::Result<Arc<dyn Converter>, ConvertError> {
    let word = |bit: u8, words: [&str; 2]| words[usize::from(flags & bit != 0)].to_owned();
    let mut config = RawConfig::from([
        ("schemas.enable", word(1, ["false", "true"])),
        ("replace.null.with.default", word(2, ["false", "true"])),
        ("decimal.format", word(4, ["BASE64", "NUMERIC"])),
        ("schemas.cache.size", word(8, ["1000", "0"])),
    ]);
    if let Some(schema) = schema {
        config.set("schema.content", schema);
    }
    convert::create("Json", &config, Role::Value)
}

type Converted<T> = std::result::Result<T, ConvertError>;

fn decode(converter: &dyn Converter, text: &[u8]) -> Converted<(Decoded, Vec<u8>)> {
    let mut out = Vec::new();
    Ok((converter.decode("t", Some(text), &mut out)?, out))
}

fn decode_plainly(converter: &dyn Converter, text: &[u8]) -> Converted<(Decoded, Vec<u8>)> {
    let read = converter.to_connect("t", Some(text))?;
    let mut out = Vec::new();
    Ok((item::write(read.schema, &read.value, &mut out)?, out))
}

fn encode(converter: &dyn Converter, item: Item<'_>) -> Converted<Option<Vec<u8>>> {
    let mut out = Vec::new();
    Ok(match converter.encode("t", item, &mut out)? {
        Encoded::Null => None,
        Encoded::Same => Some(item.bytes.to_vec()),
        Encoded::Appended => Some(out),
    })
}

fn encode_plainly(converter: &dyn Converter, item: Item<'_>) -> Converted<Option<Vec<u8>>> {
    let read = item::read(item)?;
    converter.from_connect("t", read.schema.as_ref(), &read.value)
}

/// For comparison: all NaN are one.
fn shown(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}
