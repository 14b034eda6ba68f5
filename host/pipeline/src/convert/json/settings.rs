//! The keys of JsonConverter.

use bulkhead_model::config::{
    ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance, TypedConfig, Validator, Width,
};

const SCHEMAS_ENABLE: &str = "schemas.enable";
const SCHEMAS_CACHE_SIZE: &str = "schemas.cache.size";
const SCHEMA_CONTENT: &str = "schema.content";
const DECIMAL_FORMAT: &str = "decimal.format";
const REPLACE_NULL: &str = "replace.null.with.default";

/// How documents are written and read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// Whether a document is an envelope of schema and payload.
    pub(super) schemas_enabled: bool,
    pub(super) decimals: DecimalFormat,
    /// Whether a null is read and written as its schema's default.
    pub(super) replace_null_with_default: bool,
    /// How many schemas are remembered in each direction.
    pub(super) cache_size: usize,
}

/// How Decimals are written; both forms are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecimalFormat {
    Base64,
    Numeric,
}

impl Settings {
    pub(super) fn new(config: &TypedConfig) -> Self {
        let is_numeric = config.text(DECIMAL_FORMAT).is_some_and(|format| format.eq_ignore_ascii_case("numeric"));
        Self {
            schemas_enabled: config.boolean(SCHEMAS_ENABLE).unwrap_or(true),
            decimals: if is_numeric { DecimalFormat::Numeric } else { DecimalFormat::Base64 },
            replace_null_with_default: config.boolean(REPLACE_NULL).unwrap_or(true),
            cache_size: config.integer(SCHEMAS_CACHE_SIZE).and_then(|size| size.try_into().ok()).unwrap_or(0),
        }
    }
}

/// JSON of the schema that all documents have, if there is one.
pub(super) fn schema_content(config: &TypedConfig) -> Option<&str> {
    config.text(SCHEMA_CONTENT).filter(|content| !content.is_empty())
}

pub(super) fn config_def() -> ConfigDef {
    let schemas = "Schemas";
    let serialization = "Serialization";
    let default = |text: &str| DefaultValue::Value(text.to_owned());
    ConfigDef {
        keys: vec![
            ConfigKey::new(
                SCHEMAS_ENABLE,
                ConfigType::Boolean,
                default("true"),
                Importance::High,
                "Whether each document carries its schema beside the payload.",
            )
            .with_group(schemas, 0, Width::Medium, "Enable Schemas"),
            ConfigKey::new(
                SCHEMAS_CACHE_SIZE,
                ConfigType::Int,
                default("1000"),
                Importance::High,
                "How many schemas are remembered, so that they needn't be read and written anew.",
            )
            .with_group(schemas, 1, Width::Medium, "Schema Cache Size"),
            ConfigKey::new(
                SCHEMA_CONTENT,
                ConfigType::String,
                DefaultValue::Null,
                Importance::High,
                "Schema of all documents that are read, as JSON. Documents are then payloads, without an envelope.",
            )
            .with_group(schemas, 2, Width::Medium, "Schema Content"),
            ConfigKey::new(
                DECIMAL_FORMAT,
                ConfigType::String,
                default("BASE64"),
                Importance::Low,
                "How Decimals are written: BASE64, as the bytes of the unscaled number, or NUMERIC, as a number.",
            )
            .with_group(serialization, 0, Width::Medium, "Decimal Format")
            .with_validator(Validator::OneOfIgnoringCase(vec!["NUMERIC".to_owned(), "BASE64".to_owned()])),
            ConfigKey::new(
                REPLACE_NULL,
                ConfigType::Boolean,
                default("true"),
                Importance::Low,
                "Whether a null field that has a default is replaced by it.",
            )
            .with_group(serialization, 1, Width::Medium, "Replace null with default"),
        ],
    }
}
