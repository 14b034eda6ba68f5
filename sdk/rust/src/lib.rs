//! Write Kafka Connect connectors in Rust that run as WebAssembly components.
//!
//! A connector is a type with a trait: [`SourceTask`] brings records into Kafka, [`SinkTask`] takes them out. So are
//! transformations ([`Transform`]), predicates ([`Predicate`]) and converters ([`Converter`]), which any connector's
//! configuration may name.
//! `#[derive(Config)]` makes its settings, [`export!`] its component. Start at [`prelude`]; test with [`test`], which needs
//! neither Kafka nor a worker.
//!
//! ```
//! use bulkhead_sdk::prelude::*;
//!
//! /// Emits a growing number.
//! #[derive(Config)]
//! struct Settings {
//!     /// Topic to write to.
//!     topic: String,
//!     /// Records a second.
//!     #[config(default = 10, range(1..=100_000), importance = "medium")]
//!     rate: u32,
//! }
//!
//! struct Counter { settings: Settings, main: Partition, next: u64 }
//!
//! impl SourceTask for Counter {
//!     type Config = Settings;
//!
//!     async fn start(settings: Settings, offsets: &Offsets) -> Result<Self> {
//!         let main = Partition::new([("counter", "main")]);
//!         let next = offsets.read(&main)?.get_u64("next")?.unwrap_or(0);
//!         Ok(Self { settings, main, next })
//!     }
//!
//!     async fn poll(&mut self, batch: &mut Batch, wait: Wait) -> Result<()> {
//!         wait.pace(self.settings.rate).await?; // returns early when the worker says stop
//!         while batch.has_room() {
//!             batch.push(&self.settings.topic)
//!                 .key("main")
//!                 .value_fmt(format_args!("{}", self.next))
//!                 .offset(&self.main, [("next", self.next + 1)]);
//!             self.next += 1;
//!         }
//!         Ok(())
//!     }
//! }
//!
//! bulkhead_sdk::export! { source "org.example.Counter" => Counter }
//!
//! let mut run = bulkhead_sdk::test::SourceRun::<Counter>::start([("topic", "t"), ("rate", "1000")]);
//! assert_eq!(run.take(3).texts(), ["0", "1", "2"]);
//! run.restart_from_committed(); // a fresh instance, the offsets so far
//! assert_eq!(run.take(1).texts(), ["3"]);
//! ```
//!
//! **Invariant:** the generated bindings are no part of this crate's interface (they are hidden, not private, because the
//! `export!` macro reaches for them). So a connector's source survives a new version of the contract.

#[allow(unused_extern_crates)] // the macros name this crate so, in its own tests too
extern crate self as bulkhead_sdk;

#[doc(hidden)]
pub mod bindings;
mod component;
mod connector;
mod data;
mod error;
mod host;
mod logging;
mod offsets;
mod part;
mod shown;

pub mod config;
pub mod context;
pub mod converter;
pub mod metrics;
pub mod sink;
pub mod source;
#[cfg(not(target_family = "wasm"))]
pub mod test;
pub mod transform;

pub use bulkhead_sdk_macros::{Config, export};

pub use bindings::base::bulkhead::connect::types::{TopicOffset, TopicPartition};
pub use config::{Config, Password, RawConfig};
pub use connector::{Verdict, raise_error, request_task_reconfiguration};
pub use converter::{ConnectValue, Converter, ConverterItem, KafkaBytes, Role};
pub use data::{Schema, SchemaType, Struct, Value};
pub use error::{Error, Kind as ErrorKind, Result};
pub use offsets::{Fields, JsonMap, Offsets, Partition, Scalar};
pub use sink::{Rejections, SinkBatch, SinkConnector, SinkRecord, SinkTask};
pub use source::{Batch, Delivery, ExactlyOnce, SourceConnector, SourceTask, Wait};
pub use transform::{Outcome, Predicate, Transform, TransformRecord};

/// What nearly every connector uses.
pub mod prelude {
    pub use crate::{
        Batch, Config, ConnectValue, Converter, ConverterItem, Error, ExactlyOnce, JsonMap, KafkaBytes, Offsets,
        Outcome, Partition, Password, Predicate, RawConfig, Rejections, Result, Role, Schema, SinkBatch, SinkConnector,
        SinkTask, SourceConnector, SourceTask, Struct, TopicOffset, TopicPartition, Transform, TransformRecord, Value,
        Verdict, Wait,
    };
    pub use log::{debug, error, info, trace, warn};
}

/// For the macros' own use; may change at any time.
#[doc(hidden)]
pub mod __private {
    pub use crate::component::{Component, Exports, FileAccess, Needs, Plugin};
    pub use crate::config::{Importance, Key};
    pub use crate::sink::EqualTasks;
    pub use crate::source::OneTask;
}
