//! HoistField: wraps a key or value in a struct or map.

use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigType, Importance, TypedConfig};
use bulkhead_model::value::{Field, Schema, Value};

use super::data::checked;
use super::keys::{def, required, text};
use super::record::Side;
use super::schemas::{Rewritten, struct_of};
use super::{Record, Transform};
use crate::convert::{ConvertError, SchemaAndValue};

#[derive(Debug)]
pub(super) struct HoistField {
    side: Side,
    field: Arc<str>,
    schemas: Rewritten,
}

impl HoistField {
    pub(super) fn config_def() -> ConfigDef {
        let doc = "Name of the one field of the new struct or map.";
        def([required("field", ConfigType::String, Importance::Medium, doc)])
    }

    pub(super) fn new(side: Side, config: &TypedConfig) -> Result<Self, ConvertError> {
        Ok(Self { side, field: text(config, "field").into(), schemas: Rewritten::new() })
    }

    fn wrap(&self, schema: &Arc<Schema>, value: Value) -> Result<SchemaAndValue, ConvertError> {
        let outer =
            self.schemas.of(schema, |_| struct_of(vec![Field { name: self.field.clone(), schema: schema.clone() }]))?;
        let value = checked(&outer, vec![value])?;
        Ok(SchemaAndValue { schema: Some(outer), value })
    }
}

impl Transform for HoistField {
    fn apply(&self, mut record: Record) -> Result<Option<Record>, ConvertError> {
        let half = self.side.take(&mut record);
        let changed = match &half.schema {
            Some(schema) => self.wrap(schema, half.value)?,
            None => {
                let entries = vec![(Value::String(self.field.clone()), half.value)];
                SchemaAndValue { schema: None, value: Value::Map(entries) }
            }
        };
        Ok(Some(self.side.replaced(record, changed)))
    }
}
