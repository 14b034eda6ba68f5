//! Looking into keys and values.

use std::sync::Arc;

use bulkhead_model::config::TypedConfig;
use bulkhead_model::value::{Field, Schema, Struct, Value};

use super::keys::REPLACE_NULL;
use crate::convert::ConvertError;

/// Entries of a schemaless map.
pub(super) type Entries = Vec<(Value, Value)>;

/// What becomes of a null that has a default (`replace.null.with.default`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nulls {
    BecomeDefaults,
    Stay,
}

impl Nulls {
    pub(super) fn of(config: &TypedConfig) -> Self {
        if config.boolean(REPLACE_NULL).unwrap_or(true) { Self::BecomeDefaults } else { Self::Stay }
    }

    /// The value to copy for `value`.
    pub(super) fn resolve<'a>(self, schema: &'a Schema, value: &'a Value) -> &'a Value {
        match self {
            Self::BecomeDefaults => schema.or_default(value),
            Self::Stay => value,
        }
    }

    /// Resolves all values of a struct where they are.
    pub(super) fn fill(self, value: &mut Struct) {
        if self == Self::Stay {
            return;
        }
        for (field, value) in value.schema.fields().iter().zip(&mut value.values) {
            if value.is_null()
                && let Some(default) = &field.schema.default
            {
                *value = default.clone();
            }
        }
    }

    /// The fields of a struct with the values to copy.
    pub(super) fn fields(self, value: &Struct) -> impl Iterator<Item = (&Field, &Value)> {
        value.fields().map(move |(field, value)| (field, self.resolve(&field.schema, value)))
    }
}

/// A schemaless value has to be a map.
pub(super) fn as_map<'a>(value: &'a Value, purpose: &str) -> Result<&'a Entries, ConvertError> {
    match value {
        Value::Map(entries) => Ok(entries),
        _ => Err(wrong_type("a schemaless value", "a map", value, purpose)),
    }
}

/// [`as_map`] of a value that isn't needed as it is any more.
pub(super) fn into_map(value: Value, purpose: &str) -> Result<Entries, ConvertError> {
    match value {
        Value::Map(entries) => Ok(entries),
        value => Err(wrong_type("a schemaless value", "a map", &value, purpose)),
    }
}

/// [`as_struct`] of a value that isn't needed as it is any more.
pub(super) fn into_struct(value: Value, purpose: &str) -> Result<Struct, ConvertError> {
    match value {
        Value::Struct(value) => Ok(value),
        value => Err(wrong_type("a value with a schema", "a struct", &value, purpose)),
    }
}

/// A value with a schema has to be a struct.
pub(super) fn as_struct<'a>(value: &'a Value, purpose: &str) -> Result<&'a Struct, ConvertError> {
    match value {
        Value::Struct(value) => Ok(value),
        _ => Err(wrong_type("a value with a schema", "a struct", value, purpose)),
    }
}

fn wrong_type(what: &str, expected: &str, found: &Value, purpose: &str) -> ConvertError {
    let found = found.type_name();
    ConvertError::Data(format!("for {purpose}, {what} has to be {expected}, not {found}"))
}

/// The value under a text key.
pub(super) fn entry<'a>(entries: &'a [(Value, Value)], name: &str) -> Option<&'a Value> {
    entries.iter().find(|(key, _)| is_text(key, name)).map(|(_, value)| value)
}

/// Sets the value under a text key.
pub(super) fn put(entries: &mut Entries, name: &str, value: Value) {
    match entries.iter_mut().find(|(key, _)| is_text(key, name)) {
        Some(entry) => entry.1 = value,
        None => entries.push((Value::string(name), value)),
    }
}

fn is_text(key: &Value, name: &str) -> bool {
    matches!(key, Value::String(text) if **text == *name)
}

/// A key as a field's name; only texts are.
pub(super) fn name(key: &Value) -> Result<&str, ConvertError> {
    match key {
        Value::String(name) => Ok(name),
        _ => Err(ConvertError::Other(format!("a key of type {} is no field name", key.type_name()))),
    }
}

/// A struct of these values, one for each field, each checked as setting it does.
pub(super) fn checked(schema: &Arc<Schema>, values: Vec<Value>) -> Result<Value, ConvertError> {
    check(schema, &values)?;
    Ok(Value::Struct(Struct { schema: schema.clone(), values }))
}

/// Checks values of the first fields of a schema.
pub(super) fn check(schema: &Schema, values: &[Value]) -> Result<(), ConvertError> {
    schema.fields().iter().zip(values).try_for_each(|(field, value)| {
        let fits = field.schema.validate(value);
        fits.map_err(|error| ConvertError::from(error).at(&format!("field `{}`", field.name)))
    })
}
