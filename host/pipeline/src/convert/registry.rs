//! Which converter a class name stands for.

use std::sync::Arc;

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance, RawConfig, Validator};
use bulkhead_model::plugin::{PluginDesc, PluginKind};

use super::avro::AvroConverter;
use super::bytes::ByteArrayConverter;
use super::json::JsonConverter;
use super::number::{Kind, NumberConverter};
use super::simple::SimpleHeaderConverter;
use super::string::StringConverter;
use super::{CONNECT_VERSION, ConvertError, Converter, avro, bytes, json, simple, string};
use crate::ports::SchemaRegistries;

/// What a converter is used for; it is told so as `converter.type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Key,
    Value,
    Header,
}

/// The classes there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Avro,
    Json,
    Simple,
    String,
    ByteArray,
    Number(Kind),
}

const TYPE: &str = "converter.type";

/// Every class with its full name and a sentence about it.
const CLASSES: [(Class, &str, &str); 11] = [
    (Class::Avro, avro::CLASS, "Avro, with its schemas in a schema registry."),
    (Class::Simple, simple::CLASS, "The text form of values; types are guessed when it is read."),
    (Class::Json, json::CLASS, "JSON, by default with the schema in an envelope around the payload."),
    (Class::String, string::CLASS, "Text in a character set of choice; values of other types as Java prints them."),
    (Class::ByteArray, bytes::CLASS, "Bytes as they are; anything else is refused."),
    (Class::Number(Kind::Boolean), Kind::Boolean.class(), "Booleans as one byte, 1 or 0."),
    (Class::Number(Kind::Short), Kind::Short.class(), "16-bit integers, big-endian."),
    (Class::Number(Kind::Integer), Kind::Integer.class(), "32-bit integers, big-endian."),
    (Class::Number(Kind::Long), Kind::Long.class(), "64-bit integers, big-endian."),
    (Class::Number(Kind::Float), Kind::Float.class(), "32-bit floating point numbers, big-endian."),
    (Class::Number(Kind::Double), Kind::Double.class(), "64-bit floating point numbers, big-endian."),
];

/// Makes the converter of a class, by full or short name, from the part of the configuration that is
/// its own (`key.converter.` and its like cut off). None that needs a schema registry.
pub fn create(class: &str, config: &RawConfig, role: Role) -> Result<Arc<dyn Converter>, ConvertError> {
    create_with(class, config, role, None)
}

/// The same, for any class.
pub fn create_with(
    class: &str,
    config: &RawConfig,
    role: Role,
    registries: Option<&dyn SchemaRegistries>,
) -> Result<Arc<dyn Converter>, ConvertError> {
    let class = resolve(class, role)?;
    let mut raw = config.clone();
    raw.set(TYPE, role.name());
    let config = class.config_def().parse(&raw).map_err(|errors| ConvertError::Config(errors.join("; ")))?;
    Ok(match class {
        Class::Avro => Arc::new(AvroConverter::new(&config, &raw, role == Role::Key, registries)?),
        Class::Json => Arc::new(JsonConverter::new(&config)?),
        Class::Simple => Arc::new(SimpleHeaderConverter::new()),
        Class::String => Arc::new(StringConverter::new(&config)?),
        Class::ByteArray => Arc::new(ByteArrayConverter::new()),
        Class::Number(kind) => Arc::new(NumberConverter::new(kind)),
    })
}

/// Whether a class name is that of one of these.
pub fn is_builtin(class: &str, role: Role) -> bool {
    resolve(class, role).is_ok()
}

/// All converters, once for keys and values and once for headers.
pub fn builtin_plugins() -> Vec<PluginDesc> {
    CLASSES
        .iter()
        .flat_map(|(class, name, documentation)| {
            class.kinds().iter().map(|kind| PluginDesc {
                class: (*name).to_owned(),
                aliases: Vec::new(),
                kind: *kind,
                version: Some(CONNECT_VERSION.to_owned()),
                documentation: (*documentation).to_owned(),
                config: class.config_def(),
            })
        })
        .collect()
}

/// Finds a class by its full name, its simple one, or that without the ending of its kind.
fn resolve(name: &str, role: Role) -> Result<Class, ConvertError> {
    CLASSES
        .iter()
        .filter(|(class, _, _)| class.kinds().contains(&role.kind()))
        .find(|(class, full, _)| {
            let simple = full.rsplit('.').next().unwrap_or(full);
            *full == name || simple == name || simple.strip_suffix(class.suffix()) == Some(name)
        })
        .map(|(class, _, _)| *class)
        .ok_or_else(|| ConvertError::Config(format!("there is no {} of class {name}", role.kind())))
}

impl Class {
    fn kinds(self) -> &'static [PluginKind] {
        match self {
            Self::Json | Self::String | Self::ByteArray | Self::Number(_) => {
                &[PluginKind::Converter, PluginKind::HeaderConverter]
            }
            Self::Avro => &[PluginKind::Converter],
            Self::Simple => &[PluginKind::HeaderConverter],
        }
    }

    /// What a short name may leave out.
    fn suffix(self) -> &'static str {
        match self {
            Self::Avro | Self::Json | Self::String | Self::ByteArray | Self::Number(_) => "Converter",
            Self::Simple => "HeaderConverter",
        }
    }

    fn config_def(self) -> ConfigDef {
        let mut def = match self {
            Self::Avro => AvroConverter::config_def(),
            Self::Json => JsonConverter::config_def(),
            Self::Simple => return ConfigDef::default(),
            Self::String => StringConverter::config_def(),
            Self::ByteArray | Self::Number(_) => ConfigDef::default(),
        };
        def.keys.insert(0, type_key());
        def
    }
}

fn type_key() -> ConfigKey {
    ConfigKey::new(
        TYPE,
        ConfigType::String,
        DefaultValue::Required,
        Importance::Low,
        "What the converter is used for. Set by the worker.",
    )
    .with_validator(Validator::OneOf(["key", "value", "header"].map(str::to_owned).to_vec()))
}

impl Role {
    pub const ALL: [Self; 3] = [Self::Key, Self::Value, Self::Header];

    /// The key that names the class; what is below it is the converter's.
    pub fn key(self) -> &'static str {
        match self {
            Self::Key => "key.converter",
            Self::Value => "value.converter",
            Self::Header => "header.converter",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Value => "value",
            Self::Header => "header",
        }
    }

    /// What its class has to be.
    pub fn kind(self) -> PluginKind {
        match self {
            Self::Key | Self::Value => PluginKind::Converter,
            Self::Header => PluginKind::HeaderConverter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exists(class: &str, role: Role) -> bool {
        create(class, &RawConfig::new(), role).is_ok()
    }

    #[test]
    fn converters_go_by_full_simple_and_short_names() {
        for name in ["org.apache.kafka.connect.json.JsonConverter", "JsonConverter", "Json", "ByteArray", "Double"] {
            assert!(exists(name, Role::Key) && exists(name, Role::Header), "{name}");
        }
        let avro = |name| create(name, &RawConfig::from([("schema.registry.url", "http://r")]), Role::Key);
        for name in ["io.confluent.connect.avro.AvroConverter", "AvroConverter", "Avro"] {
            let error = avro(name).map(|_| ()).unwrap_err().to_string();
            assert_eq!(error, "there is no client for schema registries", "{name}");
        }
        assert!(!exists("json", Role::Value));
        assert!(!exists("org.example.JsonConverter", Role::Value));
    }

    #[test]
    fn header_converters_are_no_converters_for_keys() {
        assert!(exists("SimpleHeaderConverter", Role::Header) && exists("Simple", Role::Header));
        assert!(!exists("SimpleHeader", Role::Header));
        assert!(!exists("SimpleHeaderConverter", Role::Value));
    }

    #[test]
    fn every_class_is_listed_for_each_of_its_roles() {
        let plugins = builtin_plugins();
        let of_kind = |kind| plugins.iter().filter(|plugin| plugin.kind == kind).count();
        assert_eq!((of_kind(PluginKind::Converter), of_kind(PluginKind::HeaderConverter)), (10, 10));
    }
}
