//! Converters: between Connect's data and the bytes in a topic, under Apache's class names.

use std::sync::Arc;

use bulkhead_model::value::{Schema, Value};

use crate::batch::{Encoding, Item};

/// Why a key, value or header could not be converted. The kind says which of Connect's exceptions it
/// stands for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConvertError {
    #[error("{0}")]
    Data(String),
    #[error("{0}")]
    Config(String),
    /// What is neither in Connect: null pointers, unknown charsets.
    #[error("{0}")]
    Other(String),
}

/// A value with its schema.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaAndValue {
    pub schema: Option<Arc<Schema>>,
    pub value: Value,
}

/// What a converter made of an item for Kafka.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoded {
    /// A null in Kafka.
    Null,
    /// The item's bytes as they are.
    Same,
    /// The bytes appended to the buffer.
    Appended,
}

/// What a converter made of bytes from Kafka.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    pub encoding: Encoding,
    pub schema: Option<Arc<Schema>>,
    /// Whether the bytes are the ones that came, or were appended to the buffer.
    pub bytes: Encoded,
}

/// A key, value or header converter. Shared by nothing: one for each place in each task.
pub trait Converter: Send + Sync {
    /// Connect to Kafka.
    fn from_connect(
        &self,
        topic: &str,
        schema: Option<&Arc<Schema>>,
        value: &Value,
    ) -> Result<Option<Vec<u8>>, ConvertError>;

    /// Kafka to Connect.
    fn to_connect(&self, topic: &str, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError>;

    /// [`Self::from_connect`] for an item of a batch, without a value tree where none is needed.
    fn encode(&self, topic: &str, item: Item<'_>, out: &mut Vec<u8>) -> Result<Encoded, ConvertError>;

    /// [`Self::to_connect`] into the form of a batch.
    fn decode(&self, topic: &str, bytes: Option<&[u8]>, out: &mut Vec<u8>) -> Result<Decoded, ConvertError>;
}
