//! Transforms and predicates in sandboxes of their own.

use std::sync::Arc;

use bulkhead_model::RawConfig;

use super::{BoxFuture, PluginError};
use crate::batch::Batch;

/// A transform, predicate or converter as a configuration has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aliased {
    pub alias: String,
    pub class: String,
    /// What the configuration has below the alias, without what is the chain's own business.
    pub config: RawConfig,
}

/// A configured transform. A trait object: a chain has any number of them, or none. Dropping it drops its
/// instance.
pub trait TransformTask: Send + Sync + 'static {
    /// Transforms a batch. `offset` is that of each record in its Kafka partition, empty on the way from a
    /// source. What comes back has been checked: one fate for each record, and as many records as are kept.
    fn apply(&self, batch: Arc<Batch>, offset: Vec<i64>) -> BoxFuture<Result<Transformed, PluginError>>;
}

/// A configured predicate, as [`TransformTask`] otherwise.
pub trait PredicateTask: Send + Sync + 'static {
    /// One answer for each record, or why there is none.
    fn test(&self, batch: Arc<Batch>, offset: Vec<i64>) -> BoxFuture<Result<Vec<Result<bool, String>>, PluginError>>;
}

/// What a transform made of a batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Transformed {
    /// What became of each record.
    pub fates: Vec<Fate>,
    /// Those that were kept, in their order.
    pub records: Batch,
}

/// What a transform did with a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    Kept,
    Dropped,
    Failed(String),
}
