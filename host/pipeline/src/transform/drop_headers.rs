//! DropHeaders: removes headers by name.

use bulkhead_model::config::{ConfigDef, ConfigType, Importance, TypedConfig};

use super::keys::{def, required, some_names};
use super::{Record, Transform};
use crate::convert::ConvertError;

#[derive(Debug)]
pub(super) struct DropHeaders {
    headers: Vec<String>,
}

impl DropHeaders {
    pub(super) fn config_def() -> ConfigDef {
        def([required("headers", ConfigType::List, Importance::High, "Names of the headers to be removed.")])
    }

    pub(super) fn new(config: &TypedConfig) -> Result<Self, ConvertError> {
        Ok(Self { headers: some_names(config, "headers")? })
    }
}

impl Transform for DropHeaders {
    fn apply(&self, mut record: Record) -> Result<Option<Record>, ConvertError> {
        record.headers.retain(|header| !self.headers.iter().any(|name| **name == *header.key));
        Ok(Some(record))
    }
}
