//! Converters in their sandboxes.

use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_pipeline::batch::{Column, Encoding, Items};
use bulkhead_pipeline::convert::Role;
use bulkhead_pipeline::ports::{BoxFuture, Converted, ConverterTask, PluginError};
use bytes::Bytes;

use super::batch::{self, Refused};
use super::bindings::exports::bulkhead::connect::converter;
use super::convert::config as guest_config;
use super::exports::{Converter, ItemFunction};
use super::lower::ValueBatch;
use super::part::PartInstance;
use super::wit::types::Failure;
use crate::host::Schemas;
use crate::instance::Op;

/// One converter of a task.
pub(crate) struct SandboxedConverter(Arc<PartInstance>);

impl SandboxedConverter {
    pub(crate) async fn configure(
        instance: PartInstance,
        class: String,
        config: &RawConfig,
        role: Role,
    ) -> Result<Self, PluginError> {
        let config = guest_config(config);
        let configured = instance.configure(move |accessor, exports| {
            Box::pin(
                async move { exports.converter()?.guest.call_configure(accessor, class, config, role.into()).await },
            )
        });
        configured.await.map(Self)
    }

    fn convert(
        &self,
        op: Op,
        items: Arc<Items>,
        function: fn(&Converter) -> ItemFunction,
        check: fn(&Converted) -> Result<(), Refused>,
    ) -> BoxFuture<Result<Converted, PluginError>> {
        let count = items.column.count;
        self.0.ask(
            op,
            count,
            move |exports| Ok(function(exports.converter()?)),
            move |schemas| {
                let numbering = schemas.show(&items.column.schemas)?;
                Ok((ValueBatch::lower(&items, numbering),))
            },
            move |schemas, answer| {
                let converted = converted(answer, count, schemas)?;
                check(&converted)?;
                Ok(converted)
            },
        )
    }
}

impl ConverterTask for SandboxedConverter {
    fn from_connect(&self, items: Arc<Items>) -> BoxFuture<Result<Converted, PluginError>> {
        self.convert(Op::FromConnect, items, |converter| converter.from_connect, for_kafka)
    }

    fn to_connect(&self, items: Arc<Items>) -> BoxFuture<Result<Converted, PluginError>> {
        self.convert(Op::ToConnect, items, |converter| converter.to_connect, |_| Ok(()))
    }
}

impl From<Role> for converter::Role {
    fn from(role: Role) -> Self {
        match role {
            Role::Key => Self::Key,
            Role::Value => Self::Value,
            Role::Header => Self::Header,
        }
    }
}

/// Takes over what a converter made of `count` items, or says what is wrong with it.
fn converted(answer: converter::Converted, count: usize, schemas: &mut Schemas) -> Result<Converted, Refused> {
    batch::in_order(&answer.failed, count, |failure| failure.index)?;
    let failed = answer.failed.into_iter().map(|Failure { index, message }| (index as usize, message));
    let column = Column {
        count,
        schemas: schemas.take(answer.schemas).map_err(Refused::Schemas)?,
        values: batch::values("items", answer.items)?,
        data: Bytes::from(answer.data),
    };
    column.check()?;
    Ok(Converted { column, failed: failed.collect() })
}

/// Whether all that was converted can be written to Kafka.
fn for_kafka(converted: &Converted) -> Result<(), Refused> {
    let mut failed = converted.failed.iter().map(|(index, _)| *index).peekable();
    for (index, item) in converted.column.iter().enumerate() {
        if failed.next_if_eq(&index).is_some() {
            continue;
        }
        let what = match item.encoding {
            Encoding::None | Encoding::Bytes if item.schema.is_none() => continue,
            Encoding::None | Encoding::Bytes => "has a schema",
            Encoding::Text => "is text",
            Encoding::Cbor => "is CBOR",
            Encoding::Json => "is JSON text",
        };
        return Err(Refused::NotForKafka { index, what });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v0_1::schema::tests::node;
    use crate::v0_1::wit::types::{SchemaDef, SchemaType, Values};

    fn text_schema(id: u32) -> SchemaDef {
        SchemaDef { id, nodes: vec![node(SchemaType::Text)] }
    }

    fn two_items() -> converter::Converted {
        converter::Converted {
            schemas: vec![text_schema(1)],
            items: Values { encoding: vec![2, 0], schema: vec![1, 0], len: vec![3, 0] },
            data: b"abc".to_vec(),
            failed: Vec::new(),
        }
    }

    fn failures(indexes: &[u32]) -> Vec<Failure> {
        indexes.iter().map(|index| Failure { index: *index, message: "no".to_owned() }).collect()
    }

    type Change = fn(&mut converter::Converted);

    /// What becomes of an answer on two items.
    fn check(change: Change, also: fn(&Converted) -> Result<(), Refused>) -> String {
        let mut answer = two_items();
        change(&mut answer);
        let converted = converted(answer, 2, &mut Schemas::default());
        match converted.and_then(|converted| also(&converted).map(|()| converted)) {
            Ok(Converted { column, failed }) => format!("{} items, failed: {failed:?}", column.iter().count()),
            Err(refused) => refused.to_string(),
        }
    }

    #[test]
    fn there_is_one_item_for_each_that_came_or_the_answer_is_refused() {
        for (change, expected) in [
            ((|_| ()) as Change, "2 items, failed: []"),
            (|answer| answer.failed = failures(&[1]), "2 items, failed: [(1, \"no\")]"),
            (|answer| answer.items.len.push(0), "the batch is malformed: column `items` has 3 entries where 2 are due"),
            (
                |answer| answer.items.encoding.truncate(1),
                "the batch is malformed: column `items` has 1 entries where 2 are due",
            ),
            (
                |answer| answer.items.len[1] = u32::MAX,
                "the batch is malformed: the lengths add up to 4294967298 bytes, the buffer has 3",
            ),
            (
                |answer| answer.items.encoding[0] = 5,
                "the batch is malformed: column `items` has the unknown encoding 5",
            ),
            (
                |answer| answer.items.schema[1] = 2,
                "the batch is malformed: column `items` refers to entry 2 of a pool of 1",
            ),
            (|answer| answer.schemas[0].id = 7, "the batch calls schema number 1 by the number 7"),
            (|answer| answer.failed = failures(&[2]), "the answer names place 2 of 2"),
            (|answer| answer.failed = failures(&[1, 0]), "the answer names place 0 twice, or after a later one"),
            (|answer| answer.failed = failures(&[1, 1]), "the answer names place 1 twice, or after a later one"),
        ] {
            assert_eq!(check(change, |_| Ok(())), expected);
        }
    }

    #[test]
    fn to_kafka_go_bytes_and_null_without_schemas_but_what_failed_goes_nowhere() {
        for (change, expected) in [
            ((|answer| answer.items.encoding.clear()) as Change, "item 0 of the answer has a schema"),
            (
                |answer| (answer.items.encoding, answer.items.schema) = (vec![1, 0], vec![0, 1]),
                "item 1 of the answer has a schema",
            ),
            (|_| (), "item 0 of the answer is text"),
            (|answer| answer.items.encoding[0] = 3, "item 0 of the answer is CBOR"),
            (|answer| answer.items.encoding[0] = 4, "item 0 of the answer is JSON text"),
        ] {
            assert_eq!(
                check(change, for_kafka),
                format!("{expected}; only bytes and null, without schemas, go to Kafka")
            );
        }
        for change in
            [(|answer| (answer.items.encoding, answer.items.schema) = (vec![1, 0], vec![])) as Change, |answer| {
                (answer.items.encoding, answer.items.schema) = (vec![], vec![])
            }]
        {
            assert_eq!(check(change, for_kafka), "2 items, failed: []");
        }
        assert_eq!(check(|answer| answer.failed = failures(&[0]), for_kafka), "2 items, failed: [(0, \"no\")]");
    }
}
