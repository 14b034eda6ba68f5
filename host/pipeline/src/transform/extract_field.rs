//! ExtractField: one field takes the place of the whole key or value.

use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigType, Importance, TypedConfig};
use bulkhead_model::value::{Schema, Value};

use super::data::{Nulls, as_map, as_struct};
use super::keys::{def, replace_null, required, text};
use super::path::{Path, syntax_key};
use super::record::Side;
use super::{Record, Transform};
use crate::convert::{ConvertError, SchemaAndValue};

const PURPOSE: &str = "field extraction";

#[derive(Debug)]
pub(super) struct ExtractField {
    side: Side,
    path: Path,
    nulls: Nulls,
}

impl ExtractField {
    pub(super) fn config_def() -> ConfigDef {
        let field = required("field", ConfigType::String, Importance::Medium, "The field to be extracted.");
        def([field, syntax_key(), replace_null()])
    }

    pub(super) fn new(side: Side, config: &TypedConfig) -> Result<Self, ConvertError> {
        Ok(Self { side, path: Path::new(&text(config, "field"), config)?, nulls: Nulls::of(config) })
    }

    fn of_map(&self, value: &Value) -> Result<SchemaAndValue, ConvertError> {
        let value = match value {
            Value::Null => Value::Null,
            value => self.path.value_in_map(as_map(value, PURPOSE)?)?,
        };
        Ok(SchemaAndValue { schema: None, value })
    }

    /// An unknown field is an error even if there is no value to look into.
    fn of_struct(&self, schema: &Arc<Schema>, value: &Value) -> Result<SchemaAndValue, ConvertError> {
        let value = match value {
            Value::Null => None,
            value => Some(as_struct(value, PURPOSE)?),
        };
        let Some(schema) = self.path.schema_in(schema)? else {
            return Err(ConvertError::Other(format!("Unknown field: {}", self.path.text)));
        };
        let value = match value {
            Some(value) => self.path.value_in_struct(value, self.nulls)?,
            None => Value::Null,
        };
        Ok(SchemaAndValue { schema: Some(schema), value })
    }
}

impl Transform for ExtractField {
    fn apply(&self, record: Record) -> Result<Option<Record>, ConvertError> {
        let half = self.side.of(&record);
        let changed = match &half.schema {
            None => self.of_map(&half.value)?,
            Some(schema) => self.of_struct(schema, &half.value)?,
        };
        Ok(Some(self.side.replaced(record, changed)))
    }
}
