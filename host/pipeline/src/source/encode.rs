//! From a record of a batch to the bytes that go to Kafka.

use std::ops::Range;
use std::sync::Arc;

use crate::batch::{Encoding, Item, RecordRef};
use crate::convert::{ConvertError, Converter, Encoded};
use crate::ports::Outgoing;
use crate::tolerance::Stage;

/// The three converters of a source task, with buffers that are used again for every record.
pub struct Encoder {
    key: Arc<dyn Converter>,
    value: Arc<dyn Converter>,
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
    pub fn new(key: Arc<dyn Converter>, value: Arc<dyn Converter>, header: Arc<dyn Converter>) -> Self {
        Self {
            key,
            value,
            header,
            key_buffer: Vec::new(),
            value_buffer: Vec::new(),
            header_buffer: Vec::new(),
        }
    }

    /// Converts one record and hands it to `send`. An error says at which stage.
    pub fn encode<R>(
        &mut self,
        record: &RecordRef<'_>,
        send: impl FnOnce(&Outgoing<'_>) -> R,
    ) -> Result<R, (Stage, ConvertError)> {
        let topic = &**record.topic();
        self.header_buffer.clear();
        let headers = if record.header_count() == 0 {
            Vec::new()
        } else {
            self.headers(topic, record)?
        };
        let headers: Vec<(&str, Option<&[u8]>)> = headers
            .iter()
            .map(|(key, bytes)| (*key, bytes.resolve(&self.header_buffer)))
            .collect();
        let key = side(&*self.key, topic, record.key, &mut self.key_buffer).map_err(|e| (Stage::KeyConverter, e))?;
        let value =
            side(&*self.value, topic, record.value, &mut self.value_buffer).map_err(|e| (Stage::ValueConverter, e))?;
        let (partition, timestamp) = (record.partition(), record.timestamp());
        Ok(send(&Outgoing {
            topic,
            partition,
            timestamp,
            key,
            value,
            headers: &headers,
        }))
    }

    fn headers<'a>(
        &mut self,
        topic: &str,
        record: &RecordRef<'a>,
    ) -> Result<Vec<(&'a str, HeaderBytes<'a>)>, (Stage, ConvertError)> {
        let mut headers = Vec::with_capacity(record.header_count());
        for (key, item) in record.headers() {
            let start = self.header_buffer.len();
            let encoded = self.header.encode(topic, item, &mut self.header_buffer);
            let bytes = match encoded.map_err(|error| (Stage::HeaderConverter, error))? {
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
