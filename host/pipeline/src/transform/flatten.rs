//! Flatten: nested structs and maps become one, with longer names.

use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, Importance, TypedConfig};
use bulkhead_model::value::{Field, Schema, SchemaType, Struct, Value};

use super::data::{Entries, as_map, as_struct, checked, name, put};
use super::keys::{def, default, text};
use super::record::Side;
use super::schemas::{Rewritten, struct_like};
use super::{Record, Transform};
use crate::convert::{ConvertError, SchemaAndValue};

const PURPOSE: &str = "flattening";

#[derive(Debug)]
pub(super) struct Flatten {
    side: Side,
    delimiter: String,
    schemas: Rewritten,
}

/// What the fields of a nested struct take over from those around it.
#[derive(Clone, Copy)]
struct Around<'a> {
    optional: bool,
    default: Option<&'a Struct>,
}

impl Flatten {
    pub(super) fn config_def() -> ConfigDef {
        let doc = "What stands between the names of an outer and an inner field.";
        def([ConfigKey::new("delimiter", ConfigType::String, default("."), Importance::Medium, doc)])
    }

    pub(super) fn new(side: Side, config: &TypedConfig) -> Result<Self, ConvertError> {
        Ok(Self { side, delimiter: text(config, "delimiter"), schemas: Rewritten::new() })
    }

    /// The name of a field below `prefix`.
    fn joined(&self, prefix: &str, name: &str) -> String {
        if prefix.is_empty() { name.to_owned() } else { format!("{prefix}{}{name}", self.delimiter) }
    }

    fn flatten_map(&self, entries: &Entries, prefix: &str, flat: &mut Entries) -> Result<(), ConvertError> {
        for (key, value) in entries {
            let name = self.joined(prefix, name(key)?);
            match value {
                Value::Map(entries) => self.flatten_map(entries, &name, flat)?,
                Value::Decimal(_) | Value::Instant(_) | Value::Struct(_) => {
                    let found = value.type_name();
                    return Err(ConvertError::Data(format!("field `{name}`: {found} cannot be flattened")));
                }
                value => put(flat, &name, value.clone()),
            }
        }
        Ok(())
    }

    fn rewrite(&self, schema: &Schema) -> Result<Schema, ConvertError> {
        let mut flat = Vec::new();
        let around = Around { optional: schema.optional, default: as_default(schema.default.as_ref()) };
        self.flatten_schema(schema, "", around, &mut flat)?;
        struct_like(schema, flat)
    }

    /// A field is optional if anything around it is; its default is its own, or that of what is around.
    fn flatten_schema(
        &self,
        schema: &Schema,
        prefix: &str,
        around: Around<'_>,
        flat: &mut Vec<Field>,
    ) -> Result<(), ConvertError> {
        for field in schema.fields() {
            let name = self.joined(prefix, &field.name);
            let optional = around.optional || field.schema.optional;
            let inherited = around.default.and_then(|default| default.get(&field.name));
            let default = field.schema.default.as_ref().or(inherited).filter(|default| !default.is_null());
            match &field.schema.kind {
                SchemaType::Struct(_) => {
                    let around = Around { optional, default: as_default(default) };
                    self.flatten_schema(&field.schema, &name, around, flat)?;
                }
                SchemaType::Map(_, _) => {
                    return Err(ConvertError::Data(format!("field `{name}`: a map with a schema cannot be flattened")));
                }
                _ => flat.push(Field { name: name.into(), schema: adapted(&field.schema, optional, default) }),
            }
        }
        Ok(())
    }
}

fn as_default(value: Option<&Value>) -> Option<&Struct> {
    match value {
        Some(Value::Struct(value)) => Some(value),
        _ => None,
    }
}

/// The schema itself where nothing changes.
fn adapted(schema: &Arc<Schema>, optional: bool, default: Option<&Value>) -> Arc<Schema> {
    if schema.optional == optional && schema.default.as_ref() == default {
        return schema.clone();
    }
    Arc::new(Schema { optional, default: default.cloned(), ..(**schema).clone() })
}

/// The values of all leaves. Those of a struct that is null are null; others have their defaults
/// filled in.
fn flatten_values(schema: &Schema, value: Option<&Struct>, flat: &mut Vec<Value>) -> Result<(), ConvertError> {
    for (index, field) in schema.fields().iter().enumerate() {
        let raw = value.and_then(|value| value.values.get(index));
        match (&field.schema.kind, raw) {
            (SchemaType::Struct(_), None | Some(Value::Null)) => flatten_values(&field.schema, None, flat)?,
            (SchemaType::Struct(_), Some(raw)) => flatten_values(&field.schema, Some(as_struct(raw, PURPOSE)?), flat)?,
            (_, None) => flat.push(Value::Null),
            (_, Some(raw)) => flat.push(field.schema.or_default(raw).clone()),
        }
    }
    Ok(())
}

impl Transform for Flatten {
    fn apply(&self, record: Record) -> Result<Option<Record>, ConvertError> {
        let half = self.side.of(&record);
        let changed = match (&half.schema, &half.value) {
            (_, Value::Null) => return Ok(Some(record)),
            (None, value) => {
                let mut flat = Vec::new();
                self.flatten_map(as_map(value, PURPOSE)?, "", &mut flat)?;
                SchemaAndValue { schema: None, value: Value::Map(flat) }
            }
            (Some(_), value) => {
                let value = as_struct(value, PURPOSE)?;
                let schema = self.schemas.of(&value.schema, |schema| self.rewrite(schema))?;
                let mut flat = Vec::new();
                flatten_values(&value.schema, Some(value), &mut flat)?;
                let value = checked(&schema, flat)?;
                SchemaAndValue { schema: Some(schema), value }
            }
        };
        Ok(Some(self.side.replaced(record, changed)))
    }
}
