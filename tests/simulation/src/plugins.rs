//! The plugins that every worker has.

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance};
use bulkhead_model::plugin::{PluginCatalog, PluginDesc, PluginKind};

pub const SOURCE: &str = "io.example.NumbersSourceConnector";

pub(crate) fn catalog() -> PluginCatalog {
    let plugin = |class: &str, kind, config| PluginDesc {
        class: class.to_owned(),
        aliases: Vec::new(),
        kind,
        version: Some("1.0".to_owned()),
        documentation: String::new(),
        config,
    };
    PluginCatalog::new([
        plugin(SOURCE, PluginKind::Source, source_def()),
        plugin("org.apache.kafka.connect.json.JsonConverter", PluginKind::Converter, ConfigDef::default()),
        plugin(
            "org.apache.kafka.connect.storage.SimpleHeaderConverter",
            PluginKind::HeaderConverter,
            ConfigDef::default(),
        ),
    ])
}

pub(crate) fn source_def() -> ConfigDef {
    let topic =
        ConfigKey::new("topic", ConfigType::String, DefaultValue::Required, Importance::High, "Topic to write.");
    ConfigDef { keys: vec![topic] }
}
