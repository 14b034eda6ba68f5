//! From a record of a batch to the bytes that go to Kafka.

use std::ops::Range;
use std::sync::Arc;

use crate::batch::{Encoding, Item, RecordRef};
use crate::convert::{ConvertError, Converter, Converters, Encoded, SchemaAndValue, item};
use crate::ports::Outgoing;
use crate::tolerance::{Fault, Stage};
use crate::transform::{Chain, Header, Record};

/// Transforms and converters of a source task, with buffers that are used again for every record.
pub struct Encoder {
    chain: Chain,
    pub(super) key: Arc<dyn Converter>,
    pub(super) value: Arc<dyn Converter>,
    header: Arc<dyn Converter>,
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
    pub fn new(chain: Chain, converters: Converters) -> Self {
        let Converters { key, value, header } = converters;
        let (key_buffer, value_buffer, header_buffer) = (Vec::new(), Vec::new(), Vec::new());
        Self { chain, key, value, header, key_buffer, value_buffer, header_buffer }
    }

    /// Transforms and converts one record and hands it to `send`; none if a transform drops it. An error
    /// says at which stage.
    pub fn encode<R>(
        &mut self,
        record: &RecordRef<'_>,
        send: impl FnOnce(&Outgoing<'_>) -> R,
    ) -> Result<Option<R>, Fault> {
        if self.chain.is_empty() { self.convert(record, send).map(Some) } else { self.transform(record, send) }
    }

    /// The quick way: no value is looked into unless a converter has to.
    fn convert<R>(&mut self, record: &RecordRef<'_>, send: impl FnOnce(&Outgoing<'_>) -> R) -> Result<R, Fault> {
        let topic = &**record.topic();
        self.header_buffer.clear();
        let headers = if record.header_count() == 0 { Vec::new() } else { self.headers(topic, record)? };
        let headers: Vec<(&str, Option<&[u8]>)> =
            headers.iter().map(|(key, bytes)| (*key, bytes.resolve(&self.header_buffer))).collect();
        let key = side(&*self.key, topic, record.key, &mut self.key_buffer)
            .map_err(|error| Fault::converting(Stage::KeyConverter, &*self.key, error))?;
        let value = side(&*self.value, topic, record.value, &mut self.value_buffer)
            .map_err(|error| Fault::converting(Stage::ValueConverter, &*self.value, error))?;
        let (partition, timestamp) = (record.partition(), record.timestamp());
        Ok(send(&Outgoing { topic, partition, timestamp, key, value, headers: &headers }))
    }

    /// Through trees of values, which transforms need.
    fn transform<R>(&self, record: &RecordRef<'_>, send: impl FnOnce(&Outgoing<'_>) -> R) -> Result<Option<R>, Fault> {
        let record = read(record).map_err(Fault::reading)?;
        let Some(record) = self.chain.apply(record).map_err(Fault::transforming)? else {
            return Ok(None);
        };
        let topic = &*record.topic;
        let convert = |converter: &dyn Converter, half: &SchemaAndValue, stage| {
            let bytes = converter.from_connect(topic, half.schema.as_ref(), &half.value);
            bytes.map_err(|error| Fault::converting(stage, converter, error))
        };
        let headers = record
            .headers
            .iter()
            .map(|Header { key, value }| Ok((&**key, convert(&*self.header, value, Stage::HeaderConverter)?)));
        let headers = headers.collect::<Result<Vec<_>, _>>()?;
        let headers: Vec<_> = headers.iter().map(|(key, bytes)| (*key, bytes.as_deref())).collect();
        let key = convert(&*self.key, &record.key, Stage::KeyConverter)?;
        let value = convert(&*self.value, &record.value, Stage::ValueConverter)?;
        let (partition, timestamp) = (record.partition, record.timestamp);
        let (key, value) = (key.as_deref(), value.as_deref());
        Ok(Some(send(&Outgoing { topic, partition, timestamp, key, value, headers: &headers })))
    }

    fn headers<'a>(&mut self, topic: &str, record: &RecordRef<'a>) -> Result<Vec<(&'a str, HeaderBytes<'a>)>, Fault> {
        let mut headers = Vec::with_capacity(record.header_count());
        for (key, item) in record.headers() {
            let start = self.header_buffer.len();
            let encoded = self.header.encode(topic, item, &mut self.header_buffer);
            let bytes =
                match encoded.map_err(|error| Fault::converting(Stage::HeaderConverter, &*self.header, error))? {
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

/// A record as transforms take it.
fn read(record: &RecordRef<'_>) -> Result<Record, ConvertError> {
    let headers = record.headers().map(|(key, item)| Ok(Header { key: key.clone(), value: item::read(item)? }));
    Ok(Record {
        topic: record.topic().clone(),
        partition: record.partition(),
        key: item::read(record.key)?,
        value: item::read(record.value)?,
        timestamp: record.timestamp(),
        headers: headers.collect::<Result<_, ConvertError>>()?,
        offset: None,
    })
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
