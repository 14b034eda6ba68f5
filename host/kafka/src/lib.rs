//! Kafka clients on librdkafka, behind the ports of the pipeline.
//!
//! Owns: the translation of Java's client properties, the producers that tasks share, the consumer of
//! each sink task, the offsets of sink groups, and the topics in which a distributed worker keeps what it
//! knows. Doesn't know plugins, converters or the herder.
//!
//! Start at [`KafkaClients`], made from [`Settings`]; [`producer`] and [`consumer`] are the two ways
//! through which records go, [`topic_log`] is the worker's own topics, [`offset_store`] what one of them
//! says about sources, [`admin`] is everything that isn't records, [`mock`] is a broker inside the process
//! for demos and quick tests.
//!
//! **Invariants:** nothing here waits for a guest, and no call of the ports blocks the caller's thread:
//! what may take long runs on the client's own thread or on tokio's blocking pool. `unsafe` is found only
//! where rdkafka wraps no function of librdkafka: in `admin::group_api`, and one call in `mock::groups`.

pub mod admin;
mod clients;
pub mod consumer;
mod context;
pub mod mock;
pub mod offset_store;
pub mod producer;
mod properties;
pub mod topic_log;

pub use admin::TopicAdmin;
pub use clients::{KafkaClients, Unreachable};
pub use consumer::SinkConsumer;
pub use mock::MockBroker;
pub use offset_store::{OffsetTopic, OffsetTopics};
pub use producer::SharedProducer;
pub use properties::Settings;
pub use topic_log::{FencableLog, LogSettings, TopicLog};
