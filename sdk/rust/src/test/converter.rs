use std::fmt;
use std::marker::PhantomData;

use super::block_on;
use super::seen::{registered_schemas, schema_definitions};
use crate::bindings::base::bulkhead::connect::types::{Failure, RecordBatch};
use crate::bindings::converter::exports::bulkhead::connect::converter::{Converted, ValueBatch};
use crate::component::start_converter;
use crate::config::RawConfig;
use crate::converter::{Converter, ConverterDriver, Role};
use crate::data::{Schema, Value};
use crate::part::Part;
use crate::sink::{Payload, SinkBatch, SinkRecord};
use crate::source::columns::encoding::BYTES;
use crate::source::columns::{Item, RecordColumns};
use crate::{Error, Result, logging};

/// Runs a converter, as the worker would.
pub struct ConverterRun<C> {
    driver: ConverterDriver,
    topic: String,
    header_key: Option<String>,
    converter: PhantomData<C>,
}

/// A value and its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaAndValue {
    /// None if the value is schemaless.
    pub schema: Option<Schema>,
    /// What was given as JSON is seen as its text.
    pub value: Value<'static>,
}

impl<C: Converter> ConverterRun<C> {
    /// Starts a converter with what a configuration would have below `key.converter.` and its like. Panics if it doesn't
    /// start.
    pub fn start(config: impl Into<RawConfig>, role: Role) -> Self {
        Self::try_start(config, role).unwrap_or_else(|error| panic!("the converter doesn't start: {error}"))
    }

    /// The same, or says why it doesn't start.
    pub fn try_start(config: impl Into<RawConfig>, role: Role) -> Result<Self> {
        logging::init();
        let driver = block_on(start_converter::<C>(config.into(), role))?;
        let header_key = (role == Role::Header).then(|| "header".to_owned());
        Ok(Self { driver, topic: "topic".to_owned(), header_key, converter: PhantomData })
    }

    /// The topic of what is converted from now on.
    pub fn set_topic(&mut self, topic: impl Into<String>) {
        self.topic = topic.into();
    }

    /// The header whose values are converted from now on.
    pub fn set_header_key(&mut self, key: impl Into<String>) {
        self.header_key = Some(key.into());
    }

    /// Converts a value to what is in Kafka: bytes, or none for null. An error is that of the item or of the whole call.
    pub fn from_connect<'v>(
        &mut self,
        schema: impl Into<Option<&'v Schema>>,
        value: impl Into<Value<'v>>,
    ) -> Result<Option<Vec<u8>>> {
        only(self.all_from_connect([(schema.into(), value.into())])?)
    }

    /// Converts what is in Kafka to a value. Errors are as above.
    pub fn to_connect(&mut self, bytes: Option<&[u8]>) -> Result<SchemaAndValue> {
        only(self.all_to_connect([bytes])?)
    }

    /// Converts several values in one call, each to bytes or an error of its own.
    pub fn all_from_connect<'v>(
        &mut self,
        values: impl IntoIterator<Item = (Option<&'v Schema>, Value<'v>)>,
    ) -> Result<Vec<Result<Option<Vec<u8>>>>> {
        let parts = values.into_iter().map(|(schema, value)| Part::new(schema, &value));
        let batch = self.batch(parts.collect::<Result<Vec<_>>>()?.iter().map(Item::from))?;
        let (count, converted) = (batch.count, block_on(self.driver.from_connect(batch))?);
        each(count, converted, |made| match made.as_bytes() {
            None if made.is_null() => Ok(None),
            None => Err(Error::failed("what goes to Kafka is bytes or null")),
            Some(bytes) => Ok(Some(bytes.to_vec())),
        })
    }

    /// Converts several items from Kafka in one call.
    pub fn all_to_connect<'v>(
        &mut self,
        items: impl IntoIterator<Item = Option<&'v [u8]>>,
    ) -> Result<Vec<Result<SchemaAndValue>>> {
        let null = Part::null();
        let item = |bytes: Option<&'v [u8]>| {
            bytes.map_or(Item::from(&null), |bytes| Item { encoding: BYTES, schema: 0, bytes })
        };
        let batch = self.batch(items.into_iter().map(item))?;
        let (count, converted) = (batch.count, block_on(self.driver.to_connect(batch))?);
        each(count, converted, |made| {
            Ok(SchemaAndValue { schema: made.schema().cloned(), value: made.decode_or_json()?.into_owned() })
        })
    }

    fn batch<'a>(&self, items: impl Iterator<Item = Item<'a>>) -> Result<ValueBatch> {
        let (mut columns, mut count) = (RecordColumns::with_capacity(0), 0);
        for item in items {
            columns.values.append(count, item, 0, &mut columns.data);
            count += 1;
        }
        let RecordBatch { count, values, data, .. } = columns.finish(count)?;
        Ok(ValueBatch {
            count,
            topics: vec![self.topic.clone()],
            schemas: schema_definitions(),
            topic: Vec::new(),
            header_keys: self.header_key.iter().cloned().collect(),
            header_key: Vec::new(),
            items: values,
            data,
        })
    }
}

/// What became of each item.
fn each<T>(count: u32, converted: Converted, read: impl Fn(Payload<'_>) -> Result<T>) -> Result<Vec<Result<T>>> {
    let Converted { schemas: _, items, data, failed } = converted;
    let mut records = RecordColumns::with_capacity(0).finish(0)?;
    (records.count, records.values, records.data) = (count, items, data);
    let made = SinkBatch::of_records(records, Vec::new(), registered_schemas()?);
    let item = |record: SinkRecord<'_>| match failed.iter().find(|failure| failure.index == record.index()) {
        Some(Failure { message, .. }) => Err(Error::data(message.clone())),
        None => read(record.value()),
    };
    Ok(made.iter().map(item).collect())
}

fn only<T>(mut all: Vec<Result<T>>) -> Result<T> {
    all.pop().expect("one item came, so one goes")
}

impl<C> fmt::Debug for ConverterRun<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConverterRun").finish_non_exhaustive()
    }
}
