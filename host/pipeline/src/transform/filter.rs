//! Filter: drops every record that a predicate lets in.

use super::{Record, Transform};
use crate::convert::ConvertError;

#[derive(Debug)]
pub(super) struct Filter;

impl Transform for Filter {
    fn apply(&self, _record: Record) -> Result<Option<Record>, ConvertError> {
        Ok(None)
    }
}
