//! What a pipeline needs of the outside world: the plugin's instance on one side, Kafka on the other.
//!
//! The traits of plugin instances take `&self`: an instance is an actor with a mailbox, so that `stop`
//! can reach it while `poll` waits. Implemented by `bulkhead-sandbox` and by the scripted doubles.

mod access;
mod converter;
mod kafka;
mod offsets;
mod plugin;
mod registry;
mod topics;
mod transform;

use std::pin::Pin;

pub use access::{ClientError, Clients, Plugins, Purpose};
pub use converter::{Converted, ConverterTask};
pub use kafka::{
    ConsumeError, Consumed, Consumer, ConsumerEvent, Delivery, FetchLimits, Outgoing, ProduceError, Producer,
    Revocation, Sent, Written,
};
pub use offsets::{OffsetStore, OffsetStoreError, OffsetWrite};
pub use plugin::{
    AlteredOffset, Connector, Crash, ErrorInfo, PluginError, PollLimits, Rejection, SinkControl, SinkTask,
    SourceDelivery, SourceTask,
};
pub use registry::{
    Registered, RegistryError, RegistryLogin, RegistrySettings, SchemaRegistries, SchemaRegistry, SchemaText,
    SubjectSchema,
};
pub use topics::{Creation, NewTopic, TopicError, Topics};
pub use transform::{Aliased, Fate, PredicateTask, TransformTask, Transformed};

/// The future of a port that has to be a trait object.
pub type BoxFuture<T> = Pin<Box<dyn Future<Output = T> + Send + 'static>>;
