//! The worker's own configuration, as far as running instances goes.

use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::RawConfig;
use bulkhead_pipeline::convert::Role;
use bulkhead_pipeline::ports::{Aliased, SchemaRegistries};
use bulkhead_pipeline::sink::SinkSettings;
use bulkhead_pipeline::source::SourceSettings;

use crate::providers::Providers;

/// Read from worker properties by [`Settings::from_properties`].
#[derive(Clone, Debug)]
pub struct Settings {
    /// `task.shutdown.graceful.timeout.ms`
    pub graceful_stop: Duration,
    pub source: SourceSettings,
    pub sink: SinkSettings,
    /// `topic.creation.enable`
    pub topic_creation: bool,
    /// `config.providers`. Whoever reads the properties sets them: there references count already.
    pub providers: Providers,
    /// For converters that need a schema registry. Set by whoever has such clients.
    pub registries: Option<Arc<dyn SchemaRegistries>>,
    /// All worker properties: default converters and their settings are taken from here.
    pub properties: RawConfig,
}

/// A worker property with an unusable value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("worker property `{key}` is `{value}`, which is not {expected}")]
pub struct SettingsError {
    pub key: String,
    pub value: String,
    pub expected: &'static str,
}

impl Settings {
    pub fn from_properties(properties: &RawConfig) -> Result<Self, SettingsError> {
        let flush_interval = millis(properties, "offset.flush.interval.ms", 60_000)?;
        let flush_timeout = millis(properties, "offset.flush.timeout.ms", 5_000)?;
        let graceful_stop = millis(properties, "task.shutdown.graceful.timeout.ms", 5_000)?;
        let max_records = match properties.get("consumer.max.poll.records") {
            Some(text) => number(text, "consumer.max.poll.records")?,
            None => SinkSettings::default().max_records as u64,
        };
        Ok(Self {
            graceful_stop,
            source: SourceSettings { flush_interval, flush_timeout, ..SourceSettings::default() },
            sink: SinkSettings {
                flush_interval,
                flush_timeout,
                max_records: max_records as usize,
                ..SinkSettings::default()
            },
            topic_creation: switch(properties, "topic.creation.enable", true)?,
            providers: Providers::default(),
            registries: None,
            properties: properties.clone(),
        })
    }

    /// The converter that a connector's task uses in this role: the connector's own, or else the worker's.
    pub(crate) fn converter(&self, connector: &RawConfig, role: Role) -> Aliased {
        let configured = [connector, &self.properties].into_iter().find_map(|config| Aliased::converter(role, config));
        configured.unwrap_or_else(|| {
            let class = match role {
                Role::Key | Role::Value => JSON,
                Role::Header => SIMPLE,
            };
            let config = self.properties.with_prefix(&format!("{}.", role.key()));
            Aliased { alias: role.key().to_owned(), class: class.to_owned(), config }
        })
    }
}

const JSON: &str = "org.apache.kafka.connect.json.JsonConverter";
const SIMPLE: &str = "org.apache.kafka.connect.storage.SimpleHeaderConverter";

fn millis(properties: &RawConfig, key: &str, default: u64) -> Result<Duration, SettingsError> {
    let millis = properties.get(key).map_or(Ok(default), |text| number(text, key))?;
    Ok(Duration::from_millis(millis))
}

fn switch(properties: &RawConfig, key: &str, default: bool) -> Result<bool, SettingsError> {
    match properties.get(key).map(str::trim) {
        None => Ok(default),
        Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        Some(text) => {
            let expected = "true or false";
            Err(SettingsError { key: key.to_owned(), value: text.to_owned(), expected })
        }
    }
}

fn number(text: &str, key: &str) -> Result<u64, SettingsError> {
    let parsed: Option<u64> = text.trim().parse().ok().filter(|number| *number > 0);
    parsed.ok_or_else(|| SettingsError {
        key: key.to_owned(),
        value: text.to_owned(),
        expected: "a whole number above 0",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_number_is_refused_with_key_and_value() {
        let properties = RawConfig::from([("offset.flush.interval.ms", "soon")]);
        let error = Settings::from_properties(&properties).unwrap_err();
        let expected = "worker property `offset.flush.interval.ms` is `soon`, which is not a whole number above 0";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn topics_are_created_unless_the_operator_says_no() {
        let read = |value: &str| Settings::from_properties(&RawConfig::from([("topic.creation.enable", value)]));
        assert!(Settings::from_properties(&RawConfig::new()).unwrap().topic_creation);
        assert!(!read("FALSE").unwrap().topic_creation);
        assert!(read("maybe").unwrap_err().to_string().contains("not true or false"));
    }

    #[test]
    fn a_connector_with_a_converter_of_its_own_takes_none_of_the_workers_settings() {
        let properties = RawConfig::from([("value.converter", "Json"), ("value.converter.schemas.enable", "false")]);
        let settings = Settings::from_properties(&properties).unwrap();
        let workers = settings.converter(&RawConfig::new(), Role::Value);
        assert_eq!((workers.class.as_str(), workers.config.get("schemas.enable")), ("Json", Some("false")));
        let own = RawConfig::from([("value.converter", "String")]);
        let own = settings.converter(&own, Role::Value);
        assert_eq!((own.class.as_str(), own.config.is_empty()), ("String", true));
    }
}
