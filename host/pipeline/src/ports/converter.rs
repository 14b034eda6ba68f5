//! Converters in sandboxes of their own.

use std::sync::Arc;

use super::{BoxFuture, PluginError};
use crate::batch::{Column, Items};

/// A configured converter: that of keys, values or header values of one task. Dropping it drops its instance.
///
/// What comes back has been checked: one item for each that came, failures by rising place.
pub trait ConverterTask: Send + Sync + 'static {
    /// Connect to Kafka: items of any encoding to bytes, or to none for Kafka's null.
    #[expect(clippy::wrong_self_convention, reason = "what Connect calls it")]
    fn from_connect(&self, items: Arc<Items>) -> BoxFuture<Result<Converted, PluginError>>;
    /// Kafka to Connect: bytes, or none for Kafka's null, to items of any encoding.
    fn to_connect(&self, items: Arc<Items>) -> BoxFuture<Result<Converted, PluginError>>;
}

/// What a converter made of items.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Converted {
    pub column: Column,
    /// Place and reason of those that can't be converted; what the column has there means nothing.
    pub failed: Vec<(usize, String)>,
}
