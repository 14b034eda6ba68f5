//! Schemas: lists of nodes on the guest's side, trees on ours.

use std::collections::HashSet;
use std::sync::Arc;

use bulkhead_model::value::{Field, Schema, SchemaType};
use bulkhead_pipeline::cbor;

use sha2::{Digest, Sha256};

use super::wit::types::{SchemaField, SchemaNode, SchemaType as Kind};

/// Nodes of one schema, counted as often as the tree has them: a few nodes that refer to one another
/// many times could make a tree without end.
const MAX_NODES: usize = 10_000;
const MAX_DEPTH: usize = 64;

/// A schema as a guest gave it.
pub(crate) struct Given {
    pub(crate) schema: Arc<Schema>,
    /// Equal for equal schemas, however their nodes were arranged.
    pub(crate) digest: [u8; 32],
    /// Bytes of text in all its nodes.
    pub(crate) weight: usize,
}

/// A node made into a tree, with the size that the tree has.
struct Built {
    given: Given,
    nodes: usize,
    depth: usize,
}

/// The tree whose root is the last node.
pub(crate) fn from_nodes(nodes: Vec<SchemaNode>) -> Result<Given, String> {
    if nodes.len() > MAX_NODES {
        return Err(too_large());
    }
    let mut built: Vec<Built> = Vec::with_capacity(nodes.len());
    for (index, node) in nodes.into_iter().enumerate() {
        let next = build(node, &built).map_err(|why| format!("schema node {index}: {why}"))?;
        built.push(next);
    }
    let root = built.pop().ok_or("a schema needs a node")?;
    Ok(root.given)
}

fn build(node: SchemaNode, before: &[Built]) -> Result<Built, String> {
    let (kind, children) = kind(&node, before)?;
    let nodes = children.iter().map(|child| child.nodes).sum::<usize>() + 1;
    let depth = children.iter().map(|child| child.depth).max().unwrap_or(0) + 1;
    if nodes > MAX_NODES || depth > MAX_DEPTH {
        return Err(too_large());
    }
    let (digest, own_weight) = digest(&node, &children);
    let weight = children.iter().map(|child| child.given.weight).sum::<usize>() + own_weight;
    let mut schema = Schema {
        kind,
        optional: node.optional,
        name: node.name.map(Arc::from),
        version: node.version,
        doc: node.doc.map(Arc::from),
        parameters: parameters(node.parameters),
        default: None,
    };
    if let Some(default) = node.default_value {
        let value = cbor::read(&default, Some(&Arc::new(schema.clone())));
        schema.default = Some(value.map_err(|error| format!("the default value is no such value: {error}"))?);
    }
    let given = Given { schema: Arc::new(schema), digest, weight };
    Ok(Built { given, nodes, depth })
}

/// Digest of a node and all below it, and the bytes of its own texts.
fn digest(node: &SchemaNode, children: &[&Built]) -> ([u8; 32], usize) {
    let fields: Vec<_> = node.fields.iter().map(|field| &field.name).collect();
    let SchemaNode { kind, optional, name, version, doc, parameters, default_value, .. } = node;
    let own = format!("{kind:?} {optional} {name:?} {version:?} {doc:?} {parameters:?} {default_value:?} {fields:?}");
    let mut digest = Sha256::new_with_prefix(&own);
    for child in children {
        digest.update(child.given.digest);
    }
    (digest.finalize().into(), own.len())
}

fn parameters(parameters: Vec<(String, String)>) -> Option<Vec<(Arc<str>, Arc<str>)>> {
    if parameters.is_empty() {
        return None;
    }
    let shared = parameters.into_iter().map(|(key, value)| (Arc::from(key), Arc::from(value)));
    Some(shared.collect())
}

/// A node's type, and the nodes it is made of.
fn kind<'a>(node: &SchemaNode, before: &'a [Built]) -> Result<(SchemaType, Vec<&'a Built>), String> {
    let find = |index: u32| {
        before.get(index as usize).ok_or_else(|| format!("refers to node {index}, which is not before it"))
    };
    let part = |index: Option<u32>, what: &str| index.ok_or_else(|| format!("has no {what}")).and_then(find);
    let shared = |built: &Built| Arc::clone(&built.given.schema);
    let primitive = |kind| Ok((kind, Vec::new()));
    match node.kind {
        Kind::Int8 => primitive(SchemaType::Int8),
        Kind::Int16 => primitive(SchemaType::Int16),
        Kind::Int32 => primitive(SchemaType::Int32),
        Kind::Int64 => primitive(SchemaType::Int64),
        Kind::Float32 => primitive(SchemaType::Float32),
        Kind::Float64 => primitive(SchemaType::Float64),
        Kind::Boolean => primitive(SchemaType::Boolean),
        Kind::Text => primitive(SchemaType::String),
        Kind::Bytes => primitive(SchemaType::Bytes),
        Kind::Array => {
            let element = part(node.element, "element")?;
            Ok((SchemaType::Array(Some(shared(element))), vec![element]))
        }
        Kind::MapOf => {
            let (key, value) = (part(node.key, "key")?, part(node.element, "element")?);
            Ok((SchemaType::Map(Some(shared(key)), Some(shared(value))), vec![key, value]))
        }
        Kind::StructOf => {
            let children = node.fields.iter().map(|field| find(field.node));
            let children = children.collect::<Result<Vec<_>, _>>()?;
            let mut names = HashSet::new();
            if let Some(twice) = node.fields.iter().find(|field| !names.insert(&field.name)) {
                return Err(format!("has two fields `{}`", twice.name));
            }
            let fields = node
                .fields
                .iter()
                .zip(&children)
                .map(|(field, child)| Field { name: Arc::from(field.name.as_str()), schema: shared(child) });
            Ok((SchemaType::Struct(fields.collect()), children))
        }
    }
}

fn too_large() -> String {
    format!("a schema may have {MAX_NODES} nodes and {MAX_DEPTH} levels")
}

/// The nodes of a tree, children first, the root last.
pub(crate) fn to_nodes(schema: &Arc<Schema>) -> Vec<SchemaNode> {
    let mut nodes = Vec::new();
    push(schema, &mut nodes);
    nodes
}

fn push(schema: &Arc<Schema>, nodes: &mut Vec<SchemaNode>) -> u32 {
    let mut add = |part: &Option<Arc<Schema>>| part.as_ref().map(|part| push(part, nodes));
    let (kind, key, element) = match &schema.kind {
        SchemaType::Int8 => (Kind::Int8, None, None),
        SchemaType::Int16 => (Kind::Int16, None, None),
        SchemaType::Int32 => (Kind::Int32, None, None),
        SchemaType::Int64 => (Kind::Int64, None, None),
        SchemaType::Float32 => (Kind::Float32, None, None),
        SchemaType::Float64 => (Kind::Float64, None, None),
        SchemaType::Boolean => (Kind::Boolean, None, None),
        SchemaType::String => (Kind::Text, None, None),
        SchemaType::Bytes => (Kind::Bytes, None, None),
        SchemaType::Array(element) => (Kind::Array, None, add(element)),
        SchemaType::Map(key, value) => (Kind::MapOf, add(key), add(value)),
        SchemaType::Struct(_) => (Kind::StructOf, None, None),
    };
    let fields = schema
        .fields()
        .iter()
        .map(|field| SchemaField { name: field.name.to_string(), node: push(&field.schema, nodes) });
    let fields = fields.collect();
    nodes.push(SchemaNode {
        kind,
        optional: schema.optional,
        name: schema.name.as_deref().map(str::to_owned),
        version: schema.version,
        doc: schema.doc.as_deref().map(str::to_owned),
        parameters: own(schema.parameters.as_deref().unwrap_or_default()),
        default_value: default(schema),
        key,
        element,
        fields,
    });
    nodes.len() as u32 - 1
}

fn own(parameters: &[(Arc<str>, Arc<str>)]) -> Vec<(String, String)> {
    let texts = parameters.iter().map(|(key, value)| (key.to_string(), value.to_string()));
    texts.collect()
}

fn default(schema: &Arc<Schema>) -> Option<Vec<u8>> {
    let default = schema.default.as_ref()?;
    let mut bytes = Vec::new();
    match cbor::write(default, Some(schema), &mut bytes) {
        Ok(()) => Some(bytes),
        Err(error) => {
            tracing::debug!(%error, "A schema's default value is none of its own type; the guest won't see it.");
            None
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::v0_1) fn node(kind: Kind) -> SchemaNode {
        SchemaNode {
            kind,
            optional: false,
            name: None,
            version: None,
            doc: None,
            parameters: Vec::new(),
            default_value: None,
            key: None,
            element: None,
            fields: Vec::new(),
        }
    }

    fn structure(fields: &[(&str, u32)]) -> SchemaNode {
        let fields = fields.iter().map(|(name, node)| SchemaField { name: (*name).to_owned(), node: *node });
        SchemaNode { fields: fields.collect(), ..node(Kind::StructOf) }
    }

    fn refused(nodes: Vec<SchemaNode>) -> String {
        from_nodes(nodes).map(|_| ()).unwrap_err()
    }

    #[test]
    fn nodes_become_a_tree_and_back() {
        let default = SchemaNode { default_value: Some(vec![0x07]), ..node(Kind::Int32) };
        let nodes = vec![default, node(Kind::Text), structure(&[("a", 0), ("b", 1)])];
        let given = from_nodes(nodes.clone()).unwrap();
        assert_eq!(format!("{:?}", to_nodes(&given.schema)), format!("{nodes:?}"));
    }

    #[test]
    fn equal_schemas_have_equal_digests_however_their_nodes_are_arranged() {
        let shared = from_nodes(vec![node(Kind::Text), structure(&[("a", 0), ("b", 0)])]).unwrap();
        let apart = from_nodes(vec![node(Kind::Text), node(Kind::Text), structure(&[("a", 0), ("b", 1)])]).unwrap();
        let other = from_nodes(vec![node(Kind::Text), structure(&[("a", 0), ("c", 0)])]).unwrap();
        assert_eq!(shared.digest, apart.digest);
        assert_ne!(shared.digest, other.digest);
    }

    #[test]
    fn what_is_no_tree_is_refused() {
        assert_eq!(refused(Vec::new()), "a schema needs a node");
        assert_eq!(refused(vec![node(Kind::Array)]), "schema node 0: has no element");
        assert_eq!(refused(vec![structure(&[("self", 0)])]), "schema node 0: refers to node 0, which is not before it");
        let default = SchemaNode { default_value: Some(vec![0xff]), ..node(Kind::Int32) };
        assert!(refused(vec![default]).starts_with("schema node 0: the default value is no such value"));
    }

    #[test]
    fn a_few_nodes_cannot_make_a_tree_without_end() {
        let doubling = (0..40).map(|level: u32| match level.checked_sub(1) {
            Some(below) => structure(&[("a", below), ("b", below)]),
            None => node(Kind::Text),
        });
        let why = refused(doubling.collect());
        assert!(why.ends_with("a schema may have 10000 nodes and 64 levels"), "{why}");
    }
}
