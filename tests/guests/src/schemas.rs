//! Schemas that no SDK would register, and values that don't fit theirs.

use bulkhead_sdk::bindings::base::bulkhead::connect::schemas::register;
use bulkhead_sdk::bindings::base::bulkhead::connect::types::{SchemaField, SchemaNode, SchemaType};
use bulkhead_sdk::bindings::source::exports::bulkhead::connect::source_task::SourceBatch;
use bulkhead_sdk::prelude::*;

use crate::malformed::two_records;
use crate::modes;

modes! {
    /// What is wrong with a schema.
    BadSchema {
        /// A node that is its own element.
        Circle = "circle",
        /// A field whose node doesn't exist.
        MissingNode = "missing-node",
        /// An array without an element.
        NoElement = "no-element",
        /// Two fields of one name.
        SameField = "same-field",
        /// A default that isn't of the type.
        Default = "default",
        /// No node at all.
        Empty = "empty",
        /// A record whose schema nobody registered.
        Unregistered = "unregistered",
        /// A record whose value doesn't fit its schema.
        Mismatch = "mismatch",
    }
}

/// Registers the schema and fails with the worker's answer; or sends a batch that misuses one.
pub(crate) fn bad(batch: &mut Batch, bad: BadSchema) -> Result<()> {
    let nodes = match bad {
        BadSchema::Circle => vec![SchemaNode { element: Some(0), ..node(SchemaType::Array) }],
        BadSchema::MissingNode => vec![record([field("a", 77)])],
        BadSchema::NoElement => vec![node(SchemaType::Array)],
        BadSchema::SameField => vec![node(SchemaType::Text), record([field("a", 0), field("a", 0)])],
        BadSchema::Default => vec![SchemaNode { default_value: Some(vec![0x01]), ..node(SchemaType::Text) }],
        BadSchema::Empty => vec![],
        BadSchema::Unregistered => {
            batch.send_unchecked(under(999));
            return Ok(());
        }
        BadSchema::Mismatch => {
            batch.send_unchecked(under(register(&[node(SchemaType::Int32)])?));
            return Ok(());
        }
    };
    let number = register(&nodes)?;
    Err(Error::failed(format!("the worker took a bad schema, as number {number}")))
}

fn under(schema: u32) -> SourceBatch {
    let mut batch = two_records();
    batch.records.values.schema = vec![schema, schema];
    batch
}

pub(crate) fn node(kind: SchemaType) -> SchemaNode {
    SchemaNode {
        kind,
        optional: false,
        name: None,
        version: None,
        doc: None,
        parameters: vec![],
        default_value: None,
        key: None,
        element: None,
        fields: vec![],
    }
}

fn record<const N: usize>(fields: [SchemaField; N]) -> SchemaNode {
    SchemaNode { fields: fields.into(), ..node(SchemaType::StructOf) }
}

fn field(name: &str, node: u32) -> SchemaField {
    SchemaField { name: name.to_owned(), node }
}
