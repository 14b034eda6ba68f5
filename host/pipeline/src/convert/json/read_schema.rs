//! JSON to a schema.

use std::sync::Arc;

use bulkhead_model::value::{Field, Parameters, Schema, SchemaType};

use super::node::Node;
use super::read::read_payload;
use super::settings::Settings;
use crate::convert::ConvertError;

/// The schema of a JSON text; none of `null`. What is of the wrong kind counts as absent, apart from
/// what makes up the type.
pub(super) fn read_schema(node: &Node<'_>, settings: &Settings) -> Result<Option<Arc<Schema>>, ConvertError> {
    if *node == Node::Null {
        return Ok(None);
    }
    let mut schema = Schema::required(read_type(node, settings)?);
    schema.optional = node.get("optional") == Some(&Node::Boolean(true));
    schema.name = read_text(node, "name");
    schema.version = match node.get("version") {
        Some(Node::Number(version)) if version.integral => Some(version.low_bits()? as i32),
        _ => None,
    };
    schema.doc = read_text(node, "doc");
    schema.parameters = read_parameters(node)?;
    let schema = Arc::new(schema);
    match node.get("default") {
        Some(default) => with_default(schema, default, settings).map(Some),
        None => Ok(Some(schema)),
    }
}

/// The default is read, and checked, under the schema as it is without it.
fn with_default(schema: Arc<Schema>, default: &Node<'_>, settings: &Settings) -> Result<Arc<Schema>, ConvertError> {
    let default = read_payload(Some(default), Some(&schema), settings).map_err(|error| error.at("default"))?;
    if default.is_null() {
        return Ok(schema);
    }
    if matches!(schema.kind, SchemaType::Struct(_)) {
        return Err(ConvertError::Data("the schema of a struct cannot have a default in JSON".to_owned()));
    }
    schema.validate(&default)?;
    Ok(Arc::new(Schema { default: Some(default), ..(*schema).clone() }))
}

fn read_type(node: &Node<'_>, settings: &Settings) -> Result<SchemaType, ConvertError> {
    let Some(name) = node.get("type").and_then(Node::as_text) else {
        return Err(ConvertError::Data("a schema must have a `type`".to_owned()));
    };
    Ok(match name {
        "boolean" => SchemaType::Boolean,
        "int8" => SchemaType::Int8,
        "int16" => SchemaType::Int16,
        "int32" => SchemaType::Int32,
        "int64" => SchemaType::Int64,
        "float" => SchemaType::Float32,
        "double" => SchemaType::Float64,
        "bytes" => SchemaType::Bytes,
        "string" => SchemaType::String,
        "array" => SchemaType::Array(Some(read_part(node, "items", settings)?)),
        "map" => SchemaType::Map(Some(read_part(node, "keys", settings)?), Some(read_part(node, "values", settings)?)),
        "struct" => SchemaType::Struct(read_fields(node, settings)?),
        _ => return Err(ConvertError::Data(format!("`{name}` is no type of schema"))),
    })
}

/// A schema that another one is made of.
fn read_part(node: &Node<'_>, key: &str, settings: &Settings) -> Result<Arc<Schema>, ConvertError> {
    let part = match node.get(key) {
        Some(part) => read_schema(part, settings)?,
        None => None,
    };
    part.ok_or_else(|| ConvertError::Data(format!("the schema of an array or map does not name its `{key}`")))
}

fn read_fields(node: &Node<'_>, settings: &Settings) -> Result<Vec<Field>, ConvertError> {
    let Some(Node::Array(nodes)) = node.get("fields") else {
        return Err(ConvertError::Data("the schema of a struct needs an array `fields`".to_owned()));
    };
    let mut names = std::collections::HashSet::new();
    let mut fields = Vec::with_capacity(nodes.len());
    for node in nodes {
        let name = node.get("field").and_then(Node::as_text).filter(|name| !name.is_empty());
        let Some(name) = name else {
            return Err(ConvertError::Data("a field of a struct has no name".to_owned()));
        };
        if !names.insert(name) {
            return Err(ConvertError::Data(format!("the field `{name}` is there twice")));
        }
        let Some(schema) = read_schema(node, settings)? else {
            return Err(ConvertError::Data(format!("the field `{name}` has no schema")));
        };
        fields.push(Field { name: name.into(), schema });
    }
    Ok(fields)
}

/// Texts only; an empty object is as good as none.
fn read_parameters(node: &Node<'_>) -> Result<Option<Parameters>, ConvertError> {
    let Some(Node::Object(members)) = node.get("parameters") else { return Ok(None) };
    let parameters = members.iter().map(|(key, value)| match value.as_text() {
        Some(value) => Ok((Arc::from(&**key), Arc::from(value))),
        None => Err(ConvertError::Data(format!("the parameter `{key}` of a schema is no text"))),
    });
    let parameters = parameters.collect::<Result<Vec<_>, _>>()?;
    Ok(Some(parameters).filter(|parameters| !parameters.is_empty()))
}

fn read_text(node: &Node<'_>, key: &str) -> Option<Arc<str>> {
    node.get(key).and_then(Node::as_text).map(Arc::from)
}
