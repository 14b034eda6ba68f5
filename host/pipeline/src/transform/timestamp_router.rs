//! TimestampRouter: a topic by the record's time.

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, Importance, TypedConfig};
use bulkhead_model::value::time::{DateFormat, IllegalPattern};

use super::keys::{def, default, text};
use super::{Record, Transform};
use crate::convert::ConvertError;

#[derive(Debug)]
pub(super) struct TimestampRouter {
    topic_format: String,
    /// A bad pattern fails record by record, as in Connect.
    timestamp_format: Result<DateFormat, IllegalPattern>,
}

impl TimestampRouter {
    pub(super) fn config_def() -> ConfigDef {
        let text = |name, value, doc| ConfigKey::new(name, ConfigType::String, default(value), Importance::High, doc);
        def([
            text(
                "topic.format",
                "${topic}-${timestamp}",
                "The new topic, with `${topic}` and `${timestamp}` filled in.",
            ),
            text("timestamp.format", "yyyyMMdd", "How the time is written, as a pattern of SimpleDateFormat, in UTC."),
        ])
    }

    pub(super) fn new(config: &TypedConfig) -> Result<Self, ConvertError> {
        let timestamp_format = DateFormat::new(&text(config, "timestamp.format"));
        Ok(Self { topic_format: text(config, "topic.format"), timestamp_format })
    }
}

impl Transform for TimestampRouter {
    fn apply(&self, mut record: Record) -> Result<Option<Record>, ConvertError> {
        let Some(timestamp) = record.timestamp else {
            return Err(ConvertError::Data(format!("a record of topic {} has no timestamp", record.topic)));
        };
        let format = self.timestamp_format.as_ref().map_err(|error| ConvertError::Other(error.to_string()))?;
        let topic = self.topic_format.replace("${topic}", &record.topic);
        record.topic = topic.replace("${timestamp}", &format.format(timestamp)).into();
        Ok(Some(record))
    }
}
