use crate::Result;
use crate::data::{Schema, Value};
use crate::part::Part;
use crate::sink::{Payload, SinkRecord};

/// A record on its way through a transformation. What is not set stays as it is, and the getters go on showing the record
/// as it came.
#[derive(Debug)]
pub struct TransformRecord<'a> {
    came: SinkRecord<'a>,
    pub(super) topic: Option<String>,
    pub(super) partition: Option<Option<i32>>,
    pub(super) timestamp: Option<Option<i64>>,
    pub(super) key: Option<Part>,
    pub(super) value: Option<Part>,
    removed_headers: Vec<String>,
    pub(super) added_headers: Vec<(String, Part)>,
}

impl<'a> TransformRecord<'a> {
    pub(super) fn new(came: SinkRecord<'a>) -> Self {
        let (removed_headers, added_headers) = (Vec::new(), Vec::new());
        Self {
            came,
            topic: None,
            partition: None,
            timestamp: None,
            key: None,
            value: None,
            removed_headers,
            added_headers,
        }
    }

    /// The topic it was read from or goes to, as transformations before this one left it.
    pub fn topic(&self) -> &'a str {
        self.came.topic()
    }

    /// The Kafka partition, if it has one yet.
    pub fn partition(&self) -> Option<i32> {
        Some(self.came.partition()).filter(|&partition| partition >= 0)
    }

    /// Its offset in the partition; none on its way from a source.
    pub fn offset(&self) -> Option<i64> {
        self.came.known_offset()
    }

    /// Its timestamp in milliseconds since 1970.
    pub fn timestamp(&self) -> Option<i64> {
        self.came.timestamp()
    }

    /// Its key.
    pub fn key(&self) -> Payload<'a> {
        self.came.key()
    }

    /// Its value.
    pub fn value(&self) -> Payload<'a> {
        self.came.value()
    }

    /// Its headers in order; a name may come more than once.
    pub fn headers(&self) -> impl Iterator<Item = (&'a str, Payload<'a>)> + use<'a> {
        self.came.headers()
    }

    /// Sends it to another topic, or shows another one to a sink.
    pub fn set_topic(&mut self, topic: impl Into<String>) {
        self.topic = Some(topic.into());
    }

    /// Sets the partition; none leaves it to the worker.
    pub fn set_partition(&mut self, partition: impl Into<Option<i32>>) {
        self.partition = Some(partition.into());
    }

    /// Sets the timestamp in milliseconds since 1970.
    pub fn set_timestamp(&mut self, millis: impl Into<Option<i64>>) {
        self.timestamp = Some(millis.into());
    }

    /// Puts another key in place of the one it has, under the same schema. Fails if it doesn't fit.
    pub fn replace_key<'v>(&mut self, key: impl Into<Value<'v>>) -> Result<()> {
        self.set_key(self.came.key().schema(), key)
    }

    /// Puts another value in place of the one it has, under the same schema. Fails if it doesn't fit.
    pub fn replace_value<'v>(&mut self, value: impl Into<Value<'v>>) -> Result<()> {
        self.set_value(self.came.value().schema(), value)
    }

    /// Sets the key, under a schema or, with none, schemaless.
    pub fn set_key<'s, 'v>(&mut self, schema: impl Into<Option<&'s Schema>>, key: impl Into<Value<'v>>) -> Result<()> {
        self.key = Some(Part::new(schema.into(), &key.into())?);
        Ok(())
    }

    /// Sets the value, under a schema or, with none, schemaless.
    pub fn set_value<'s, 'v>(
        &mut self,
        schema: impl Into<Option<&'s Schema>>,
        value: impl Into<Value<'v>>,
    ) -> Result<()> {
        self.value = Some(Part::new(schema.into(), &value.into())?);
        Ok(())
    }

    /// Adds a header behind those it has.
    pub fn add_header<'s, 'v>(
        &mut self,
        name: impl Into<String>,
        schema: impl Into<Option<&'s Schema>>,
        value: impl Into<Value<'v>>,
    ) -> Result<()> {
        self.added_headers.push((name.into(), Part::new(schema.into(), &value.into())?));
        Ok(())
    }

    /// Removes all headers of a name, those that were added included.
    pub fn remove_headers(&mut self, name: &str) {
        self.added_headers.retain(|(added, _)| added != name);
        self.removed_headers.push(name.to_owned());
    }

    /// The headers that it came with and keeps.
    pub(super) fn kept_headers(&self) -> impl Iterator<Item = (&'a str, Payload<'a>)> {
        self.headers().filter(|(name, _)| !self.removed_headers.iter().any(|removed| removed == name))
    }

    pub(super) fn index(&self) -> u32 {
        self.came.index()
    }
}
