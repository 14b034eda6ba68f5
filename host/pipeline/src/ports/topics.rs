//! Topics that tasks make.

use std::collections::BTreeMap;

use super::BoxFuture;

/// Looks topics up and makes them, for one connector. A trait object: few tasks need it, and seldom.
pub trait Topics: Send + Sync + 'static {
    fn exists(&self, topic: &str) -> BoxFuture<Result<bool, TopicError>>;
    /// Makes a topic, and waits until it can be used.
    fn create(&self, topic: NewTopic) -> BoxFuture<Result<Creation, TopicError>>;
}

/// A topic to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTopic {
    pub name: String,
    /// -1 leaves it to the broker.
    pub partitions: i32,
    /// -1 leaves it to the broker.
    pub replication_factor: i32,
    /// Settings of the topic, e.g. `cleanup.policy`.
    pub settings: BTreeMap<String, String>,
}

/// How making a topic went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Creation {
    Created,
    /// Somebody made it before, with whatever settings.
    Exists,
}

/// A request about a topic failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TopicError {
    /// The broker doesn't let us, or doesn't know the request.
    #[error("{0}")]
    Denied(String),
    /// Worth trying again.
    #[error("{0}")]
    Retriable(String),
    /// What was asked for can't be had.
    #[error("{0}")]
    Refused(String),
}
