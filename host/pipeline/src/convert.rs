//! Converters: between Connect's data and the bytes in a topic, under Apache's class names.
//!
//! Start at [`create`], which makes a [`Converter`] from a class name and its configuration.

use std::sync::Arc;

use bulkhead_model::value::{Schema, Value};
use bulkhead_model::{RawConfig, TaskId};

use crate::batch::{Encoding, Item};
use crate::guest::{Name, OpenError};
use crate::ports::{Aliased, Plugins, SchemaRegistries};

mod avro;
mod bytes;
pub(crate) mod cache;
mod charset;
mod display;
mod guest;
pub mod item;
mod json;
mod lookup;
mod number;
mod registry;
mod simple;
mod string;
pub(crate) mod values;

use bytes::ByteArrayConverter;
pub use guest::{GuestConverter, guests};
pub use lookup::{Lookup, Lookups};
pub use registry::{Role, builtin_plugins, create, create_with, is_builtin};

/// The release of Kafka Connect whose behaviour the built-in plugins have.
pub const CONNECT_VERSION: &str = "4.4.0";

/// Between the message of an error and what caused it.
pub(crate) const CAUSED_BY: &str = "\ncaused by: ";

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
    /// The cause may pass.
    #[error("{0}")]
    Retriable(String),
    /// Nobody's fault: once [`Lookups::look_up`] has succeeded, the same can be converted.
    #[error("a schema has to be looked up in the registry")]
    Missing(Lookup),
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
    /// The full name of its class, for those who read of its errors.
    fn class(&self) -> &'static str;

    /// Connect to Kafka.
    #[expect(clippy::wrong_self_convention, reason = "what Connect calls it")]
    fn from_connect(
        &self,
        topic: &str,
        schema: Option<&Arc<Schema>>,
        value: &Value,
    ) -> Result<Option<Vec<u8>>, ConvertError>;

    /// Kafka to Connect.
    fn to_connect(&self, topic: &str, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError>;

    /// [`Self::from_connect`] for an item of a batch, without a value tree where none is needed. After
    /// an error the buffer may hold part of the bytes.
    fn encode(&self, topic: &str, item: Item<'_>, out: &mut Vec<u8>) -> Result<Encoded, ConvertError> {
        encode_by_tree(self, topic, item, out)
    }

    /// [`Self::to_connect`] into the form of a batch. After an error the buffer may hold part of the
    /// bytes.
    fn decode(&self, topic: &str, bytes: Option<&[u8]>, out: &mut Vec<u8>) -> Result<Decoded, ConvertError> {
        let decoded = self.to_connect(topic, bytes)?;
        item::write(decoded.schema, &decoded.value, out)
    }

    /// For a converter that needs a schema registry: the way to ask it.
    fn lookups(&self) -> Option<&dyn Lookups> {
        None
    }
}

/// Encodes an item by way of [`Converter::from_connect`].
fn encode_by_tree<C: Converter + ?Sized>(
    converter: &C,
    topic: &str,
    item: Item<'_>,
    out: &mut Vec<u8>,
) -> Result<Encoded, ConvertError> {
    let SchemaAndValue { schema, value } = item::read(item)?;
    match converter.from_connect(topic, schema.as_ref(), &value)? {
        None => Ok(Encoded::Null),
        Some(bytes) => {
            out.extend_from_slice(&bytes);
            Ok(Encoded::Appended)
        }
    }
}

/// The converters of one task.
#[derive(Clone)]
pub struct Converters {
    pub key: Arc<dyn Converter>,
    pub value: Arc<dyn Converter>,
    pub header: Arc<dyn Converter>,
    /// Where one of these is at work, the converter above passes its bytes on.
    pub guests: Vec<GuestConverter>,
}

impl Converters {
    /// Makes the converters of a task, each plugin in an instance of its own. `plan` says which class a role has, and how it
    /// is configured.
    pub async fn open(
        plan: impl Fn(Role) -> Aliased,
        task: &TaskId,
        connector: &RawConfig,
        plugins: &impl Plugins,
        registries: Option<&dyn SchemaRegistries>,
    ) -> Result<Self, OpenError> {
        let catalog = plugins.catalog();
        let bytes: Arc<dyn Converter> = Arc::new(ByteArrayConverter::new());
        let mut converters =
            Self { key: Arc::clone(&bytes), value: Arc::clone(&bytes), header: bytes, guests: Vec::new() };
        for role in Role::ALL {
            let plan = plan(role);
            if guest::is_guest(&plan.class, role, &catalog) {
                let name = Name::of(&plan, catalog.full_name(&plan.class, role.kind()).to_owned());
                let made = plugins.converter(task, role, &plan, connector).await;
                let task = made.map_err(|error| name.failed("converter", error))?;
                converters.guests.push(GuestConverter { role, name, task });
            } else {
                let made = create_with(&plan.class, &plan.config, role, registries)?;
                *match role {
                    Role::Key => &mut converters.key,
                    Role::Value => &mut converters.value,
                    Role::Header => &mut converters.header,
                } = made;
            }
        }
        Ok(converters)
    }

    pub(crate) fn has_guests(&self) -> bool {
        !self.guests.is_empty()
    }

    /// The plugin that has this role, if one has.
    pub(crate) fn guest(&self, role: Role) -> Option<&GuestConverter> {
        self.guests.iter().find(|guest| guest.role == role)
    }
}

impl ConvertError {
    /// The same error, preceded by the place where it happened.
    pub(crate) fn at(self, place: &str) -> Self {
        match self {
            Self::Data(message) => Self::Data(format!("{place}: {message}")),
            Self::Config(message) => Self::Config(format!("{place}: {message}")),
            Self::Other(message) => Self::Other(format!("{place}: {message}")),
            Self::Retriable(message) => Self::Retriable(format!("{place}: {message}")),
            Self::Missing(lookup) => Self::Missing(lookup),
        }
    }
}

impl SchemaAndValue {
    /// Neither schema nor value.
    pub const NULL: Self = Self { schema: None, value: Value::Null };
}
