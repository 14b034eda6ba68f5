//! Keys of transforms, and what `ConfigDef` doesn't check of them.

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance, TypedConfig};

use crate::convert::ConvertError;

pub(super) const REPLACE_NULL: &str = "replace.null.with.default";

pub(super) fn replace_null() -> ConfigKey {
    ConfigKey::new(
        REPLACE_NULL,
        ConfigType::Boolean,
        default("true"),
        Importance::Medium,
        "Whether a null field that has a default is replaced by it, also where it is only copied.",
    )
}

pub(super) fn default(text: &str) -> DefaultValue {
    DefaultValue::Value(text.to_owned())
}

pub(super) fn required(name: &str, kind: ConfigType, importance: Importance, documentation: &str) -> ConfigKey {
    ConfigKey::new(name, kind, DefaultValue::Required, importance, documentation)
}

pub(super) fn def(keys: impl Into<Vec<ConfigKey>>) -> ConfigDef {
    ConfigDef { keys: keys.into() }
}

/// A text that its key requires or has a default for.
pub(super) fn text(config: &TypedConfig, key: &str) -> String {
    config.text(key).unwrap_or_default().to_owned()
}

/// A list without empty elements; what is there twice counts once.
pub(super) fn names(config: &TypedConfig, key: &str) -> Result<Vec<String>, ConvertError> {
    let mut names: Vec<String> = Vec::new();
    for name in config.list(key).unwrap_or_default() {
        if name.is_empty() {
            return Err(invalid(config, key, "the list must not have empty elements"));
        }
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
    Ok(names)
}

/// As [`names`], and there must be one.
pub(super) fn some_names(config: &TypedConfig, key: &str) -> Result<Vec<String>, ConvertError> {
    let names = names(config, key)?;
    if names.is_empty() { Err(invalid(config, key, "the list must not be empty")) } else { Ok(names) }
}

pub(super) fn invalid(config: &TypedConfig, key: &str, reason: &str) -> ConvertError {
    let value = config.get(key).map_or_else(|| "null".to_owned(), |value| value.to_string());
    ConvertError::Config(format!("Invalid value {value} for configuration {key}: {reason}"))
}
