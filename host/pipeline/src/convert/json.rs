//! JsonConverter: documents with or without an envelope that carries their schema.
//!
//! There are two ways through this module. The plain one goes over trees: [`write`] and [`read`] for
//! payloads, [`write_schema`] and [`read_schema`] for schemas. The fast one, [`encode`] and [`decode`],
//! goes directly between CBOR and JSON by a plan made once for each schema, and leaves whatever is
//! unusual to the plain one. Both give the same.

mod decode;
mod decode_plan;
mod encode;
mod encode_plan;
mod lexer;
mod node;
mod plans;
mod read;
mod read_schema;
mod settings;
#[cfg(test)]
mod tests;
mod text;
mod unicode;
mod write;
mod write_schema;

use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, TypedConfig};
use bulkhead_model::value::{Schema, Value};

use self::encode::Unusual;
use self::lexer::{Kind, Lexer, Syntax};
use self::node::Node;
use self::plans::{DecodePlans, EncodePlans};
use self::settings::Settings;
use super::{CAUSED_BY, ConvertError, Converter, Decoded, Encoded, SchemaAndValue, encode_by_tree, item};
use crate::batch::{Encoding, Item};

pub(super) const CLASS: &str = "org.apache.kafka.connect.json.JsonConverter";

/// What Connect says, word for word: dead-letter queues are searched for it.
const DAMAGED: &str = "Converting byte[] to Kafka Connect data failed due to serialization error: ";
const NO_ENVELOPE: &str = "JsonConverter with schemas.enable requires \"schema\" and \"payload\" fields and may not \
                           contain additional fields. If you are trying to deserialize plain JSON data, set \
                           schemas.enable=false in your converter configuration.";

/// Bytes to have room for at first behind the schema.
const PAYLOAD: usize = 512;

/// See the module.
#[derive(Debug)]
pub struct JsonConverter {
    settings: Settings,
    encode_plans: EncodePlans,
    decode_plans: DecodePlans,
}

impl JsonConverter {
    pub fn config_def() -> ConfigDef {
        settings::config_def()
    }

    pub fn new(config: &TypedConfig) -> Result<Self, ConvertError> {
        let settings = Settings::new(config);
        Ok(Self {
            settings,
            encode_plans: EncodePlans::new(&settings),
            decode_plans: DecodePlans::new(&settings, settings::schema_content(config))?,
        })
    }

    /// Schema and payload of an envelope, by way of a tree.
    fn read_envelope(&self, text: &[u8]) -> Result<SchemaAndValue, ConvertError> {
        let (schema, payload) = split_envelope(text)?;
        let plan = self.decode_plans.of_text(schema, &self.settings)?;
        let value = read::read_payload(Some(&payload), plan.schema.as_ref(), &self.settings)?;
        Ok(SchemaAndValue { schema: plan.schema.clone(), value })
    }

    /// [`Converter::decode`] where all is as usual.
    fn decode_usual(&self, text: &[u8], out: &mut Vec<u8>) -> Result<Decoded, Unusual> {
        let mut lexer = Lexer::new(text);
        if let Some(plan) = self.decode_plans.of_all() {
            let kind = lexer.kind()?;
            let encoding = plan.payload.read_top(&mut lexer, out)?;
            lexer.end_of_scalar(kind)?;
            return Ok(Decoded { encoding, schema: plan.schema.clone(), bytes: Encoded::Appended });
        }
        let mut first = true;
        begin_envelope(&mut lexer)?;
        expect_key(&mut lexer, &mut first, "schema")?;
        let plan = self.decode_plans.next(&mut lexer, &self.settings)?;
        expect_key(&mut lexer, &mut first, "payload")?;
        let encoding = plan.payload.read_top(&mut lexer, out)?;
        match lexer.next_key(&mut first)? {
            None => Ok(Decoded { encoding, schema: plan.schema.clone(), bytes: Encoded::Appended }),
            Some(_) => Err(Unusual),
        }
    }
}

impl Converter for JsonConverter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn from_connect(
        &self,
        _topic: &str,
        schema: Option<&Arc<Schema>>,
        value: &Value,
    ) -> Result<Option<Vec<u8>>, ConvertError> {
        if schema.is_none() && value.is_null() {
            return Ok(None);
        }
        let plan = self.encode_plans.of(schema, &self.settings)?;
        let mut out = Vec::with_capacity(plan.before.len() + PAYLOAD);
        out.extend_from_slice(&plan.before);
        write::write_payload(value, schema.map(|schema| &**schema), &self.settings, &mut out)?;
        if self.settings.schemas_enabled {
            out.push(b'}');
        }
        Ok(Some(out))
    }

    fn to_connect(&self, _topic: &str, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError> {
        let Some(bytes) = bytes else { return Ok(SchemaAndValue::NULL) };
        let text = unicode::to_utf8(bytes);
        let Some(plan) = self.decode_plans.of_all() else { return self.read_envelope(&text) };
        let document = Node::parse(&text)?;
        let value = read::read_payload(Some(&document), plan.schema.as_ref(), &self.settings)?;
        Ok(SchemaAndValue { schema: plan.schema.clone(), value })
    }

    fn encode(&self, topic: &str, item: Item<'_>, out: &mut Vec<u8>) -> Result<Encoded, ConvertError> {
        if item.schema.is_none() && item.encoding == Encoding::None {
            return Ok(Encoded::Null);
        }
        let start = out.len();
        let plan = self.encode_plans.of(item.schema, &self.settings)?;
        if plan.write(item, out).is_ok() {
            return Ok(Encoded::Appended);
        }
        out.truncate(start);
        encode_by_tree(self, topic, item, out)
    }

    fn decode(&self, topic: &str, bytes: Option<&[u8]>, out: &mut Vec<u8>) -> Result<Decoded, ConvertError> {
        let start = out.len();
        if let Some(bytes) = bytes
            && let Ok(decoded) = self.decode_usual(&unicode::to_utf8(bytes), out)
        {
            return Ok(decoded);
        }
        out.truncate(start);
        let SchemaAndValue { schema, value } = self.to_connect(topic, bytes)?;
        item::write(schema, &value, out)
    }
}

/// The schema's text and the payload; of a key that is there twice the last one counts.
fn split_envelope(text: &[u8]) -> Result<(&[u8], Node<'_>), ConvertError> {
    let (mut schema, mut payload, mut others) = (None, None, false);
    let mut lexer = Lexer::new(text);
    let kind = lexer.kind()?;
    if kind == Kind::Object {
        let mut first = true;
        lexer.begin_object()?;
        while let Some(key) = lexer.next_key(&mut first)? {
            lexer.kind()?;
            let start = lexer.position();
            match &*key {
                "schema" => {
                    lexer.skip()?;
                    schema = Some(lexer.slice(start, lexer.position()));
                }
                "payload" => payload = Some(Node::read(&mut lexer)?),
                _ => {
                    lexer.skip()?;
                    others = true;
                }
            }
        }
    } else if kind != Kind::End {
        lexer.skip()?;
    }
    schema.zip(payload).filter(|_| !others).ok_or_else(|| ConvertError::Data(NO_ENVELOPE.to_owned()))
}

fn begin_envelope(lexer: &mut Lexer<'_>) -> Result<(), Unusual> {
    match lexer.kind()? {
        Kind::Object => Ok(lexer.begin_object()?),
        _ => Err(Unusual),
    }
}

fn expect_key(lexer: &mut Lexer<'_>, first: &mut bool, expected: &str) -> Result<(), Unusual> {
    match lexer.next_key(first)? {
        Some(key) if key == expected => Ok(()),
        _ => Err(Unusual),
    }
}

/// The value of a schemaless JSON text, with nothing behind it.
pub(super) fn read_text(text: &[u8]) -> Result<Value, ConvertError> {
    let node = Node::parse_all(text).map_err(|error| ConvertError::Data(error.to_string()))?;
    read::read_schemaless(&node)
}

impl From<Syntax> for ConvertError {
    fn from(error: Syntax) -> Self {
        Self::Data(format!("{DAMAGED}{CAUSED_BY}{error}"))
    }
}
