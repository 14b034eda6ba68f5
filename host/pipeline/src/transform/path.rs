//! Paths to fields (KIP-821): one name, or with version 2 of the syntax several, divided by dots.

use std::sync::Arc;

use bulkhead_model::config::{ConfigKey, ConfigType, Importance, TypedConfig, Validator};
use bulkhead_model::value::{Schema, SchemaType, Struct, Value};

use super::data::{Nulls, as_map, as_struct, entry};
use super::keys::default;
use crate::convert::ConvertError;

const SYNTAX: &str = "field.syntax.version";
const PURPOSE: &str = "nested field access";

/// Where a field is, from the outside in.
#[derive(Debug)]
pub(super) struct Path {
    /// As it was configured.
    pub(super) text: Arc<str>,
    steps: Vec<String>,
}

pub(super) fn syntax_key() -> ConfigKey {
    let versions = ["V1", "V2"].map(str::to_owned).to_vec();
    let doc = "V1: a field is given by its name. V2: by a path, with dots between names and backticks around odd ones.";
    ConfigKey::new(SYNTAX, ConfigType::String, default("V1"), Importance::High, doc)
        .with_validator(Validator::OneOfIgnoringCase(versions))
}

impl Path {
    /// Reads `text` in the syntax that the configuration asks for.
    pub(super) fn new(text: &str, config: &TypedConfig) -> Result<Self, ConvertError> {
        let is_v2 = config.text(SYNTAX).is_some_and(|version| version.eq_ignore_ascii_case("V2"));
        let steps = if is_v2 { split(text)? } else { vec![text.to_owned()] };
        Ok(Self { text: text.into(), steps })
    }

    /// The schema of the field; none if a step leads nowhere.
    pub(super) fn schema_in(&self, schema: &Arc<Schema>) -> Result<Option<Arc<Schema>>, ConvertError> {
        let mut current = schema;
        for step in self.steps()? {
            if !matches!(current.kind, SchemaType::Struct(_)) {
                return Err(ConvertError::Data(format!("{} has no fields", current.describe())));
            }
            match current.field(step) {
                Some(field) => current = &field.schema,
                None => return Ok(None),
            }
        }
        Ok(Some(current.clone()))
    }

    /// The field's value. Defaults stand in for nulls on the way, and at the end if `nulls` says so.
    pub(super) fn value_in_struct(&self, value: &Struct, nulls: Nulls) -> Result<Value, ConvertError> {
        let steps = self.steps()?;
        let mut current = value;
        for (index, step) in steps.iter().enumerate() {
            let Some(field) = current.schema.field_index(step) else { return Ok(Value::Null) };
            let (schema, value) = (&current.schema.fields()[field].schema, &current.values[field]);
            if index + 1 == steps.len() {
                return Ok(nulls.resolve(schema, value).clone());
            }
            match schema.or_default(value) {
                Value::Null => return Ok(Value::Null),
                value => current = as_struct(value, PURPOSE)?,
            }
        }
        Ok(Value::Null)
    }

    /// The value in a map of maps; null where a step leads nowhere.
    pub(super) fn value_in_map(&self, entries: &[(Value, Value)]) -> Result<Value, ConvertError> {
        let steps = self.steps()?;
        let mut current = entries;
        for (index, step) in steps.iter().enumerate() {
            match entry(current, step) {
                None | Some(Value::Null) => return Ok(Value::Null),
                Some(value) if index + 1 == steps.len() => return Ok(value.clone()),
                Some(value) => current = as_map(value, PURPOSE)?,
            }
        }
        Ok(Value::Null)
    }

    fn steps(&self) -> Result<&[String], ConvertError> {
        match self.steps.as_slice() {
            [] => Err(ConvertError::Other("an empty path leads to no field".to_owned())),
            steps => Ok(steps),
        }
    }
}

fn split(text: &str) -> Result<Vec<String>, ConvertError> {
    let mut steps = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (step, behind) = match rest.strip_prefix('`') {
            Some(quoted) => unquote(quoted).ok_or_else(|| incomplete(text))?,
            None => {
                let end = rest.find('.').unwrap_or(rest.len());
                (rest[..end].to_owned(), &rest[end..])
            }
        };
        steps.push(step);
        if behind == "." {
            steps.push(String::new());
        }
        rest = behind.strip_prefix('.').unwrap_or(behind);
    }
    Ok(steps)
}

/// A name up to the backtick that stands before a dot or the end, and what follows. A backslash keeps
/// such a backtick from closing.
fn unquote(quoted: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (part, behind) = rest.split_once('`')?;
        let is_last = behind.is_empty() || behind.starts_with('.');
        match part.strip_suffix('\\').filter(|_| is_last) {
            Some(part) => name.push_str(part),
            None => name.push_str(part),
        }
        if is_last && !part.ends_with('\\') {
            return Some((name, behind));
        }
        name.push('`');
        rest = behind;
    }
}

fn incomplete(path: &str) -> ConvertError {
    ConvertError::Config(format!("Incomplete backtick pair in path: [{path}]"))
}
