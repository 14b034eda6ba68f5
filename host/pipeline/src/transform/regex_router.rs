//! RegexRouter: another topic by regular expression.

use bulkhead_model::config::{ConfigDef, ConfigType, Importance, TypedConfig, Validator};

use super::keys::{def, invalid, required, text};
use super::regex::Regex;
use super::{Record, Transform};
use crate::convert::ConvertError;

#[derive(Debug)]
pub(super) struct RegexRouter {
    regex: Regex,
    replacement: String,
}

impl RegexRouter {
    pub(super) fn config_def() -> ConfigDef {
        def([
            required(
                "regex",
                ConfigType::String,
                Importance::High,
                "Regular expression that the whole topic must match.",
            )
            .with_validator(Validator::JavaRegex),
            required(
                "replacement",
                ConfigType::String,
                Importance::High,
                "What the match is replaced by; `$1` is a group.",
            ),
        ])
    }

    pub(super) fn new(config: &TypedConfig) -> Result<Self, ConvertError> {
        let regex = Regex::new(&text(config, "regex"))
            .map_err(|reason| invalid(config, "regex", &format!("Invalid regex: {reason}")))?;
        Ok(Self { regex, replacement: text(config, "replacement") })
    }
}

impl Transform for RegexRouter {
    fn apply(&self, mut record: Record) -> Result<Option<Record>, ConvertError> {
        if self.regex.matches(&record.topic)? {
            record.topic = self.regex.replace_first(&record.topic, &self.replacement)?.into();
        }
        Ok(Some(record))
    }
}
