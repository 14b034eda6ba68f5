//! The texts in a value, at any depth; not the keys of maps, which are names rather than contents.

use bulkhead_sdk::prelude::*;
use regex_lite::Regex;

pub(crate) fn pattern(text: &str) -> Result<Regex> {
    Regex::new(text).map_err(Error::config("pattern"))
}

/// Whether one of the texts is such.
pub(crate) fn any(value: &Value<'_>, is_such: &impl Fn(&str) -> bool) -> bool {
    match value {
        Value::Text(text) => is_such(text),
        Value::Array(elements) => elements.iter().any(|element| any(element, is_such)),
        Value::Map(entries) => entries.iter().any(|(_, value)| any(value, is_such)),
        Value::Struct(value) => value.values().iter().any(|value| any(value, is_such)),
        _ => false,
    }
}

/// The value with every text changed.
pub(crate) fn map<'a>(value: Value<'a>, change: &impl Fn(&str) -> String) -> Result<Value<'a>> {
    Ok(match value {
        Value::Text(text) => change(&text).into(),
        Value::Array(elements) => {
            Value::Array(elements.into_iter().map(|element| map(element, change)).collect::<Result<_>>()?)
        }
        Value::Map(entries) => {
            let entries = entries.into_iter().map(|(key, value)| Ok((key, map(value, change)?)));
            Value::Map(entries.collect::<Result<_>>()?)
        }
        Value::Struct(value) => {
            let names = value.schema().fields().iter().map(|(name, _)| name);
            let mut changed = Struct::new(value.schema());
            for (name, field) in names.zip(value.values()) {
                changed = changed.with(name, map(field.clone(), change)?)?;
            }
            changed.into()
        }
        other => other,
    })
}
