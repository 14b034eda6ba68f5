//! ValueToKey: a new key from fields of the value.

use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigType, Importance, TypedConfig};
use bulkhead_model::value::{Field, Schema, Value};

use super::data::{Nulls, as_map, as_struct, checked, put};
use super::keys::{def, replace_null, required, some_names};
use super::path::{Path, syntax_key};
use super::schemas::{Rewritten, struct_of};
use super::{Record, Transform};
use crate::convert::{ConvertError, SchemaAndValue};

const PURPOSE: &str = "copying fields from value to key";

#[derive(Debug)]
pub(super) struct ValueToKey {
    fields: Vec<Path>,
    nulls: Nulls,
    schemas: Rewritten,
}

impl ValueToKey {
    pub(super) fn config_def() -> ConfigDef {
        let fields =
            required("fields", ConfigType::List, Importance::High, "Fields of the value that make up the key.");
        def([fields, syntax_key(), replace_null()])
    }

    pub(super) fn new(config: &TypedConfig) -> Result<Self, ConvertError> {
        let fields = some_names(config, "fields")?;
        Ok(Self {
            fields: fields.iter().map(|field| Path::new(field, config)).collect::<Result<_, _>>()?,
            nulls: Nulls::of(config),
            schemas: Rewritten::new(),
        })
    }

    fn of_map(&self, value: &Value) -> Result<SchemaAndValue, ConvertError> {
        let value = as_map(value, PURPOSE)?;
        let mut key = Vec::new();
        for field in &self.fields {
            put(&mut key, &field.text, field.value_in_map(value)?);
        }
        Ok(SchemaAndValue { schema: None, value: Value::Map(key) })
    }

    fn of_struct(&self, schema: &Arc<Schema>, value: &Value) -> Result<SchemaAndValue, ConvertError> {
        let value = as_struct(value, PURPOSE)?;
        let key_schema = self.schemas.of(schema, |_| self.key_schema(schema))?;
        let values = self.fields.iter().map(|field| field.value_in_struct(value, self.nulls));
        let key = checked(&key_schema, values.collect::<Result<_, _>>()?)?;
        Ok(SchemaAndValue { schema: Some(key_schema), value: key })
    }

    /// Fields of the key are called as their paths are written.
    fn key_schema(&self, schema: &Arc<Schema>) -> Result<Schema, ConvertError> {
        let field = |path: &Path| match path.schema_in(schema)? {
            Some(schema) => Ok(Field { name: path.text.clone(), schema }),
            None => Err(ConvertError::Data(format!("Field does not exist: {}", path.text))),
        };
        struct_of(self.fields.iter().map(field).collect::<Result<_, _>>()?)
    }
}

impl Transform for ValueToKey {
    fn apply(&self, mut record: Record) -> Result<Option<Record>, ConvertError> {
        record.key = match &record.value.schema {
            None => self.of_map(&record.value.value)?,
            Some(schema) => self.of_struct(schema, &record.value.value)?,
        };
        Ok(Some(record))
    }
}
