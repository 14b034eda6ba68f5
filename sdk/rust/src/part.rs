//! A key, a value or a header's value that a plugin has set.

use crate::Result;
use crate::data::{self, Schema, SchemaType, Value};
use crate::source::columns::Item;
use crate::source::columns::encoding::{BYTES, CBOR, NONE, TEXT};

#[derive(Debug)]
pub(crate) struct Part {
    encoding: u8,
    schema: u32,
    bytes: Vec<u8>,
}

impl Part {
    pub(crate) fn null() -> Self {
        Self { encoding: NONE, schema: 0, bytes: Vec::new() }
    }

    pub(crate) fn new(schema: Option<&Schema>, value: &Value<'_>) -> Result<Self> {
        let mut part = Self::null();
        part.put(schema, value)?;
        Ok(part)
    }

    /// Makes it null; its buffer stays.
    pub(crate) fn clear(&mut self) {
        (self.encoding, self.schema) = (NONE, 0);
        self.bytes.clear();
    }

    /// Makes it a value, in the plainest encoding that holds it.
    pub(crate) fn put(&mut self, schema: Option<&Schema>, value: &Value<'_>) -> Result<()> {
        self.clear();
        let is = |kind| schema.is_none_or(|schema| schema.kind() == kind);
        match value {
            Value::Null if schema.is_none_or(Schema::accepts_null) => {}
            Value::Text(text) if is(SchemaType::Text) => self.put_plain(TEXT, text.as_bytes()),
            Value::Bytes(bytes) if is(SchemaType::Bytes) => self.put_plain(BYTES, bytes),
            value => {
                data::encode(schema, value, &mut self.bytes)?;
                self.encoding = CBOR;
            }
        }
        self.schema = schema.map_or(Ok(0), Schema::id)?;
        Ok(())
    }

    /// Makes it schemaless and empty, to be filled by the caller.
    pub(crate) fn begin(&mut self, encoding: u8) -> &mut Vec<u8> {
        self.clear();
        self.encoding = encoding;
        &mut self.bytes
    }

    pub(crate) fn put_plain(&mut self, encoding: u8, bytes: &[u8]) {
        self.begin(encoding).extend_from_slice(bytes);
    }
}

impl<'a> From<&'a Part> for Item<'a> {
    fn from(part: &'a Part) -> Self {
        Self { encoding: part.encoding, schema: part.schema, bytes: &part.bytes }
    }
}
