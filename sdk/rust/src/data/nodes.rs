//! Schemas as they travel: a list of nodes, children before parents, the root last.

use std::rc::Rc;

use super::Schema;
use super::schema::{Node, Number};
use crate::bindings::base::bulkhead::connect::types::{SchemaField, SchemaNode};
use crate::{Error, Result};

impl Schema {
    pub(crate) fn to_nodes(&self) -> Vec<SchemaNode> {
        let mut nodes = Vec::new();
        self.append_to(&mut nodes);
        nodes
    }

    /// Appends the tree and answers with the root's index.
    fn append_to(&self, nodes: &mut Vec<SchemaNode>) -> u32 {
        let node = &self.0;
        let key = node.key.as_ref().map(|key| key.append_to(nodes));
        let element = node.element.as_ref().map(|element| element.append_to(nodes));
        let field = |(name, schema): &(String, Self)| SchemaField { name: name.clone(), node: schema.append_to(nodes) };
        let fields = node.fields.iter().map(field).collect();
        nodes.push(SchemaNode {
            kind: node.kind,
            optional: node.optional,
            name: node.name.clone(),
            version: node.version,
            doc: node.doc.clone(),
            parameters: node.parameters.clone(),
            default_value: node.default.clone(),
            key,
            element,
            fields,
        });
        u32::try_from(nodes.len() - 1).expect("a schema has fewer than 2^32 nodes")
    }

    pub(crate) fn from_nodes(nodes: Vec<SchemaNode>) -> Result<Self> {
        let malformed = || Error::failed("a schema refers to a node that doesn't come before it");
        let mut built: Vec<Self> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let earlier = |index: u32| built.get(index as usize).cloned().ok_or_else(malformed);
            let fields = node.fields.into_iter().map(|field| Ok((field.name, earlier(field.node)?)));
            let node = Node {
                kind: node.kind,
                optional: node.optional,
                name: node.name,
                version: node.version,
                doc: node.doc,
                parameters: node.parameters,
                default: node.default_value,
                key: node.key.map(earlier).transpose()?,
                element: node.element.map(earlier).transpose()?,
                fields: fields.collect::<Result<_>>()?,
                id: Number::default(),
            };
            built.push(Self(Rc::new(node)));
        }
        built.pop().ok_or_else(malformed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_survives_the_way_to_the_worker_and_back() {
        let point = Schema::record("Point").field("x", Schema::int32()).field("label", Schema::text().optional());
        let schema = Schema::record("Shape")
            .doc("what it is")
            .version(2)
            .field("points", Schema::array(point.clone()))
            .field("by_name", Schema::map(Schema::text(), point))
            .field("size", Schema::decimal(2).optional());
        let nodes = schema.to_nodes();
        assert_eq!(Schema::from_nodes(nodes).unwrap(), schema);
    }

    #[test]
    fn a_node_that_refers_to_itself_is_refused() {
        let mut nodes = Schema::array(Schema::int8()).to_nodes();
        nodes[1].element = Some(1);
        assert!(Schema::from_nodes(nodes).is_err());
    }
}
