//! Text to values.

use std::sync::Arc;

use bulkhead_model::value::{DataError, Schema, SchemaType, Value};

use indexmap::IndexMap;

use super::align::{Common, align};
use super::token::{Tokens, is_blank, trim};
use super::{SCHEMAS, number, temporal};
use crate::cbor::MAX_DEPTH;
use crate::convert::SchemaAndValue;

/// A value that was read; none is a null, which has no schema.
type Parsed = Option<(Arc<Schema>, Value)>;

/// Reads any text; what is nothing else is a string.
pub(crate) fn parse(text: &str) -> SchemaAndValue {
    if text.is_empty() {
        return string(text);
    }
    let mut parser = Parser { tokens: Tokens::new(text), depth: 0 };
    match parser.whole() {
        Some((schema, value)) => SchemaAndValue { schema: Some(schema), value },
        None => SchemaAndValue::NULL,
    }
}

fn string(text: &str) -> SchemaAndValue {
    SchemaAndValue { schema: Some(SCHEMAS.string.clone()), value: Value::string(text) }
}

struct Parser<'a> {
    tokens: Tokens<'a>,
    depth: usize,
}

impl Parser<'_> {
    /// The value of the whole text, although only words are looked at to their end.
    fn whole(&mut self) -> Parsed {
        let start = self.tokens.mark();
        if let Some(word) = self.word().filter(|_| !self.tokens.has_next()) {
            return word;
        }
        self.tokens.rewind(start);
        if let Some(container) = self.container() {
            return Some(container);
        }
        let token = self.tokens.next();
        let text = if is_blank(token) { token } else { self.tokens.text() };
        let found = if is_blank(token) { None } else { self.number_or_temporal(trim(token)) };
        Some(found.unwrap_or_else(|| (SCHEMAS.string.clone(), Value::string(text))))
    }

    /// The value of an element, key or entry.
    fn part(&mut self) -> Result<Parsed, DataError> {
        if !self.tokens.has_next() {
            return Ok(None);
        }
        if self.tokens.take("\"") {
            return Ok(Some(self.quoted()));
        }
        if let Some(word) = self.word() {
            return Ok(word);
        }
        if let Some(container) = self.container() {
            return Ok(Some(container));
        }
        let token = self.tokens.next();
        if is_blank(token) {
            return Ok(Some((SCHEMAS.string.clone(), Value::string(token))));
        }
        match self.number_or_temporal(trim(token)) {
            Some(found) => Ok(Some(found)),
            None => Err(DataError(format!("`{token}` is neither a number nor in quotes"))),
        }
    }

    fn word(&mut self) -> Option<Parsed> {
        let boolean = |value| Some(Some((SCHEMAS.boolean.clone(), Value::Boolean(value))));
        if self.tokens.take("null") {
            Some(None)
        } else if self.tokens.take("true") {
            boolean(true)
        } else if self.tokens.take("false") {
            boolean(false)
        } else {
            None
        }
    }

    /// An array or map, if there is one and nothing is wrong with it.
    fn container(&mut self) -> Option<(Arc<Schema>, Value)> {
        let start = self.tokens.mark();
        self.depth += 1;
        let found = if self.depth > MAX_DEPTH {
            None
        } else if self.tokens.take("[") {
            self.array().ok()
        } else if self.tokens.take("{") {
            self.map().ok()
        } else {
            // What was peeked at stays peeked: blanks before it are gone for good.
            self.depth -= 1;
            return None;
        };
        self.depth -= 1;
        if found.is_none() {
            self.tokens.rewind(start);
        }
        found
    }

    fn array(&mut self) -> Result<(Arc<Schema>, Value), DataError> {
        let (mut items, mut common) = (Vec::new(), Common::default());
        while !self.tokens.take("]") {
            if !self.tokens.has_next() || self.tokens.take(",") {
                return Err(DataError::new("an array ends early or lacks an element"));
            }
            let (schema, value) = self.part()?.unzip();
            common.merge(schema.as_ref());
            items.push(value.unwrap_or(Value::Null));
            let behind = self.tokens.mark();
            if self.tokens.take("]") {
                self.tokens.rewind(behind);
            } else if !self.tokens.take(",") {
                return Err(DataError::new("an array lacks a comma"));
            }
        }
        let item = common.schema();
        let items = align_all(items, item.as_deref())?;
        Ok((Arc::new(Schema::required(SchemaType::Array(item))), Value::Array(items)))
    }

    /// Commas between entries may be missing.
    fn map(&mut self) -> Result<(Arc<Schema>, Value), DataError> {
        let (mut entries, mut keys, mut values) = (IndexMap::new(), Common::default(), Common::default());
        while !self.tokens.take("}") {
            if !self.tokens.has_next() || self.tokens.take(",") {
                return Err(DataError::new("a map ends early or lacks an entry"));
            }
            let Some((key_schema, key)) = self.part()? else {
                return Err(DataError::new("a map has a null key"));
            };
            if !self.tokens.take(":") {
                return Err(DataError::new("a map lacks a colon"));
            }
            let (value_schema, value) = self.part()?.unzip();
            keys.merge(Some(&key_schema));
            values.merge(value_schema.as_ref());
            // Of equal keys the last one counts.
            entries.insert(format!("{key:?}"), (key, value.unwrap_or(Value::Null)));
            self.tokens.take(",");
        }
        let keys_schema = keys.schema();
        let values_schema = values.schema().filter(|_| keys_schema.is_some());
        let entries = align_entries(entries.into_values(), keys_schema.as_deref(), values_schema.as_deref())?;
        Ok((Arc::new(Schema::required(SchemaType::Map(keys_schema, values_schema))), Value::Map(entries)))
    }

    /// Everything up to the closing quote; escapes stay.
    fn quoted(&mut self) -> (Arc<Schema>, Value) {
        let mut content = String::new();
        while self.tokens.has_next() && !self.tokens.take("\"") {
            content.push_str(self.tokens.next());
        }
        temporal::parse(&content).unwrap_or_else(|| (SCHEMAS.string.clone(), Value::string(content)))
    }

    /// Times are tried first: those with colons over five tokens, then the token alone.
    fn number_or_temporal(&mut self, token: &str) -> Parsed {
        let first = token.bytes().next()?;
        if first.is_ascii_digit() {
            let start = self.tokens.mark();
            let with_colons = self.tokens.next_four().map(|rest| format!("{token}{rest}"));
            if let Some(found) = with_colons.and_then(|text| temporal::parse(&text)) {
                return Some(found);
            }
            self.tokens.rewind(start);
            if let Some(found) = temporal::parse(token) {
                return Some(found);
            }
        }
        if first.is_ascii_digit() || matches!(first, b'+' | b'-') { number::parse(token) } else { None }
    }
}

fn align_all(values: Vec<Value>, schema: Option<&Schema>) -> Result<Vec<Value>, DataError> {
    match schema {
        Some(schema) => values.into_iter().map(|value| align(value, schema)).collect(),
        None => Ok(values),
    }
}

fn align_entries(
    entries: impl Iterator<Item = (Value, Value)>,
    keys: Option<&Schema>,
    values: Option<&Schema>,
) -> Result<Vec<(Value, Value)>, DataError> {
    let (keys_of, values_of): (Vec<_>, Vec<_>) = entries.unzip();
    let aligned = align_all(keys_of, keys)?.into_iter().zip(align_all(values_of, values)?);
    Ok(aligned.collect())
}
