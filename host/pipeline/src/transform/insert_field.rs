//! InsertField: adds where a record comes from, or a fixed text, to its key or value.

use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance, TypedConfig};
use bulkhead_model::value::{Field, Schema, SchemaType, Struct, Value, logical};

use super::data::{Nulls, check, into_map, into_struct, put};
use super::keys::{def, replace_null};
use super::record::Side;
use super::schemas::{Rewritten, logical as logical_schema, plain, struct_like};
use super::{Record, Transform};
use crate::convert::{ConvertError, SchemaAndValue};

const PURPOSE: &str = "field insertion";

#[derive(Debug)]
pub(super) struct InsertField {
    side: Side,
    insertions: Vec<Insertion>,
    nulls: Nulls,
    schemas: Rewritten,
}

#[derive(Debug)]
struct Insertion {
    name: Arc<str>,
    optional: bool,
    source: Source,
}

/// Where the value of a new field comes from.
#[derive(Debug)]
enum Source {
    Topic,
    Partition,
    Offset,
    Timestamp,
    Text(Value),
}

impl InsertField {
    pub(super) fn config_def() -> ConfigDef {
        let text = |name, doc| ConfigKey::new(name, ConfigType::String, DefaultValue::Null, Importance::Medium, doc);
        let suffix = "Ends in `!` if required, `?` if optional, which is the default.";
        def([
            text("topic.field", &format!("Field for the topic. {suffix}")),
            text("partition.field", &format!("Field for the Kafka partition. {suffix}")),
            text("offset.field", &format!("Field for the Kafka offset, which only sinks know. {suffix}")),
            text("timestamp.field", &format!("Field for the record's timestamp. {suffix}")),
            text("static.field", &format!("Field for a fixed text. {suffix}")),
            text("static.value", "The fixed text."),
            replace_null(),
        ])
    }

    pub(super) fn new(side: Side, config: &TypedConfig) -> Result<Self, ConvertError> {
        let text = config.text("static.value").map(|text| Source::Text(Value::string(text)));
        if config.text("static.field").is_some() && text.is_none() {
            return Err(ConvertError::Config("`static.field` needs a `static.value`".to_owned()));
        }
        let possible = [
            ("topic.field", Some(Source::Topic)),
            ("partition.field", Some(Source::Partition)),
            ("offset.field", Some(Source::Offset)),
            ("timestamp.field", Some(Source::Timestamp)),
            ("static.field", text),
        ];
        let insertions: Vec<_> =
            possible.into_iter().filter_map(|(key, source)| Some(Insertion::new(config.text(key)?, source?))).collect();
        if insertions.is_empty() {
            return Err(ConvertError::Config("No field insertion configured".to_owned()));
        }
        Ok(Self { side, insertions, nulls: Nulls::of(config), schemas: Rewritten::new() })
    }

    fn in_map(&self, value: Value, record: &Record) -> Result<SchemaAndValue, ConvertError> {
        let mut entries = into_map(value, PURPOSE)?;
        for insertion in &self.insertions {
            match insertion.source.value(record)? {
                Value::Null => {}
                Value::Instant(millis) => put(&mut entries, &insertion.name, Value::Int64(millis)),
                value => put(&mut entries, &insertion.name, value),
            }
        }
        Ok(SchemaAndValue { schema: None, value: Value::Map(entries) })
    }

    /// A new field that is required may stay null: who converts the record will find out.
    fn in_struct(&self, value: Value, record: &Record) -> Result<SchemaAndValue, ConvertError> {
        let mut value = into_struct(value, PURPOSE)?;
        let schema = self.schemas.of(&value.schema, |schema| self.rewrite(schema))?;
        self.nulls.fill(&mut value);
        let mut values = value.values;
        check(&schema, &values)?;
        for insertion in &self.insertions {
            values.push(insertion.source.value(record)?);
        }
        let value = Value::Struct(Struct { schema: schema.clone(), values });
        Ok(SchemaAndValue { schema: Some(schema), value })
    }

    fn rewrite(&self, schema: &Schema) -> Result<Schema, ConvertError> {
        let new = self.insertions.iter().map(Insertion::field);
        struct_like(schema, schema.fields().iter().cloned().chain(new).collect())
    }
}

impl Transform for InsertField {
    fn apply(&self, mut record: Record) -> Result<Option<Record>, ConvertError> {
        if self.side.of(&record).value.is_null() {
            return Ok(Some(record));
        }
        let half = self.side.take(&mut record);
        let changed = match half.schema {
            None => self.in_map(half.value, &record)?,
            Some(_) => self.in_struct(half.value, &record)?,
        };
        Ok(Some(self.side.replaced(record, changed)))
    }
}

impl Insertion {
    /// Only the last character may say whether the field is optional.
    fn new(name: &str, source: Source) -> Self {
        let (name, optional) = match (name.strip_suffix('!'), name.strip_suffix('?')) {
            (Some(name), _) => (name, false),
            (None, Some(name)) => (name, true),
            (None, None) => (name, true),
        };
        Self { name: name.into(), optional, source }
    }

    fn field(&self) -> Field {
        let schema = match self.source {
            Source::Topic | Source::Text(_) => plain(SchemaType::String, self.optional),
            Source::Partition => plain(SchemaType::Int32, self.optional),
            Source::Offset => plain(SchemaType::Int64, self.optional),
            Source::Timestamp => logical_schema(SchemaType::Int64, logical::TIMESTAMP, self.optional),
        };
        Field { name: self.name.clone(), schema }
    }
}

impl Source {
    /// Null if the record doesn't know.
    fn value(&self, record: &Record) -> Result<Value, ConvertError> {
        Ok(match self {
            Self::Topic => Value::String(record.topic.clone()),
            Self::Partition => record.partition.map_or(Value::Null, Value::Int32),
            Self::Offset => match record.offset {
                Some(offset) => Value::Int64(offset),
                None => return Err(ConvertError::Data("only records of a sink have an offset".to_owned())),
            },
            Self::Timestamp => record.timestamp.map_or(Value::Null, Value::Instant),
            Self::Text(text) => text.clone(),
        })
    }
}
