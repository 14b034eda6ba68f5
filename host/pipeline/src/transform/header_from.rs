//! HeaderFrom: copies or moves fields to headers.

use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, Importance, TypedConfig, Validator};
use bulkhead_model::value::{Schema, Struct, Value};

use super::data::{Nulls, as_map, as_struct, checked, entry, name};
use super::keys::{def, invalid, replace_null, required};
use super::record::Side;
use super::schemas::{Rewritten, struct_like};
use super::{Header, Record, Transform};
use crate::convert::{ConvertError, SchemaAndValue};

const PURPOSE: &str = "header from";

#[derive(Debug)]
pub(super) struct HeaderFrom {
    side: Side,
    /// Each field with the name of its header.
    fields: Vec<(String, Arc<str>)>,
    operation: Operation,
    nulls: Nulls,
    schemas: Rewritten,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    Move,
    Copy,
}

impl HeaderFrom {
    pub(super) fn config_def() -> ConfigDef {
        let list = |name, doc| -> ConfigKey {
            required(name, ConfigType::List, Importance::High, doc).with_validator(Validator::NonEmpty)
        };
        let operations = ["move", "copy"].map(str::to_owned).to_vec();
        let doc = "Whether a field goes away (`move`) or stays (`copy`).";
        def([
            list("fields", "Fields whose values become headers."),
            list("headers", "Names of the headers, as many as fields."),
            required("operation", ConfigType::String, Importance::High, doc)
                .with_validator(Validator::OneOf(operations)),
            replace_null(),
        ])
    }

    pub(super) fn new(side: Side, config: &TypedConfig) -> Result<Self, ConvertError> {
        let list = |key| match config.list(key) {
            None | Some([]) => Err(invalid(config, key, "the list must not be empty")),
            Some(list) => Ok(list),
        };
        let (fields, headers) = (list("fields")?, list("headers")?);
        if fields.len() != headers.len() {
            return Err(invalid(config, "headers", "there must be as many headers as fields"));
        }
        let names = fields.iter().cloned().zip(headers.iter().map(|header| Arc::from(header.as_str())));
        let operation = if config.text("operation") == Some("move") { Operation::Move } else { Operation::Copy };
        Ok(Self { side, fields: names.collect(), operation, nulls: Nulls::of(config), schemas: Rewritten::new() })
    }

    fn moves(&self, field: &str) -> bool {
        self.operation == Operation::Move && self.fields.iter().any(|(name, _)| name == field)
    }

    fn of_map(&self, value: &Value) -> Result<(Vec<Header>, SchemaAndValue), ConvertError> {
        let entries = as_map(value, PURPOSE)?;
        let header = |(field, header): &(String, Arc<str>)| Header {
            key: header.clone(),
            value: SchemaAndValue { schema: None, value: entry(entries, field).cloned().unwrap_or(Value::Null) },
        };
        let left = entries.iter().filter(|(key, _)| !name(key).is_ok_and(|name| self.moves(name)));
        let left = SchemaAndValue { schema: None, value: Value::Map(left.cloned().collect()) };
        Ok((self.fields.iter().map(header).collect(), left))
    }

    fn of_struct(&self, schema: &Arc<Schema>, value: &Value) -> Result<(Vec<Header>, SchemaAndValue), ConvertError> {
        let fields = as_struct(value, PURPOSE)?;
        let headers = self.fields.iter().map(|(field, header)| self.header(fields, field, header));
        let headers = headers.collect::<Result<_, _>>()?;
        if self.operation == Operation::Copy {
            return Ok((headers, SchemaAndValue { schema: Some(schema.clone()), value: value.clone() }));
        }
        let schema = self.schemas.of(schema, |schema| {
            struct_like(schema, schema.fields().iter().filter(|field| !self.moves(&field.name)).cloned().collect())
        })?;
        let left = self.nulls.fields(fields).filter(|(field, _)| !self.moves(&field.name));
        let value = checked(&schema, left.map(|(_, value)| value.clone()).collect())?;
        Ok((headers, SchemaAndValue { schema: Some(schema), value }))
    }

    fn header(&self, value: &Struct, field: &str, header: &Arc<str>) -> Result<Header, ConvertError> {
        let Some((field, value)) = self.nulls.fields(value).find(|(other, _)| *other.name == *field) else {
            return Err(ConvertError::Other(format!("the field `{field}` does not exist")));
        };
        field.schema.validate(value)?;
        let value = SchemaAndValue { schema: Some(field.schema.clone()), value: value.clone() };
        Ok(Header { key: header.clone(), value })
    }
}

impl Transform for HeaderFrom {
    fn apply(&self, record: Record) -> Result<Option<Record>, ConvertError> {
        let half = self.side.of(&record);
        let (headers, left) = match &half.schema {
            None => self.of_map(&half.value)?,
            Some(schema) => self.of_struct(schema, &half.value)?,
        };
        let mut record = self.side.replaced(record, left);
        record.headers.extend(headers);
        Ok(Some(record))
    }
}
