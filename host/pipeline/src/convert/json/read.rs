//! A tree of JSON to values, with Connect's lenience: what is of the wrong kind often counts as zero,
//! empty or null.

use std::sync::Arc;

use bulkhead_model::value::{DataError, Decimal, Logical, Number, Schema, SchemaType, Struct, Value};
use indexmap::IndexMap;

use super::lexer::Numeral;
use super::node::Node;
use super::settings::Settings;
use super::text::read_bytes;
use crate::convert::ConvertError;

/// The value of a payload; an absent one is as good as null.
pub(super) fn read_payload(
    node: Option<&Node<'_>>,
    schema: Option<&Arc<Schema>>,
    settings: &Settings,
) -> Result<Value, ConvertError> {
    match (node, schema) {
        (None | Some(Node::Null), Some(schema)) => read_null(schema, settings),
        (None, None) => Ok(Value::Null),
        (Some(node), None) => read_schemaless(node),
        (Some(node), Some(schema)) => match Logical::of(schema) {
            Some(logical) => read_rich(node, logical, schema),
            None => read_of_schema(node, schema, settings),
        },
    }
}

fn read_null(schema: &Schema, settings: &Settings) -> Result<Value, ConvertError> {
    match schema.default.as_ref().filter(|default| !default.is_null()) {
        Some(default) if settings.replace_null_with_default => Ok(default.clone()),
        _ if schema.optional => Ok(Value::Null),
        _ => Err(schema.null_where_required().into()),
    }
}

/// Objects become maps, whole numbers INT64, others FLOAT64.
pub(in crate::convert) fn read_schemaless(node: &Node<'_>) -> Result<Value, ConvertError> {
    Ok(match node {
        Node::Missing | Node::Null => Value::Null,
        Node::Boolean(value) => Value::Boolean(*value),
        Node::Number(numeral) if numeral.integral => Value::Int64(numeral.low_bits()?),
        Node::Number(numeral) => Value::Float64(numeral.to_f64()?),
        Node::Text(text) => Value::string(text),
        Node::Array(items) => Value::Array(items.iter().map(read_schemaless).collect::<Result<_, _>>()?),
        Node::Object(members) => {
            let entries = members.iter().map(|(key, node)| Ok((Value::string(key), read_schemaless(node)?)));
            Value::Map(entries.collect::<Result<_, ConvertError>>()?)
        }
    })
}

fn read_of_schema(node: &Node<'_>, schema: &Arc<Schema>, settings: &Settings) -> Result<Value, ConvertError> {
    Ok(match &schema.kind {
        SchemaType::Int8 => Value::Int8(low_bits(node)? as i8),
        SchemaType::Int16 => Value::Int16(low_bits(node)? as i16),
        SchemaType::Int32 => Value::Int32(low_bits(node)? as i32),
        SchemaType::Int64 => Value::Int64(low_bits(node)?),
        SchemaType::Float32 => match node {
            Node::Number(numeral) => Value::Float32(numeral.to_f32()?),
            _ => Value::Float32(0.0),
        },
        SchemaType::Float64 => match node {
            Node::Number(numeral) => Value::Float64(numeral.to_f64()?),
            _ => Value::Float64(0.0),
        },
        SchemaType::Boolean => Value::Boolean(*node == Node::Boolean(true)),
        SchemaType::String => node.as_text().map_or(Value::Null, Value::string),
        SchemaType::Bytes => match node {
            Node::Text(text) => Value::Bytes(base64(text)?.into()),
            _ => Value::Null,
        },
        SchemaType::Array(item) => Value::Array(read_items(node, item.as_ref(), settings)?),
        SchemaType::Map(key, value) => Value::Map(match key {
            Some(key) if key.kind == SchemaType::String => read_members(node, value.as_ref(), settings)?,
            key => read_pairs(node, key.as_ref(), value.as_ref(), settings)?,
        }),
        SchemaType::Struct(_) => Value::Struct(read_struct(node, schema, settings)?),
    })
}

/// The integer of a number; 0 of anything else.
fn low_bits(node: &Node<'_>) -> Result<i64, ConvertError> {
    match node {
        Node::Number(numeral) => numeral.low_bits(),
        _ => Ok(0),
    }
}

/// Of an object, the values count.
fn read_items(node: &Node<'_>, schema: Option<&Arc<Schema>>, settings: &Settings) -> Result<Vec<Value>, ConvertError> {
    let item = |node| read_payload(Some(node), schema, settings);
    match node {
        Node::Array(items) => items.iter().map(item).collect(),
        Node::Object(members) => members.values().map(item).collect(),
        Node::Missing | Node::Null | Node::Boolean(_) | Node::Number(_) | Node::Text(_) => Ok(Vec::new()),
    }
}

fn read_members(
    node: &Node<'_>,
    schema: Option<&Arc<Schema>>,
    settings: &Settings,
) -> Result<Vec<(Value, Value)>, ConvertError> {
    let Node::Object(members) = node else { return Err(wrong_kind("a map with string keys", "an object", node)) };
    let entries = members.iter().map(|(key, node)| {
        let value = read_payload(Some(node), schema, settings)?;
        Ok((Value::string(key), value))
    });
    entries.collect()
}

/// Of a key that is there twice the last value counts. Keys are told apart by their text.
fn read_pairs(
    node: &Node<'_>,
    key_schema: Option<&Arc<Schema>>,
    value_schema: Option<&Arc<Schema>>,
    settings: &Settings,
) -> Result<Vec<(Value, Value)>, ConvertError> {
    let Node::Array(pairs) = node else { return Err(wrong_kind("a map", "an array of pairs", node)) };
    let mut entries = IndexMap::new();
    for pair in pairs {
        let Node::Array(pair) = pair else { return Err(wrong_kind("an entry of a map", "a pair", pair)) };
        let [key, value] = pair.as_slice() else {
            return Err(ConvertError::Data(format!("an entry of a map has {} parts instead of two", pair.len())));
        };
        let key = read_payload(Some(key), key_schema, settings)?;
        let value = read_payload(Some(value), value_schema, settings)?;
        entries.insert(format!("{key:?}"), (key, value));
    }
    Ok(entries.into_values().collect())
}

/// Fields are set one by one, each of them checked.
fn read_struct(node: &Node<'_>, schema: &Arc<Schema>, settings: &Settings) -> Result<Struct, ConvertError> {
    let Node::Object(members) = node else { return Err(wrong_kind("a struct", "an object", node)) };
    let fields = schema.fields().iter().map(|field| {
        let read = || {
            let value = read_payload(members.get(&*field.name), Some(&field.schema), settings)?;
            check_field(&field.schema, &value)?;
            Ok(value)
        };
        read().map_err(|error: ConvertError| error.at(&format!("field `{}`", field.name)))
    });
    Ok(Struct { schema: schema.clone(), values: fields.collect::<Result<_, _>>()? })
}

/// What was read has the right class already, but nulls may be where they mustn't; structs inside have
/// been checked on their own.
fn check_field(schema: &Schema, value: &Value) -> Result<(), DataError> {
    match value {
        Value::Null if !schema.optional => Err(schema.null_where_required()),
        Value::Array(_) | Value::Map(_) => schema.validate(value),
        _ => Ok(()),
    }
}

fn read_rich(node: &Node<'_>, logical: Logical, schema: &Schema) -> Result<Value, ConvertError> {
    match (logical, node) {
        (Logical::Decimal, Node::Number(numeral)) => Ok(Value::Decimal(numeral.number()?.to_decimal())),
        (Logical::Decimal, Node::Text(text)) => {
            Ok(Value::Decimal(Decimal::from_unscaled(&base64(text)?, schema.decimal_scale()?)?))
        }
        (Logical::Date | Logical::Time | Logical::Timestamp, Node::Number(numeral)) if numeral.integral => {
            Ok(Value::Instant(logical.instant_from_raw(raw(numeral, logical)?)?))
        }
        (Logical::Decimal, _) => Err(wrong_kind("a Decimal", "a number or base64", node)),
        (Logical::Date | Logical::Time | Logical::Timestamp, _) => {
            Err(wrong_kind(&schema.describe(), "a whole number", node))
        }
    }
}

/// Days and times of day have 32 bits.
fn raw(numeral: &Numeral<'_>, logical: Logical) -> Result<i64, ConvertError> {
    if logical == Logical::Timestamp {
        return numeral.low_bits();
    }
    let number = numeral.number()?.to_i64().filter(|number| i32::try_from(*number).is_ok());
    number.ok_or_else(|| ConvertError::Data(format!("{} does not fit 32 bits", numeral.text)))
}

fn base64(text: &str) -> Result<Vec<u8>, ConvertError> {
    read_bytes(text).ok_or_else(|| ConvertError::Data("the text is no base64".to_owned()))
}

fn wrong_kind(what: &str, expected: &str, node: &Node<'_>) -> ConvertError {
    ConvertError::Data(format!("{what} has to be {expected} in JSON, {} was found", node.name()))
}

impl Numeral<'_> {
    /// The number itself. An exponent can be too large even for that.
    pub(super) fn number(&self) -> Result<Number, ConvertError> {
        Ok(Number::parse(self.text)?)
    }

    /// The lowest 64 bits, a fraction cut.
    pub(super) fn low_bits(&self) -> Result<i64, ConvertError> {
        match self.text.parse() {
            Ok(number) => Ok(number),
            Err(_) => Ok(self.number()?.low_bits()),
        }
    }

    /// Nearest double. Zero has no sign here; what overflows to nothing or everything is looked at twice.
    pub(super) fn to_f64(self) -> Result<f64, ConvertError> {
        match self.text.parse::<f64>() {
            Ok(number) if number.is_normal() => Ok(number),
            _ => {
                let number = self.number()?;
                Ok(if number.is_zero() { 0.0 } else { number.to_f64() })
            }
        }
    }

    pub(super) fn to_f32(self) -> Result<f32, ConvertError> {
        match self.text.parse::<f32>() {
            Ok(number) if number.is_normal() => Ok(number),
            _ => {
                let number = self.number()?;
                Ok(if number.is_zero() { 0.0 } else { number.to_f32() })
            }
        }
    }
}
