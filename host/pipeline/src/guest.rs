//! Transforms, predicates and converters of plugins: each runs beside its task, in an instance of its own.

use crate::convert::ConvertError;
use crate::ports::{Aliased, PluginError};

/// The alias of a transform, predicate or converter, and the full name of its class.
#[derive(Clone, Debug)]
pub(crate) struct Name {
    pub(crate) alias: String,
    pub(crate) class: String,
}

impl Name {
    pub(crate) fn of(plan: &Aliased, class: String) -> Self {
        Self { alias: plan.alias.clone(), class }
    }

    pub(crate) fn failed(&self, what: &'static str, error: PluginError) -> GuestFailure {
        let Self { alias, class } = self.clone();
        GuestFailure { what, alias, class, error }
    }
}

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
