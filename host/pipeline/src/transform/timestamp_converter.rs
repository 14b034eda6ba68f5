//! TimestampConverter: dates and times from one form to another.

mod form;

use std::sync::Arc;
use std::time::SystemTime;

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, Importance, TypedConfig, Validator};
use bulkhead_model::value::{Field, Schema, Struct, Value};

use self::form::{Form, Precision, Translation};
use super::data::{Nulls, as_map, as_struct, checked, entry, put};
use super::keys::{def, default, replace_null, required, text};
use super::record::Side;
use super::schemas::{Rewritten, struct_like};
use super::{Record, Transform};
use crate::convert::{ConvertError, SchemaAndValue};

const PURPOSE: &str = "converting timestamp formats";

#[derive(Debug)]
pub(super) struct TimestampConverter {
    side: Side,
    /// Empty: the whole key or value.
    field: String,
    target: Form,
    translation: Translation,
    nulls: Nulls,
    schemas: Rewritten,
}

impl TimestampConverter {
    pub(super) fn config_def() -> ConfigDef {
        let text =
            |name, value, importance, doc| ConfigKey::new(name, ConfigType::String, default(value), importance, doc);
        let one_of = |names: &[&str]| Validator::OneOf(names.iter().map(|name| (*name).to_owned()).collect());
        let target = "The new form: string, unix, Date, Time or Timestamp.";
        let field = "Field to be converted; the whole key or value if it is empty.";
        let format = "Pattern of SimpleDateFormat for strings, which are read and written in UTC.";
        let precision = "Unit of unix times: seconds, milliseconds, microseconds or nanoseconds.";
        def([
            text("field", "", Importance::High, field),
            required("target.type", ConfigType::String, Importance::High, target).with_validator(one_of(&Form::NAMES)),
            text("format", "", Importance::Medium, format),
            text("unix.precision", "milliseconds", Importance::Low, precision)
                .with_validator(one_of(&Precision::NAMES)),
            replace_null(),
        ])
    }

    pub(super) fn new(side: Side, config: &TypedConfig) -> Result<Self, ConvertError> {
        let target = Form::named(&text(config, "target.type"));
        let precision = Precision::named(&text(config, "unix.precision"));
        let translation = Translation::new(&text(config, "format"), precision, now())?;
        if target == Form::Text && !translation.has_format() {
            return Err(ConvertError::Config("a string as target needs a `format`".to_owned()));
        }
        let field = text(config, "field");
        Ok(Self { side, field, target, translation, nulls: Nulls::of(config), schemas: Rewritten::new() })
    }

    fn of_schemaless(&self, value: &Value) -> Result<SchemaAndValue, ConvertError> {
        let value = if self.field.is_empty() || value.is_null() {
            self.convert(value, None)?
        } else {
            let entries = as_map(value, PURPOSE)?;
            let converted = self.convert(entry(entries, &self.field).unwrap_or(&Value::Null), None)?;
            let mut changed = entries.clone();
            put(&mut changed, &self.field, converted);
            Value::Map(changed)
        };
        Ok(SchemaAndValue { schema: None, value })
    }

    fn of_schema(&self, schema: &Arc<Schema>, value: &Value) -> Result<SchemaAndValue, ConvertError> {
        if self.field.is_empty() {
            let form = Form::of_schema(schema)?;
            let new_schema = self.schemas.of(schema, |schema| Ok(self.target.schema(schema.optional)))?;
            return Ok(SchemaAndValue { schema: Some(new_schema), value: self.convert(value, Some(form))? });
        }
        let fields = match value {
            Value::Null => None,
            value => Some(as_struct(value, PURPOSE)?),
        };
        let new_schema = self.schemas.of(schema, |schema| self.rewrite(schema))?;
        let value = match fields {
            Some(fields) => checked(&new_schema, self.values(fields)?)?,
            None => Value::Null,
        };
        Ok(SchemaAndValue { schema: Some(new_schema), value })
    }

    fn rewrite(&self, schema: &Schema) -> Result<Schema, ConvertError> {
        let field = |field: &Field| match *field.name == *self.field {
            true => Field { name: field.name.clone(), schema: Arc::new(self.target.schema(field.schema.optional)) },
            false => field.clone(),
        };
        let fields = schema.fields().iter().map(field).collect();
        let new_schema = Schema { optional: schema.optional, ..struct_like(schema, fields)? };
        match &schema.default {
            Some(Value::Struct(default)) => {
                let plain = Arc::new(new_schema.clone());
                let default = checked(&plain, self.values(default)?)?;
                Ok(Schema { default: Some(default), ..new_schema })
            }
            _ => Ok(new_schema),
        }
    }

    fn values(&self, value: &Struct) -> Result<Vec<Value>, ConvertError> {
        let values = self.nulls.fields(value).map(|(field, value)| match *field.name == *self.field {
            true => self.convert(value, Some(Form::of_schema(&field.schema)?)),
            false => Ok(value.clone()),
        });
        values.collect()
    }

    /// A null has no form, and needs none.
    fn convert(&self, value: &Value, form: Option<Form>) -> Result<Value, ConvertError> {
        if value.is_null() {
            return Ok(Value::Null);
        }
        let form = form.map_or_else(|| Form::of_value(value), Ok)?;
        self.translation.convert(value, form, self.target)
    }
}

impl Transform for TimestampConverter {
    fn apply(&self, record: Record) -> Result<Option<Record>, ConvertError> {
        let half = self.side.of(&record);
        let changed = match &half.schema {
            None => self.of_schemaless(&half.value)?,
            Some(schema) => self.of_schema(schema, &half.value)?,
        };
        Ok(Some(self.side.replaced(record, changed)))
    }
}

/// Which century years of two digits belong to is decided once.
fn now() -> i64 {
    let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since_1970.as_millis()).unwrap_or(i64::MAX)
}
