//! The three predicates.

use bulkhead_model::config::{ConfigDef, ConfigType, Importance, TypedConfig, Validator};

use super::keys::{def, invalid, required, text};
use super::regex::Regex;
use super::{Predicate, Record};
use crate::convert::ConvertError;

/// True of topics that match a regular expression as a whole.
#[derive(Debug)]
pub(super) struct TopicNameMatches {
    regex: Regex,
}

impl TopicNameMatches {
    pub(super) fn config_def() -> ConfigDef {
        let doc = "Regular expression that the whole topic must match.";
        def([required("pattern", ConfigType::String, Importance::Medium, doc).with_validator(Validator::NonEmpty)])
    }

    pub(super) fn new(config: &TypedConfig) -> Result<Self, ConvertError> {
        let regex = Regex::new(&text(config, "pattern"))
            .map_err(|reason| invalid(config, "pattern", &format!("Invalid regex: {reason}")))?;
        Ok(Self { regex })
    }
}

impl Predicate for TopicNameMatches {
    fn test(&self, record: &Record) -> Result<bool, ConvertError> {
        self.regex.matches(&record.topic)
    }
}

/// True of records with a header of some name, whatever its value.
#[derive(Debug)]
pub(super) struct HasHeaderKey {
    name: String,
}

impl HasHeaderKey {
    pub(super) fn config_def() -> ConfigDef {
        let doc = "Name of the header that must be there.";
        def([required("name", ConfigType::String, Importance::Medium, doc).with_validator(Validator::NonEmpty)])
    }

    pub(super) fn new(config: &TypedConfig) -> Result<Self, ConvertError> {
        Ok(Self { name: text(config, "name") })
    }
}

impl Predicate for HasHeaderKey {
    fn test(&self, record: &Record) -> Result<bool, ConvertError> {
        Ok(record.headers.iter().any(|header| *header.key == *self.name))
    }
}

/// True of records whose value is null, with or without a schema.
#[derive(Debug)]
pub(super) struct RecordIsTombstone;

impl Predicate for RecordIsTombstone {
    fn test(&self, record: &Record) -> Result<bool, ConvertError> {
        Ok(record.value.value.is_null())
    }
}
