//! Transforms and predicates: what happens to a record between a task and the converters, under
//! Apache's class names.
//!
//! Start at [`Transforms`], which is all that a connector's configuration says about transforms. Most are
//! a [`Chain`] of built-in ones: it works on a [`Record`], whose key and value are trees; a pipeline makes
//! one only where a chain is configured, by [`crate::convert::item`]. With guests in it, a chain is a
//! [`MixedChain`], which takes whole batches (`passage`) through its stages. Each transform has a file of its
//! own; `data` and `schemas` hold what they share.

mod cast;
mod chain;
mod data;
mod drop_headers;
mod extract_field;
mod filter;
mod flatten;
mod header_from;
mod hoist_field;
mod insert_field;
mod insert_header;
mod keys;
mod mask_field;
mod mixed;
pub(crate) mod passage;
mod path;
mod plan;
mod predicate;
mod record;
mod regex;
mod regex_router;
mod registry;
mod replace_field;
pub(crate) mod rows;
mod schemas;
mod set_schema_metadata;
mod timestamp_converter;
mod timestamp_router;
mod transforms;
mod value_to_key;

pub use chain::{Chain, StageError};
pub use mixed::MixedChain;
pub use record::{Header, Record};
pub(crate) use regex::Regex;
pub use registry::builtin_plugins;
pub use transforms::{Transforms, guests};

use crate::convert::ConvertError;

/// Changes records, or drops them.
pub(crate) trait Transform: Send + Sync {
    fn apply(&self, record: Record) -> Result<Option<Record>, ConvertError>;
}

/// Tells records apart.
pub(crate) trait Predicate: Send + Sync {
    fn test(&self, record: &Record) -> Result<bool, ConvertError>;
}
