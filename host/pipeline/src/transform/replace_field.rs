//! ReplaceField: keeps, drops and renames fields.

use std::collections::HashMap;
use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, Importance, TypedConfig};
use bulkhead_model::value::{Field, Schema, Value};

use super::data::{Nulls, checked, into_map, into_struct, name, put};
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

    fn of_map(&self, value: Value) -> Result<SchemaAndValue, ConvertError> {
        let mut kept = Vec::new();
        for (key, value) in into_map(value, PURPOSE)? {
            let name = name(&key)?;
            if self.keeps(name) {
                put(&mut kept, self.renamed(name), value);
            }
        }
        Ok(SchemaAndValue { schema: None, value: Value::Map(kept) })
    }

    fn of_struct(&self, value: Value) -> Result<SchemaAndValue, ConvertError> {
        let mut value = into_struct(value, PURPOSE)?;
        let schema = self.schemas.of(&value.schema, |schema| self.rewrite(schema))?;
        self.nulls.fill(&mut value);
        let mut fields = value.schema.fields().iter();
        value.values.retain(|_| fields.next().is_some_and(|field| self.keeps(&field.name)));
        let value = checked(&schema, value.values)?;
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
    fn apply(&self, mut record: Record) -> Result<Option<Record>, ConvertError> {
        if self.side.of(&record).value.is_null() {
            return Ok(Some(record));
        }
        let half = self.side.take(&mut record);
        let changed = match half.schema {
            None => self.of_map(half.value)?,
            Some(_) => self.of_struct(half.value)?,
        };
        Ok(Some(self.side.replaced(record, changed)))
    }
}
