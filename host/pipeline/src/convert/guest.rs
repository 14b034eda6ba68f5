//! Converters of plugins. A call into a sandbox has its price, so they take a batch as a whole: after the
//! transforms on the way to Kafka, before them on the way from it.

use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_model::plugin::PluginCatalog;

use super::{ConvertError, Role, is_builtin};
use crate::batch::{Batch, Column, Items, Values};
use crate::guest::{GuestFailure, Name};
use crate::ports::{Aliased, Converted, ConverterTask};
use crate::tolerance::{Fault, Stage};
use crate::transform::passage::{Passage, Sent};

/// The converters of a connector's configuration that are plugins.
pub fn guests(connector: &RawConfig, catalog: &PluginCatalog) -> Vec<(Role, Aliased)> {
    let own = Role::ALL.into_iter().filter_map(|role| Some((role, Aliased::converter(role, connector)?)));
    own.filter(|(role, converter)| is_guest(&converter.class, *role, catalog)).collect()
}

pub(super) fn is_guest(class: &str, role: Role, catalog: &PluginCatalog) -> bool {
    !is_builtin(class, role) && catalog.knows(class, role.kind())
}

impl Aliased {
    /// The converter that a configuration names for a role.
    pub fn converter(role: Role, config: &RawConfig) -> Option<Self> {
        let (key, class) = (role.key(), config.get(role.key())?);
        Some(Self {
            alias: key.to_owned(),
            class: class.trim().to_owned(),
            config: config.with_prefix(&format!("{key}.")),
        })
    }
}

/// A converter of a plugin in its role.
#[derive(Clone)]
pub struct GuestConverter {
    pub(super) role: Role,
    pub(super) name: Name,
    pub(super) task: Arc<dyn ConverterTask>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    FromConnect,
    ToConnect,
}

impl GuestConverter {
    /// Puts the bytes for Kafka in place of what the records have.
    #[expect(clippy::wrong_self_convention, reason = "what Connect calls it")]
    pub(crate) async fn from_connect(&self, passage: &mut Passage) -> Result<(), GuestFailure> {
        self.convert(passage, Way::FromConnect).await
    }

    /// Puts what Connect is to see in place of the bytes from Kafka.
    pub(crate) async fn to_connect(&self, passage: &mut Passage) -> Result<(), GuestFailure> {
        self.convert(passage, Way::ToConnect).await
    }

    async fn convert(&self, passage: &mut Passage, way: Way) -> Result<(), GuestFailure> {
        let live = passage.live();
        let Sent { batch, from, .. } = passage.send(live);
        let records = owners(&batch, self.role);
        let items = items(&batch, self.role, way, &records);
        if items.column.count == 0 {
            return Ok(());
        }
        let answer = match way {
            Way::FromConnect => self.task.from_connect(Arc::new(items)).await,
            Way::ToConnect => self.task.to_connect(Arc::new(items)).await,
        };
        let Converted { column, failed } = answer.map_err(|error| self.name.failed("converter", error))?;
        passage.receive(&from, replace(&batch, self.role, &column), |error| self.fault(error));
        for (item, message) in failed {
            passage.fail(from[records[item]], self.fault(ConvertError::Data(message)));
        }
        Ok(())
    }

    fn fault(&self, error: ConvertError) -> Fault {
        let stage = match self.role {
            Role::Key => Stage::KeyConverter,
            Role::Value => Stage::ValueConverter,
            Role::Header => Stage::HeaderConverter,
        };
        Fault::of(stage, self.name.class.clone(), error)
    }
}

fn column(batch: &Batch, role: Role) -> &Values {
    match role {
        Role::Key => &batch.keys,
        Role::Value => &batch.values,
        Role::Header => &batch.headers,
    }
}

/// The place of the record that each item belongs to.
fn owners(batch: &Batch, role: Role) -> Vec<usize> {
    match role {
        Role::Key | Role::Value => (0..batch.count).collect(),
        Role::Header => {
            let counts = batch.header_count.iter().enumerate();
            counts.flat_map(|(record, count)| std::iter::repeat_n(record, *count as usize)).collect()
        }
    }
}

/// What a converter gets of a batch. Bytes from Kafka have no schema, whatever stands for them in the batch.
fn items(batch: &Batch, role: Role, way: Way, owners: &[usize]) -> Items {
    let mut data = Vec::new();
    for record in batch.records() {
        match role {
            Role::Key => data.extend_from_slice(record.key.bytes),
            Role::Value => data.extend_from_slice(record.value.bytes),
            Role::Header => record.headers().for_each(|(_, item)| data.extend_from_slice(item.bytes)),
        }
    }
    let topic = owners.iter().filter_map(|record| batch.topic.get(*record).copied()).collect();
    let mut values = column(batch, role).clone();
    let mut schemas = Arc::clone(&batch.schemas);
    if way == Way::ToConnect {
        values.schema = Vec::new();
        schemas = Arc::default();
    }
    let (header_keys, header_key) = match role {
        Role::Key | Role::Value => (Vec::new(), Vec::new()),
        Role::Header => (batch.header_keys.clone(), batch.header_key.clone()),
    };
    let column = Column { count: owners.len(), schemas, values, data: data.into() };
    Items { column, topics: batch.topics.clone(), topic, header_keys, header_key }
}

/// The batch with what a converter made of its items.
fn replace(batch: &Batch, role: Role, column: &Column) -> Batch {
    let mut items = column.iter();
    let mut item = || items.next().map_or_else(Default::default, |item| item.bytes);
    let mut data = Vec::with_capacity(batch.data.len() + column.data.len());
    for record in batch.records() {
        data.extend_from_slice(if role == Role::Key { item() } else { record.key.bytes });
        data.extend_from_slice(if role == Role::Value { item() } else { record.value.bytes });
        for (_, header) in record.headers() {
            data.extend_from_slice(if role == Role::Header { item() } else { header.bytes });
        }
    }
    let mut replaced = Batch { data: data.into(), ..batch.clone() };
    let mut values = column.values.clone();
    if values.schema.iter().any(|number| *number > 0) {
        let known = batch.schemas.len() as u32;
        values.schema.iter_mut().filter(|number| **number > 0).for_each(|number| *number += known);
        replaced.schemas = Arc::new(batch.schemas.iter().chain(&*column.schemas).cloned().collect());
    }
    *match role {
        Role::Key => &mut replaced.keys,
        Role::Value => &mut replaced.values,
        Role::Header => &mut replaced.headers,
    } = values;
    replaced
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use bulkhead_model::value::{Schema, SchemaType, Value};
    use bytes::Bytes;

    use super::*;
    use crate::batch::Encoding;
    use crate::ports::{BoxFuture, PluginError};
    use crate::transform::passage::Outcome;

    /// Answers with what it was given, and keeps what it is asked.
    struct Fixed(Converted, Mutex<Option<Arc<Items>>>);

    impl ConverterTask for Fixed {
        fn from_connect(&self, items: Arc<Items>) -> BoxFuture<Result<Converted, PluginError>> {
            self.to_connect(items)
        }

        fn to_connect(&self, items: Arc<Items>) -> BoxFuture<Result<Converted, PluginError>> {
            items.check().unwrap();
            *self.1.lock().unwrap() = Some(items);
            let converted = self.0.clone();
            Box::pin(async { Ok(converted) })
        }
    }

    fn schema(kind: SchemaType) -> Arc<Schema> {
        Arc::new(Schema::required(kind))
    }

    fn column(items: &[(Encoding, u32, &[u8])], schemas: Vec<Arc<Schema>>) -> Column {
        let values = Values {
            encoding: items.iter().map(|item| item.0).collect(),
            schema: items.iter().map(|item| item.1).collect(),
            len: items.iter().map(|item| item.2.len() as u32).collect(),
        };
        let data = items.iter().flat_map(|item| item.2).copied().collect();
        Column { count: items.len(), schemas: Arc::new(schemas), values, data }
    }

    /// Two records: a key of schema 1 each, and headers for the second one.
    fn batch() -> Batch {
        Batch {
            count: 2,
            topics: vec!["t".into(), "u".into()],
            topic: vec![1, 0],
            schemas: Arc::new(vec![schema(SchemaType::Bytes)]),
            keys: Values { schema: vec![1, 1], len: vec![1, 2], ..Values::default() },
            values: Values { len: vec![1, 1], ..Values::default() },
            header_count: vec![0, 2],
            header_keys: vec!["h".into()],
            header_key: vec![0, 0],
            headers: Values { len: vec![1, 1], ..Values::default() },
            data: Bytes::from_static(b"kvKKVxy"),
            ..Batch::default()
        }
    }

    /// What becomes of the batch, and what the converter is asked.
    async fn converted(role: Role, way: Way, answer: Converted) -> (Vec<String>, Arc<Items>) {
        let fixed = Arc::new(Fixed(answer, Mutex::new(None)));
        let name = Name { alias: role.key().to_owned(), class: "test.Fixed".to_owned() };
        let guest = GuestConverter { role, name, task: fixed.clone() };
        let mut passage = Passage::new(Arc::new(batch()), Vec::new());
        guest.convert(&mut passage, way).await.unwrap();
        let shown = passage.outcomes().map(|outcome| match outcome {
            Outcome::Row(record) => {
                let parts = [record.key, record.value].into_iter().chain(record.headers().map(|(_, item)| item));
                let parts = parts.map(|item| {
                    let schema = item.schema.map(|schema| format!("{:?} ", schema.kind)).unwrap_or_default();
                    format!("{schema}{}", item.bytes.escape_ascii())
                });
                parts.collect::<Vec<_>>().join(", ")
            }
            Outcome::Tree(record) => format!("{:?}", record.key.value),
            Outcome::Dropped => "dropped".to_owned(),
            Outcome::Failed(fault) => format!("{} {}", fault.stage, fault.message),
        });
        let asked = fixed.1.lock().unwrap().clone().unwrap();
        (shown.collect(), asked)
    }

    #[tokio::test]
    async fn schemas_of_the_answer_are_told_from_those_of_the_batch() {
        let text = column(
            &[(Encoding::Text, 2, b"one"), (Encoding::None, 1, b"")],
            vec![schema(SchemaType::Int8), schema(SchemaType::String)],
        );
        let answer = Converted { column: text, failed: Vec::new() };
        let (shown, asked) = converted(Role::Value, Way::FromConnect, answer).await;
        assert_eq!(shown, ["Bytes k, String one", "Bytes KK, Int8 , x, y"]);
        assert_eq!((asked.topic.as_slice(), &asked.column.data[..]), (&[1, 0][..], &b"vV"[..]));
    }

    #[tokio::test]
    async fn bytes_from_kafka_have_no_schema() {
        let answer = Converted {
            column: column(&[(Encoding::Text, 0, b"a"), (Encoding::Text, 0, b"")], Vec::new()),
            failed: Vec::new(),
        };
        let (shown, asked) = converted(Role::Key, Way::ToConnect, answer.clone()).await;
        assert_eq!(shown, ["a, v", ", V, x, y"]);
        assert!(asked.column.schemas.is_empty() && asked.column.values.schema.is_empty());
        let (_, asked) = converted(Role::Key, Way::FromConnect, answer).await;
        assert_eq!(asked.column.values.schema, [1, 1]);
    }

    #[tokio::test]
    async fn what_is_no_value_is_the_end_of_its_record_alone() {
        let int = || vec![schema(SchemaType::Int8)];
        for (items, schemas, expected) in [
            (
                [(Encoding::Text, 0, &b"\xff"[..]), (Encoding::Text, 0, b"a")],
                Vec::new(),
                ["KEY_CONVERTER the text is not UTF-8", "a, V, x, y"],
            ),
            ([(Encoding::Cbor, 1, &b"\x01"[..]), (Encoding::Text, 0, b"a")], int(), ["Int8 \\x01, v", "a, V, x, y"]),
        ] {
            let answer = Converted { column: column(&items, schemas), failed: Vec::new() };
            assert_eq!(converted(Role::Key, Way::ToConnect, answer).await.0, expected);
        }
        let items = [(Encoding::Cbor, 1, &b"\x61a"[..]), (Encoding::Json, 0, b"7")];
        let answer = Converted { column: column(&items, int()), failed: Vec::new() };
        let (shown, _) = converted(Role::Key, Way::ToConnect, answer).await;
        assert!(shown[0].starts_with("KEY_CONVERTER "), "{shown:?}");
        assert_eq!(shown[1], format!("{:?}", Value::Int64(7)));
    }

    #[tokio::test]
    async fn a_header_that_fails_is_found_by_its_place() {
        let items = [(Encoding::Text, 0, &b"X"[..]), (Encoding::None, 0, b"")];
        let answer = Converted { column: column(&items, Vec::new()), failed: vec![(1, "odd".to_owned())] };
        let (shown, asked) = converted(Role::Header, Way::ToConnect, answer).await;
        assert_eq!(shown, ["Bytes k, v", "HEADER_CONVERTER odd"]);
        assert_eq!((asked.topic.as_slice(), asked.header_key.as_slice()), (&[0, 0][..], &[0, 0][..]));
    }
}
