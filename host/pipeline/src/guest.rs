//! Transforms, predicates and converters of plugins: each runs beside its task, in an instance of its own.

use crate::convert::ConvertError;
use crate::ports::PluginError;

/// A guest failed, and not because of one record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} `{alias}` ({class}): {error}")]
pub struct GuestFailure {
    /// Transform, predicate or converter.
    pub what: &'static str,
    pub alias: String,
    /// The full name of its class.
    pub class: String,
    pub error: PluginError,
}

/// What a task has beside itself can't be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    #[error("{0}")]
    Config(#[from] ConvertError),
    #[error("{0}")]
    Guest(#[from] GuestFailure),
}
