//! RegexRouter: another topic by regular expression.

use std::sync::{Arc, Mutex, PoisonError};

use bulkhead_model::config::{ConfigDef, ConfigType, Importance, TypedConfig, Validator};

use super::keys::{def, invalid, required, text};
use super::regex::Regex;
use super::{Record, Transform};
use crate::convert::ConvertError;

#[derive(Debug)]
pub(super) struct RegexRouter {
    regex: Regex,
    replacement: String,
    /// Most records of a batch have the topic of the one before.
    last: Mutex<Option<Route>>,
}

#[derive(Debug)]
struct Route {
    from: Arc<str>,
    to: Arc<str>,
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
        Ok(Self { regex, replacement: text(config, "replacement"), last: Mutex::default() })
    }

    fn route(&self, topic: &Arc<str>) -> Result<Arc<str>, ConvertError> {
        if self.regex.matches(topic)? {
            Ok(self.regex.replace_first(topic, &self.replacement)?.into())
        } else {
            Ok(topic.clone())
        }
    }
}

impl Transform for RegexRouter {
    fn apply(&self, mut record: Record) -> Result<Option<Record>, ConvertError> {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let to = match &*last {
            Some(route) if route.from == record.topic => route.to.clone(),
            _ => {
                let to = self.route(&record.topic)?;
                *last = Some(Route { from: record.topic, to: to.clone() });
                to
            }
        };
        record.topic = to;
        Ok(Some(record))
    }
}
