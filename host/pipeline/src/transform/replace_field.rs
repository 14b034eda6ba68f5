//! ReplaceField: keeps, drops and renames fields.

use std::collections::HashMap;
use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, Importance, TypedConfig};
use bulkhead_model::value::{Field, Schema, Value};

use super::data::{Nulls, as_map, as_struct, checked, name, put};
use super::keys::{def, default, invalid, names, replace_null};
use super::record::Side;
use super::schemas::{Rewritten, struct_like};
use super::{Record, Transform};
use crate::convert::{ConvertError, SchemaAndValue};

const PURPOSE: &str = "field replacement";

#[derive(Debug)]
pub(super) struct ReplaceField {
    side: Side,
    exclude: Vec<String>,
    /// Empty: all that are not excluded.
    include: Vec<String>,
    renames: HashMap<String, String>,
    nulls: Nulls,
    schemas: Rewritten,
}

impl ReplaceField {
    pub(super) fn config_def() -> ConfigDef {
        let list = |name, doc| ConfigKey::new(name, ConfigType::List, default(""), Importance::Medium, doc);
        def([
            list("exclude", "Fields to be dropped."),
            list("include", "Fields to be kept; all of them if the list is empty."),
            list("renames", "Pairs of an old and a new name, as in `foo:bar,abc:xyz`."),
            replace_null(),
        ])
    }

    pub(super) fn new(side: Side, config: &TypedConfig) -> Result<Self, ConvertError> {
        let rename = |pair: &String| match pair.split(':').collect::<Vec<_>>().as_slice() {
            [old, new] if !old.is_empty() && !new.is_empty() => Ok(((*old).to_owned(), (*new).to_owned())),
            _ => Err(invalid(config, "renames", &format!("Invalid rename mapping: {pair}"))),
        };
        Ok(Self {
            side,
            exclude: names(config, "exclude")?,
            include: names(config, "include")?,
            renames: config.list("renames").unwrap_or_default().iter().map(rename).collect::<Result<_, _>>()?,
            nulls: Nulls::of(config),
            schemas: Rewritten::new(),
        })
    }

    fn keeps(&self, name: &str) -> bool {
        let listed = |list: &[String]| list.iter().any(|other| other == name);
        !listed(&self.exclude) && (self.include.is_empty() || listed(&self.include))
    }

    fn renamed<'a>(&'a self, name: &'a str) -> &'a str {
        self.renames.get(name).map_or(name, String::as_str)
    }

    fn of_map(&self, value: &Value) -> Result<SchemaAndValue, ConvertError> {
        let mut kept = Vec::new();
        for (key, value) in as_map(value, PURPOSE)? {
            let name = name(key)?;
            if self.keeps(name) {
                put(&mut kept, self.renamed(name), value.clone());
            }
        }
        Ok(SchemaAndValue { schema: None, value: Value::Map(kept) })
    }

    fn of_struct(&self, value: &Value) -> Result<SchemaAndValue, ConvertError> {
        let value = as_struct(value, PURPOSE)?;
        let schema = self.schemas.of(&value.schema, |schema| self.rewrite(schema))?;
        let kept = self.nulls.fields(value).filter(|(field, _)| self.keeps(&field.name));
        let value = checked(&schema, kept.map(|(_, value)| value.clone()).collect())?;
        Ok(SchemaAndValue { schema: Some(schema), value })
    }

    fn rewrite(&self, schema: &Schema) -> Result<Schema, ConvertError> {
        let kept = schema.fields().iter().filter(|field| self.keeps(&field.name));
        let renamed =
            |field: &Field| Field { name: Arc::from(self.renamed(&field.name)), schema: field.schema.clone() };
        struct_like(schema, kept.map(renamed).collect())
    }
}

impl Transform for ReplaceField {
    fn apply(&self, record: Record) -> Result<Option<Record>, ConvertError> {
        let half = self.side.of(&record);
        let changed = match (&half.schema, &half.value) {
            (_, Value::Null) => return Ok(Some(record)),
            (None, value) => self.of_map(value)?,
            (Some(_), value) => self.of_struct(value)?,
        };
        Ok(Some(self.side.replaced(record, changed)))
    }
}
