//! Working in-memory implementations of the ports, shared by all tests: small, and real in what they
//! do. Assert what they were given, not how they were called.

mod access;
pub mod component;
mod converter;
mod kafka;
mod offsets;
mod plugin;
mod registry;
mod transform;
mod wait;

pub use access::{MemoryClients, ScriptedPlugins};
pub use converter::ScriptedConverter;
pub use kafka::{MemoryConsumer, MemoryConsumerHandle, MemoryProducer, MemoryTopics, Sent};
pub use offsets::MemoryOffsets;
pub use plugin::{QuietObserver, ScriptedConnector, ScriptedSink, ScriptedSource, texts};
pub use registry::MemoryRegistry;
pub use transform::ScriptedTransform;
pub use wait::eventually;
