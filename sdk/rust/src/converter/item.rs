use serde::Serialize;

use crate::bindings::converter::exports::bulkhead::connect::converter::ValueBatch;
use crate::data::{Schema, Value};
use crate::part::Part;
use crate::shown::Shown;
use crate::sink::{Payload, SinkBatch, SinkRecord};
use crate::source::columns::RecordColumns;
use crate::source::columns::encoding::{BYTES, JSON, TEXT};
use crate::{Error, Result};

/// The items of one call, as the values of records.
pub(super) struct Items {
    records: SinkBatch,
    /// Of all items.
    pub(super) bytes: usize,
    header_keys: Vec<String>,
    header_key: Vec<u32>,
}

impl Items {
    pub(super) fn new(batch: ValueBatch, shown: &mut Shown) -> Result<Self> {
        let ValueBatch { count, topics, schemas, topic, header_keys, header_key, items, data } = batch;
        let mut records = RecordColumns::with_capacity(0).finish(0)?;
        (records.count, records.topics, records.topic) = (count, topics, topic);
        let bytes = data.len();
        (records.schemas, records.values, records.data) = (schemas, items, data);
        Ok(Self { records: shown.lend(records, Vec::new())?, bytes, header_keys, header_key })
    }

    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = ConverterItem<'_>> {
        self.records.iter().enumerate().map(|(row, came)| {
            let place = self.header_key.get(row).map_or(0, |&place| place as usize);
            ConverterItem { came, header_key: self.header_keys.get(place).map(String::as_str) }
        })
    }

    pub(super) fn give_back(self, shown: &mut Shown) {
        shown.take_back(self.records);
    }
}

/// A key, a value or a header's value on its way through a converter.
#[derive(Clone, Copy, Debug)]
pub struct ConverterItem<'a> {
    came: SinkRecord<'a>,
    header_key: Option<&'a str>,
}

impl<'a> ConverterItem<'a> {
    /// The topic of its record.
    pub fn topic(&self) -> &'a str {
        self.came.topic()
    }

    /// The header whose value it is.
    pub fn header_key(&self) -> Option<&'a str> {
        self.header_key
    }

    /// The item itself.
    #[inline]
    pub fn payload(&self) -> Payload<'a> {
        self.came.value()
    }

    /// Its bytes, if that's what it is: what comes from Kafka is bytes, or null.
    #[inline]
    pub fn bytes(&self) -> Option<&'a [u8]> {
        self.payload().as_bytes()
    }

    pub(super) fn index(&self) -> u32 {
        self.came.index()
    }
}

/// What an item becomes in Kafka: null, unless it is set.
#[derive(Debug)]
pub struct KafkaBytes<'p>(pub(super) &'p mut Part);

impl KafkaBytes<'_> {
    /// Makes it these bytes.
    pub fn set(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.put_plain(BYTES, bytes.as_ref());
    }

    /// Makes it whatever is written to this buffer, which is empty, and the same for all items.
    pub fn buffer(&mut self) -> &mut Vec<u8> {
        self.0.begin(BYTES)
    }
}

/// What an item becomes in Connect: null, unless it is set.
#[derive(Debug)]
pub struct ConnectValue<'p>(pub(super) &'p mut Part);

impl ConnectValue<'_> {
    /// Makes it a value, under a schema or, with none, schemaless. Fails if it doesn't fit.
    ///
    /// Keep schemas from one item to the next: the worker is told of each that is new.
    pub fn set<'s, 'v>(&mut self, schema: impl Into<Option<&'s Schema>>, value: impl Into<Value<'v>>) -> Result<()> {
        self.0.put(schema.into(), &value.into())
    }

    /// Makes it a text without a schema.
    pub fn text(&mut self, text: impl AsRef<str>) {
        self.0.put_plain(TEXT, text.as_ref().as_bytes());
    }

    /// Makes it bytes without a schema.
    pub fn bytes(&mut self, bytes: impl AsRef<[u8]>) {
        self.0.put_plain(BYTES, bytes.as_ref());
    }

    /// Makes it a schemaless value, from whatever `serde` can write as JSON.
    pub fn json(&mut self, value: &(impl Serialize + ?Sized)) -> Result<()> {
        serde_json::to_writer(self.0.begin(JSON), value).map_err(Error::data)
    }
}
