//! JsonConverter: documents with or without an envelope that carries their schema.

mod lexer;
mod node;
mod read;
mod read_schema;
mod settings;
mod text;
mod unicode;
mod write;
mod write_schema;

use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, TypedConfig};
use bulkhead_model::value::{Schema, Value};

use self::lexer::Syntax;
use self::node::Node;
use self::settings::Settings;
use super::{ConvertError, Converter, SchemaAndValue};

/// See the module.
#[derive(Debug)]
pub struct JsonConverter {
    settings: Settings,
    /// The schema of all documents, if the configuration says so.
    schema: Option<Arc<Schema>>,
}

impl JsonConverter {
    pub fn config_def() -> ConfigDef {
        settings::config_def()
    }

    pub fn new(config: &TypedConfig) -> Result<Self, ConvertError> {
        let settings = Settings::new(config);
        let schema = match settings::schema_content(config) {
            Some(content) => read_schema::read_schema(&Node::parse(content.as_bytes())?, &settings)?,
            None => None,
        };
        Ok(Self { settings, schema })
    }

    fn read_envelope(&self, document: &Node<'_>) -> Result<SchemaAndValue, ConvertError> {
        let envelope = || {
            let Node::Object(members) = document else { return None };
            let parts = (members.get("schema")?, members.get("payload")?);
            Some(parts).filter(|_| members.len() == 2)
        };
        let (schema, payload) = envelope().ok_or_else(|| {
            ConvertError::Data(
                "with schemas.enable a document must be an object of `schema` and `payload` and nothing else"
                    .to_owned(),
            )
        })?;
        let schema = read_schema::read_schema(schema, &self.settings)?;
        let value = read::read_payload(Some(payload), schema.as_ref(), &self.settings)?;
        Ok(SchemaAndValue { schema, value })
    }
}

impl Converter for JsonConverter {
    fn from_connect(
        &self,
        _topic: &str,
        schema: Option<&Arc<Schema>>,
        value: &Value,
    ) -> Result<Option<Vec<u8>>, ConvertError> {
        if schema.is_none() && value.is_null() {
            return Ok(None);
        }
        let schema = schema.map(|schema| &**schema);
        let mut out = Vec::new();
        if self.settings.schemas_enabled {
            out.extend_from_slice(b"{\"schema\":");
            write_schema::write_schema(schema, &self.settings, &mut out)?;
            out.extend_from_slice(b",\"payload\":");
        }
        write::write_payload(value, schema, &self.settings, &mut out)?;
        if self.settings.schemas_enabled {
            out.push(b'}');
        }
        Ok(Some(out))
    }

    fn to_connect(&self, _topic: &str, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError> {
        let Some(bytes) = bytes else { return Ok(SchemaAndValue::NULL) };
        let text = unicode::to_utf8(bytes);
        let document = Node::parse(&text)?;
        match (self.settings.schemas_enabled, &self.schema) {
            (false, _) => Ok(SchemaAndValue { schema: None, value: read::read_schemaless(&document)? }),
            (true, None) => self.read_envelope(&document),
            (true, Some(schema)) => {
                let value = read::read_payload(Some(&document), Some(schema), &self.settings)?;
                Ok(SchemaAndValue { schema: Some(schema.clone()), value })
            }
        }
    }
}

/// The value of a schemaless JSON text, with nothing behind it.
pub(super) fn read_text(text: &[u8]) -> Result<Value, ConvertError> {
    read::read_schemaless(&Node::parse_all(text)?)
}

impl From<Syntax> for ConvertError {
    fn from(error: Syntax) -> Self {
        Self::Data(error.to_string())
    }
}
