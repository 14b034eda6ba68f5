//! Transforms and predicates: what happens to a record between a task and the converters, under
//! Apache's class names.
//!
//! Start at [`Chain`], which is all that a connector's configuration says about transforms. It works on
//! a [`Record`], whose key and value are trees; a pipeline makes one only where a chain is configured,
//! by [`crate::convert::item`]. Each transform has a file of its own; `data` and `schemas` hold what
//! they share.

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
mod path;
mod predicate;
mod record;
mod regex;
mod regex_router;
mod registry;
mod replace_field;
mod schemas;
mod set_schema_metadata;
mod timestamp_converter;
mod timestamp_router;
mod value_to_key;

pub use chain::{Chain, StageError};
pub use record::{Header, Record};
pub(crate) use regex::Regex;
pub use registry::builtin_plugins;

use crate::convert::ConvertError;

/// Changes records, or drops them.
pub(crate) trait Transform: Send + Sync {
    fn apply(&self, record: Record) -> Result<Option<Record>, ConvertError>;
}

/// Tells records apart.
pub(crate) trait Predicate: Send + Sync {
    fn test(&self, record: &Record) -> Result<bool, ConvertError>;
}
