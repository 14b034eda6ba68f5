//! SetSchemaMetadata: another name or version for the schema of a struct.

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance, TypedConfig};
use bulkhead_model::value::{Schema, SchemaType, Value};

use super::data::{Nulls, checked};
use super::keys::{def, replace_null};
use super::record::Side;
use super::schemas::Rewritten;
use super::{Record, Transform};
use crate::convert::{ConvertError, SchemaAndValue};

#[derive(Debug)]
pub(super) struct SetSchemaMetadata {
    side: Side,
    name: Option<String>,
    version: Option<i32>,
    nulls: Nulls,
    schemas: Rewritten,
}

impl SetSchemaMetadata {
    pub(super) fn config_def() -> ConfigDef {
        let key = |name, kind, doc| ConfigKey::new(name, kind, DefaultValue::Null, Importance::High, doc);
        def([
            key("schema.name", ConfigType::String, "The schema's new name."),
            key("schema.version", ConfigType::Int, "The schema's new version."),
            replace_null(),
        ])
    }

    pub(super) fn new(side: Side, config: &TypedConfig) -> Result<Self, ConvertError> {
        let name = config.text("schema.name").map(str::to_owned);
        let version = config.integer("schema.version").and_then(|version| version.try_into().ok());
        if name.is_none() && version.is_none() {
            return Err(ConvertError::Config("Neither schema name nor version configured".to_owned()));
        }
        Ok(Self { side, name, version, nulls: Nulls::of(config), schemas: Rewritten::new() })
    }

    /// Connect promises this for any schema, and keeps it for structs.
    fn rewrite(&self, schema: &Schema) -> Result<Schema, ConvertError> {
        if !matches!(schema.kind, SchemaType::Struct(_)) {
            return Err(ConvertError::Data(format!("{} is no struct", schema.describe())));
        }
        let mut schema = schema.clone();
        schema.name = self.name.as_deref().map(Into::into).or(schema.name);
        schema.version = self.version.or(schema.version);
        Ok(schema)
    }
}

impl Transform for SetSchemaMetadata {
    fn apply(&self, mut record: Record) -> Result<Option<Record>, ConvertError> {
        let half = self.side.of(&record);
        let Some(schema) = &half.schema else {
            return match half.value {
                Value::Null => Ok(Some(record)),
                _ => Err(ConvertError::Data("Schema required for [updating schema metadata]".to_owned())),
            };
        };
        let schema = self.schemas.of(schema, |schema| self.rewrite(schema))?;
        let value = match self.side.take(&mut record).value {
            Value::Struct(mut value) => {
                self.nulls.fill(&mut value);
                checked(&schema, value.values)?
            }
            value => value,
        };
        Ok(Some(self.side.replaced(record, SchemaAndValue { schema: Some(schema), value })))
    }
}
