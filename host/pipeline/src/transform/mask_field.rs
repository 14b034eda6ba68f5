//! MaskField: hides what fields hold.

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance, TypedConfig, Validator};
use bulkhead_model::value::{Decimal, Value};

use super::data::{Nulls, checked, entry, into_map, into_struct, put};
use super::keys::{def, replace_null, required, some_names};
use super::record::Side;
use super::{Record, Transform};
use crate::convert::{ConvertError, SchemaAndValue, values};

const PURPOSE: &str = "mask fields";

#[derive(Debug)]
pub(super) struct MaskField {
    side: Side,
    fields: Vec<String>,
    replacement: Option<Value>,
    nulls: Nulls,
}

impl MaskField {
    pub(super) fn config_def() -> ConfigDef {
        let doc = "What numbers and strings are replaced by, instead of the type's zero.";
        def([
            required("fields", ConfigType::List, Importance::High, "Fields to be masked."),
            ConfigKey::new("replacement", ConfigType::String, DefaultValue::Null, Importance::Low, doc)
                .with_validator(Validator::NonEmpty),
            replace_null(),
        ])
    }

    pub(super) fn new(side: Side, config: &TypedConfig) -> Result<Self, ConvertError> {
        Ok(Self {
            side,
            fields: some_names(config, "fields")?,
            replacement: config.text("replacement").map(Value::string),
            nulls: Nulls::of(config),
        })
    }

    fn mask(&self, value: &Value) -> Result<Value, ConvertError> {
        match (value, &self.replacement) {
            (Value::Null, _) => Ok(Value::Null),
            (value, None) => zero(value),
            (value, Some(replacement)) => replaced(value, replacement),
        }
    }

    /// A field that isn't there is there afterwards, as null.
    fn of_map(&self, value: Value) -> Result<Value, ConvertError> {
        let mut entries = into_map(value, PURPOSE)?;
        for field in &self.fields {
            let masked = self.mask(entry(&entries, field).unwrap_or(&Value::Null))?;
            put(&mut entries, field, masked);
        }
        Ok(Value::Map(entries))
    }

    fn of_struct(&self, value: Value) -> Result<Value, ConvertError> {
        let mut value = into_struct(value, PURPOSE)?;
        self.nulls.fill(&mut value);
        for (field, value) in value.schema.fields().iter().zip(&mut value.values) {
            if self.fields.iter().any(|name| **name == *field.name) {
                *value = self.mask(value)?;
            }
        }
        checked(&value.schema, value.values)
    }
}

impl Transform for MaskField {
    fn apply(&self, mut record: Record) -> Result<Option<Record>, ConvertError> {
        let SchemaAndValue { schema, value } = self.side.take(&mut record);
        let value = match schema {
            None => self.of_map(value)?,
            Some(_) => self.of_struct(value)?,
        };
        Ok(Some(self.side.replaced(record, SchemaAndValue { schema, value })))
    }
}

/// The least that a value of this type can say. A Decimal's zero has no digits behind the point,
/// whatever its schema wants.
fn zero(value: &Value) -> Result<Value, ConvertError> {
    Ok(match value {
        Value::Null => Value::Null,
        Value::Boolean(_) => Value::Boolean(false),
        Value::Int8(_) => Value::Int8(0),
        Value::Int16(_) => Value::Int16(0),
        Value::Int32(_) => Value::Int32(0),
        Value::Int64(_) => Value::Int64(0),
        Value::Float32(_) => Value::Float32(0.0),
        Value::Float64(_) => Value::Float64(0.0),
        Value::String(_) => Value::string(""),
        Value::Decimal(_) => Value::Decimal(Decimal::from_i64(0)),
        Value::Instant(_) => Value::Instant(0),
        Value::Array(_) => Value::Array(Vec::new()),
        Value::Map(_) => Value::Map(Vec::new()),
        Value::Bytes(_) | Value::Struct(_) => {
            return Err(ConvertError::Data(format!("Cannot mask value of type {}", value.type_name())));
        }
    })
}

/// The replacement, as the type of `value`.
fn replaced(value: &Value, replacement: &Value) -> Result<Value, ConvertError> {
    let (long, double) = (|| values::as_long(replacement), || values::as_double(replacement));
    Ok(match value {
        Value::Int8(_) => Value::Int8(long()? as i8),
        Value::Int16(_) => Value::Int16(long()? as i16),
        Value::Int32(_) => Value::Int32(long()? as i32),
        Value::Int64(_) => Value::Int64(long()?),
        Value::Float32(_) => Value::Float32(double()? as f32),
        Value::Float64(_) => Value::Float64(double()?),
        Value::String(_) => replacement.clone(),
        Value::Decimal(_) => match replacement {
            Value::String(text) => Value::Decimal(Decimal::parse(text)?),
            other => other.clone(),
        },
        Value::Null
        | Value::Boolean(_)
        | Value::Bytes(_)
        | Value::Instant(_)
        | Value::Array(_)
        | Value::Map(_)
        | Value::Struct(_) => {
            let found = value.type_name();
            return Err(ConvertError::Data(format!("Cannot mask value of type {found} with custom replacement")));
        }
    })
}
