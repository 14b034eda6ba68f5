//! InsertHeader: adds a header with a fixed value.

use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigType, Importance, TypedConfig};

use super::keys::{def, required, text};
use super::{Header, Record, Transform};
use crate::convert::{ConvertError, values};

#[derive(Debug)]
pub(super) struct InsertHeader {
    header: Header,
}

impl InsertHeader {
    pub(super) fn config_def() -> ConfigDef {
        let value = "Value of the header in its text form; the type is guessed as header converters do.";
        def([
            required("header", ConfigType::String, Importance::High, "Name of the header."),
            required("value.literal", ConfigType::String, Importance::High, value),
        ])
    }

    pub(super) fn new(config: &TypedConfig) -> Result<Self, ConvertError> {
        let key: Arc<str> = text(config, "header").into();
        Ok(Self { header: Header { key, value: values::parse(&text(config, "value.literal")) } })
    }
}

impl Transform for InsertHeader {
    fn apply(&self, mut record: Record) -> Result<Option<Record>, ConvertError> {
        record.headers.push(self.header.clone());
        Ok(Some(record))
    }
}
