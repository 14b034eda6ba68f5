//! From a record of a batch to the bytes that go to Kafka.

use std::ops::Range;
use std::sync::Arc;

use crate::batch::{Batch, Encoding, Item, RecordRef};
use crate::convert::{ConvertError, Converter, Converters, Encoded, Role, SchemaAndValue};
use crate::guest::GuestFailure;
use crate::ports::Outgoing;
use crate::tolerance::{Fault, Stage};
use crate::transform::passage::{Outcome, Passage, read};
use crate::transform::{Header, Record, Transforms};

/// Transforms and converters of a source task, with buffers that are used again for every record.
pub struct Encoder {
    transforms: Transforms,
    pub(super) converters: Converters,
    key_buffer: Vec<u8>,
    value_buffer: Vec<u8>,
    header_buffer: Vec<u8>,
}

/// Where the bytes of a header are.
enum HeaderBytes<'a> {
    Null,
    Item(&'a [u8]),
    Buffer(Range<usize>),
}

impl Encoder {
    pub fn new(transforms: impl Into<Transforms>, converters: Converters) -> Self {
        let (key_buffer, value_buffer, header_buffer) = (Vec::new(), Vec::new(), Vec::new());
        Self { transforms: transforms.into(), converters, key_buffer, value_buffer, header_buffer }
    }

    /// Guests work on a whole batch before its records are encoded; none if there are no guests.
    pub(super) async fn transform(&self, batch: &Batch) -> Result<Option<Passage>, GuestFailure> {
        if matches!(self.transforms, Transforms::Native(_)) && !self.converters.has_guests() {
            return Ok(None);
        }
        let mut passage = Passage::new(Arc::new(batch.clone()), Vec::new());
        self.transforms.apply(&mut passage).await?;
        for role in [Role::Header, Role::Key, Role::Value] {
            if let Some(guest) = self.converters.guest(role) {
                guest.from_connect(&mut passage).await?;
            }
        }
        Ok(Some(passage))
    }

    /// Transforms and converts one record and hands it to `send`; none if a transform drops it. An error
    /// says at which stage. `passage` is what [`Self::transform`] has made of the record's batch.
    pub(super) fn encode<R>(
        &mut self,
        record: &RecordRef<'_>,
        passage: Option<&Passage>,
        send: impl FnOnce(&Outgoing<'_>) -> R,
    ) -> Result<Option<R>, Fault> {
        match (passage, &self.transforms) {
            (Some(passage), _) => match passage.outcome(record.index) {
                Outcome::Row(record) => self.convert(&record, send).map(Some),
                Outcome::Tree(record) => self.convert_tree(record, send).map(Some),
                Outcome::Dropped => Ok(None),
                Outcome::Failed(fault) => Err(fault.clone()),
            },
            (None, Transforms::Native(chain)) if !chain.is_empty() => {
                let record = read(record, None).map_err(Fault::reading)?;
                match chain.apply(record).map_err(Fault::transforming)? {
                    Some(record) => self.convert_tree(&record, send).map(Some),
                    None => Ok(None),
                }
            }
            (None, Transforms::Native(_) | Transforms::Mixed(_)) => self.convert(record, send).map(Some),
        }
    }

    /// The quick way: no value is looked into unless a converter has to.
    fn convert<R>(&mut self, record: &RecordRef<'_>, send: impl FnOnce(&Outgoing<'_>) -> R) -> Result<R, Fault> {
        let topic = &**record.topic();
        self.header_buffer.clear();
        let headers = if record.header_count() == 0 { Vec::new() } else { self.headers(topic, record)? };
        let headers: Vec<(&str, Option<&[u8]>)> =
            headers.iter().map(|(key, bytes)| (*key, bytes.resolve(&self.header_buffer))).collect();
        let key = side(&*self.converters.key, topic, record.key, &mut self.key_buffer)
            .map_err(|error| Fault::converting(Stage::KeyConverter, &*self.converters.key, error))?;
        let value = side(&*self.converters.value, topic, record.value, &mut self.value_buffer)
            .map_err(|error| Fault::converting(Stage::ValueConverter, &*self.converters.value, error))?;
        let (partition, timestamp) = (record.partition(), record.timestamp());
        Ok(send(&Outgoing { topic, partition, timestamp, key, value, headers: &headers }))
    }

    /// From trees of values, which transforms leave behind.
    fn convert_tree<R>(&self, record: &Record, send: impl FnOnce(&Outgoing<'_>) -> R) -> Result<R, Fault> {
        let topic = &*record.topic;
        let convert = |converter: &dyn Converter, half: &SchemaAndValue, stage| {
            let bytes = converter.from_connect(topic, half.schema.as_ref(), &half.value);
            bytes.map_err(|error| Fault::converting(stage, converter, error))
        };
        let headers = record.headers.iter().map(|Header { key, value }| {
            Ok((&**key, convert(&*self.converters.header, value, Stage::HeaderConverter)?))
        });
        let headers = headers.collect::<Result<Vec<_>, _>>()?;
        let headers: Vec<_> = headers.iter().map(|(key, bytes)| (*key, bytes.as_deref())).collect();
        let key = convert(&*self.converters.key, &record.key, Stage::KeyConverter)?;
        let value = convert(&*self.converters.value, &record.value, Stage::ValueConverter)?;
        let (partition, timestamp) = (record.partition, record.timestamp);
        let (key, value) = (key.as_deref(), value.as_deref());
        Ok(send(&Outgoing { topic, partition, timestamp, key, value, headers: &headers }))
    }

    fn headers<'a>(&mut self, topic: &str, record: &RecordRef<'a>) -> Result<Vec<(&'a str, HeaderBytes<'a>)>, Fault> {
        let mut headers = Vec::with_capacity(record.header_count());
        for (key, item) in record.headers() {
            let start = self.header_buffer.len();
            let encoded = self.converters.header.encode(topic, item, &mut self.header_buffer);
            let bytes = match encoded
                .map_err(|error| Fault::converting(Stage::HeaderConverter, &*self.converters.header, error))?
            {
                Encoded::Null => HeaderBytes::Null,
                Encoded::Same => HeaderBytes::Item(item.bytes),
                Encoded::Appended => HeaderBytes::Buffer(start..self.header_buffer.len()),
            };
            headers.push((&**key, bytes));
        }
        Ok(headers)
    }
}

impl<'a> HeaderBytes<'a> {
    fn resolve<'b>(&self, buffer: &'b [u8]) -> Option<&'b [u8]>
    where
        'a: 'b,
    {
        match self {
            Self::Null => None,
            Self::Item(bytes) => Some(bytes),
            Self::Buffer(range) => Some(&buffer[range.clone()]),
        }
    }
}

/// Converts a key or a value; the bytes are the item's own or in `buffer`.
fn side<'a>(
    converter: &dyn Converter,
    topic: &str,
    item: Item<'a>,
    buffer: &'a mut Vec<u8>,
) -> Result<Option<&'a [u8]>, ConvertError> {
    if item.encoding == Encoding::None && item.schema.is_none() {
        return Ok(None);
    }
    buffer.clear();
    Ok(match converter.encode(topic, item, buffer)? {
        Encoded::Null => None,
        Encoded::Same => Some(item.bytes),
        Encoded::Appended => Some(buffer),
    })
}
