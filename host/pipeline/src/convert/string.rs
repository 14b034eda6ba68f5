//! StringConverter: any value as Java's `toString` has it.

use std::borrow::Cow;
use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance, TypedConfig, Width};
use bulkhead_model::value::{Schema, SchemaType, Value};

use super::charset::Charset;
use super::display::Display;
use super::{ConvertError, Converter, Decoded, Encoded, SchemaAndValue, encode_by_tree, item};
use crate::batch::{Encoding, Item};

const ENCODING: &str = "converter.encoding";

pub(super) const CLASS: &str = "org.apache.kafka.connect.storage.StringConverter";

/// Texts pass through; other values become text.
#[derive(Debug)]
pub struct StringConverter {
    charset: Charset,
    display: Display,
    schema: Arc<Schema>,
}

impl StringConverter {
    pub fn config_def() -> ConfigDef {
        let mut encoding = ConfigKey::new(
            ENCODING,
            ConfigType::String,
            DefaultValue::Value("UTF-8".to_owned()),
            Importance::High,
            "Character set of the bytes, by its Java name: UTF-8, US-ASCII, ISO-8859-1, UTF-16, UTF-16BE or UTF-16LE.",
        );
        (encoding.width, encoding.display_name) = (Width::Medium, "Encoding".to_owned());
        ConfigDef { keys: vec![encoding] }
    }

    pub fn new(config: &TypedConfig) -> Result<Self, ConvertError> {
        let name = config.text(ENCODING).unwrap_or("UTF-8");
        let charset =
            Charset::named(name).ok_or_else(|| ConvertError::Other(format!("Unsupported encoding {name}")))?;
        let display = Display::new().map_err(|error| ConvertError::Other(error.to_string()))?;
        Ok(Self { charset, display, schema: Arc::new(Schema::optional(SchemaType::String)) })
    }
}

impl Converter for StringConverter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn from_connect(
        &self,
        _topic: &str,
        _schema: Option<&Arc<Schema>>,
        value: &Value,
    ) -> Result<Option<Vec<u8>>, ConvertError> {
        match value {
            Value::Null => Ok(None),
            Value::String(text) => Ok(Some(self.charset.encode(text))),
            value => {
                let mut text = String::new();
                self.display.write(value, &mut text)?;
                Ok(Some(self.charset.encode(&text)))
            }
        }
    }

    fn to_connect(&self, _topic: &str, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError> {
        let value = bytes.map_or(Value::Null, |bytes| Value::string(self.charset.decode(bytes)));
        Ok(SchemaAndValue { schema: Some(self.schema.clone()), value })
    }

    fn encode(&self, topic: &str, item: Item<'_>, out: &mut Vec<u8>) -> Result<Encoded, ConvertError> {
        if item.encoding == Encoding::Text && self.charset == Charset::Utf8 {
            item::text(item.bytes)?;
            return Ok(Encoded::Same);
        }
        encode_by_tree(self, topic, item, out)
    }

    fn decode(&self, _topic: &str, bytes: Option<&[u8]>, out: &mut Vec<u8>) -> Result<Decoded, ConvertError> {
        let (encoding, bytes) = match bytes {
            None => (Encoding::None, Encoded::Null),
            Some(bytes) => match self.charset.decode(bytes) {
                Cow::Borrowed(_) => (Encoding::Text, Encoded::Same),
                Cow::Owned(text) => {
                    out.extend_from_slice(text.as_bytes());
                    (Encoding::Text, Encoded::Appended)
                }
            },
        };
        Ok(Decoded { encoding, schema: Some(self.schema.clone()), bytes })
    }
}
