//! Small things between the bindings and the model.

use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_model::config::{
    ConfigDef, ConfigKey, ConfigType, ConfigValue, DefaultValue, Importance, Validator, Width,
};
use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_pipeline::ports::{ErrorInfo, PluginError, Rejection, SourceDelivery};

use super::bindings::exports::bulkhead::connect::{manifest, sink_task, source_task};
use super::wit::{config_def as def, types};
use crate::grant::{Access, Needs};

/// What a guest's function answered, in the words of the ports.
pub(super) fn answer<T>(said: Result<T, types::Error>) -> Result<T, PluginError> {
    said.map_err(plugin_error)
}

pub(crate) fn plugin_error(error: types::Error) -> PluginError {
    match error {
        types::Error::Retriable(info) => PluginError::Retriable(error_info(info)),
        types::Error::Failed(info) => PluginError::Failed(error_info(info)),
        types::Error::Config(error) => PluginError::Config { key: error.key, message: error.message },
        types::Error::Data(info) => PluginError::Data(error_info(info)),
    }
}

fn error_info(info: types::ErrorInfo) -> ErrorInfo {
    ErrorInfo { message: info.message, causes: info.causes }
}

/// A guest broke a rule of the package in a way that leaves it standing.
pub(super) fn at_fault(message: String) -> PluginError {
    PluginError::Failed(ErrorInfo { message, causes: Vec::new() })
}

pub(super) fn config(config: &RawConfig) -> types::Config {
    config.iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

impl From<&TopicPartition> for types::TopicPartition {
    fn from(partition: &TopicPartition) -> Self {
        Self { topic: partition.topic.to_string(), partition: partition.partition }
    }
}

impl From<types::TopicPartition> for TopicPartition {
    fn from(partition: types::TopicPartition) -> Self {
        Self { topic: Arc::from(partition.topic), partition: partition.partition }
    }
}

impl From<&TopicOffset> for types::TopicOffset {
    fn from(offset: &TopicOffset) -> Self {
        Self { topic: offset.partition.topic.to_string(), partition: offset.partition.partition, offset: offset.offset }
    }
}

impl From<types::TopicOffset> for TopicOffset {
    fn from(offset: types::TopicOffset) -> Self {
        Self {
            partition: TopicPartition { topic: Arc::from(offset.topic), partition: offset.partition },
            offset: offset.offset,
        }
    }
}

impl From<SourceDelivery> for source_task::Delivery {
    fn from(delivery: SourceDelivery) -> Self {
        Self {
            batch: delivery.batch,
            index: delivery.index,
            written: delivery.written.map(|written| source_task::Written {
                topic: written.topic.to_string(),
                partition: written.partition,
                offset: written.offset,
                timestamp: written.timestamp,
            }),
        }
    }
}

impl From<sink_task::Rejection> for Rejection {
    fn from(rejection: sink_task::Rejection) -> Self {
        Self { index: rejection.index, message: rejection.message }
    }
}

impl From<def::ConfigValue> for ConfigValue {
    fn from(value: def::ConfigValue) -> Self {
        Self {
            name: value.name,
            value: value.value,
            recommended: value.recommended,
            errors: value.errors,
            visible: value.visible,
        }
    }
}

/// A plugin's keys as REST shows them.
pub(crate) fn config_def(keys: &[def::ConfigKey]) -> ConfigDef {
    ConfigDef { keys: keys.iter().map(config_key).collect() }
}

fn config_key(key: &def::ConfigKey) -> ConfigKey {
    ConfigKey {
        name: key.name.clone(),
        kind: config_type(key.kind),
        default: match &key.default_value {
            Some(text) => DefaultValue::Value(text.clone()),
            None if key.default_null => DefaultValue::Null,
            None => DefaultValue::Required,
        },
        importance: match key.importance {
            def::Importance::High => Importance::High,
            def::Importance::Medium => Importance::Medium,
            def::Importance::Low => Importance::Low,
        },
        documentation: key.documentation.clone(),
        group: key.group.clone(),
        // Connect says -1 where a key has no place in a group.
        order: i32::try_from(key.order).ok().filter(|order| *order > 0).unwrap_or(-1),
        width: match key.width {
            def::Width::None => Width::None,
            def::Width::Short => Width::Short,
            def::Width::Medium => Width::Medium,
            def::Width::Long => Width::Long,
        },
        display_name: key.display_name.clone(),
        dependents: key.dependents.clone(),
        validators: key.validators.iter().map(validator).collect(),
        internal: key.internal,
    }
}

fn config_type(kind: def::ConfigType) -> ConfigType {
    match kind {
        def::ConfigType::Boolean => ConfigType::Boolean,
        def::ConfigType::Text => ConfigType::String,
        def::ConfigType::Int => ConfigType::Int,
        def::ConfigType::Short => ConfigType::Short,
        def::ConfigType::Long => ConfigType::Long,
        def::ConfigType::Double => ConfigType::Double,
        def::ConfigType::ListOfText => ConfigType::List,
        def::ConfigType::Class => ConfigType::Class,
        def::ConfigType::Password => ConfigType::Password,
    }
}

fn validator(validator: &def::Validator) -> Validator {
    match validator {
        def::Validator::Range((min, max)) => Validator::Range { min: min.clone(), max: max.clone() },
        def::Validator::OneOf(values) => Validator::OneOf(values.clone()),
        def::Validator::OneOfIgnoringCase(values) => Validator::OneOfIgnoringCase(values.clone()),
        def::Validator::NonEmpty => Validator::NonEmpty,
        def::Validator::EachOneOf(values) => Validator::EachOneOf(values.clone()),
        def::Validator::Pattern(pattern) => Validator::Pattern(pattern.clone()),
    }
}

/// What a manifest asks for, read as rules.
pub(crate) fn needs(needs: &manifest::Needs, initial_memory: u64) -> Result<Needs, String> {
    let network = needs.network.iter().map(|rule| rule.parse());
    let env = needs.env.iter().map(|name| name.parse());
    Ok(Needs {
        files: match needs.files {
            manifest::FileAccess::None => None,
            manifest::FileAccess::ReadOnly => Some(Access::ReadOnly),
            manifest::FileAccess::ReadWrite => Some(Access::ReadWrite),
        },
        network: network.collect::<Result<_, String>>()?,
        env: env.collect::<Result<_, String>>()?,
        initial_memory,
    })
}
