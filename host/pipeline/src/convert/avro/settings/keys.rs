//! The keys of AvroConverter, with Confluent's names and defaults.

use bulkhead_model::config::ConfigType::{Boolean, Class, Int, List, Password, String};
use bulkhead_model::config::Importance::{High, Low, Medium};
use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance, Validator};

use super::super::subject::Strategy;
use super::*;

/// Keys of Confluent's converter that would change what is written or read, each with the one value that is taken. Others
/// that aren't known are left alone, as Connect does.
pub(super) const FIXED: [(&str, &str); 14] = [
    ("bearer.auth.issuer.endpoint.url", ""),
    ("context.name.strategy", "io.confluent.kafka.serializers.context.NullContextNameStrategy"),
    ("discard.type.doc.default", "false"),
    ("generalized.sum.type.support", "false"),
    ("key.schema.id.serializer", "io.confluent.kafka.serializers.schema.id.PrefixSchemaIdSerializer"),
    ("latest.cache.ttl.sec", "-1"),
    ("proxy.host", ""),
    ("rule.executors", ""),
    ("schema.backup.enabled", "false"),
    ("schema.reflection", "false"),
    ("use.latest.with.metadata", ""),
    ("use.schema.guid", ""),
    ("use.schema.id", "-1"),
    ("value.schema.id.serializer", "io.confluent.kafka.serializers.schema.id.PrefixSchemaIdSerializer"),
];

#[rustfmt::skip]
const KEYS: &[(&str, ConfigType, &str, Importance, &str)] = &[
    (AUTO_REGISTER, Boolean, "true", Medium, "Whether schemas that are new to a subject are registered."),
    (USE_LATEST, Boolean, "false", Low,
     "Whether values are written with the latest schema of the subject. Counts only if auto.register.schemas is false."),
    (LATEST_STRICT, Boolean, "true", Low,
     "Whether the latest schema is used only if it can read what has the value's own schema."),
    (NORMALIZE, Boolean, "false", Medium,
     "Whether the registry compares schemas by what they mean, not by how they are written."),
    (KEY_STRATEGY, Class, TOPIC_NAMES, Medium, "How subjects of keys are named."),
    (VALUE_STRATEGY, Class, TOPIC_NAMES, Medium, "How subjects of values are named."),
    (SCHEMAS_PER_SUBJECT, Int, "1000", Low, "How many ids of schemas are remembered."),
    (CACHE_SIZE, Int, "1000", Low, "How many schemas are remembered in each direction."),
    (META_DATA, Boolean, "true", Low,
     "Whether what only Connect knows of a schema stands in the Avro schema, and is read from there."),
    (ENHANCED, Boolean, "false", Medium,
     "Whether enums are written as enums again, and members of unions keep their namespaces."),
    (SCRUB, Boolean, "false", Medium, "Whether characters that Avro doesn't allow in names are replaced."),
    (IGNORE_DEFAULT, Boolean, "false", Low, "Whether a null field is written as null even if it has a default."),
    (OPTIONAL_KEYS, Boolean, "false", Low, "Whether maps with optional text keys are written as maps of Avro."),
    (FLATTEN, Boolean, "true", Low, "Whether a union of one type is read as that type."),
    (BASIC_SOURCE, String, FROM_URL, Medium,
     "Where name and password for the registry are: URL, or USER_INFO (basic.auth.user.info)."),
    (USER_INFO[0], Password, "", Medium, "Name and password for the registry, with a colon between them."),
    (USER_INFO[1], Password, "", Medium, "An older name of basic.auth.user.info."),
    (BEARER_SOURCE, String, STATIC_TOKEN, Medium,
     "Where the bearer token for the registry is. One is sent only if this is set: to STATIC_TOKEN (bearer.auth.token)."),
    (BEARER_TOKEN, Password, "", Medium, "The bearer token for the registry."),
    (CONNECT_TIMEOUT, Int, "60000", Low, "How long a connection to the registry may take, in milliseconds."),
    (READ_TIMEOUT, Int, "60000", Low, "How long the registry may take to answer, in milliseconds; 0: for ever."),
    (RETRIES, Int, "3", Low, "How often a request that the registry couldn't answer is tried again."),
    (RETRY_WAIT, Int, "1000", Low, "The wait before the first of these tries, in milliseconds; doubled each time."),
    (RETRY_MAX_WAIT, Int, "20000", Low, "The longest wait between these tries, in milliseconds."),
];

const TOPIC_NAMES: &str = Strategy::Topic.class();

pub(in super::super) fn config_def() -> ConfigDef {
    let url = "URLs of the schema registry, with commas between them; they are tried in this order.";
    let url = ConfigKey::new(URL, List, DefaultValue::Required, High, url).with_validator(Validator::NonEmpty);
    let keys = KEYS.iter().map(|(name, kind, default, importance, documentation)| {
        let key = ConfigKey::new(name, *kind, DefaultValue::Value((*default).to_owned()), *importance, documentation);
        ConfigKey { validators: validator(name, *kind).into_iter().collect(), ..key }
    });
    let fixed = FIXED.iter().map(|(name, only)| {
        let default = DefaultValue::Value((*only).to_owned());
        let documentation = "Not supported: only the default is taken.";
        ConfigKey::new(name, String, default, Low, documentation)
            .with_validator(Validator::OneOfIgnoringCase(vec![(*only).to_owned()]))
    });
    ConfigDef { keys: [url].into_iter().chain(keys).chain(fixed).collect() }
}

fn validator(name: &str, kind: ConfigType) -> Option<Validator> {
    let one_of = |values: &[&str]| Some(Validator::OneOf(values.iter().map(|value| (*value).to_owned()).collect()));
    match name {
        KEY_STRATEGY | VALUE_STRATEGY => one_of(&Strategy::ALL.map(Strategy::class)),
        BASIC_SOURCE => one_of(&[FROM_URL, FROM_USER_INFO]),
        BEARER_SOURCE => one_of(&[STATIC_TOKEN]),
        _ if kind == Int => Some(Validator::Range { min: Some("0".to_owned()), max: None }),
        _ => None,
    }
}
