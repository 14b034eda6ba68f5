//! What AvroConverter is told, by Confluent's keys.

mod keys;

use std::time::Duration;

use bulkhead_model::RawConfig;
use bulkhead_model::config::{Password, Typed, TypedConfig};
use bulkhead_model::security::ClientSecurity;

pub(super) use self::keys::config_def;
use super::subject::Strategy;
use crate::convert::ConvertError;
use crate::ports::{RegistryLogin, RegistrySettings};

const URL: &str = "schema.registry.url";
const AUTO_REGISTER: &str = "auto.register.schemas";
const USE_LATEST: &str = "use.latest.version";
const LATEST_STRICT: &str = "latest.compatibility.strict";
const NORMALIZE: &str = "normalize.schemas";
const KEY_STRATEGY: &str = "key.subject.name.strategy";
const VALUE_STRATEGY: &str = "value.subject.name.strategy";
const SCHEMAS_PER_SUBJECT: &str = "max.schemas.per.subject";
const CACHE_SIZE: &str = "schemas.cache.config";
const META_DATA: &str = "connect.meta.data";
const ENHANCED: &str = "enhanced.avro.schema.support";
const SCRUB: &str = "scrub.invalid.names";
const IGNORE_DEFAULT: &str = "ignore.default.for.nullables";
const OPTIONAL_KEYS: &str = "allow.optional.map.keys";
const FLATTEN: &str = "flatten.singleton.unions";
const BASIC_SOURCE: &str = "basic.auth.credentials.source";
const USER_INFO: [&str; 2] = ["basic.auth.user.info", "schema.registry.basic.auth.user.info"];
const BEARER_SOURCE: &str = "bearer.auth.credentials.source";
const BEARER_TOKEN: &str = "bearer.auth.token";
const STATIC_TOKEN: &str = "STATIC_TOKEN";
const FROM_USER_INFO: &str = "USER_INFO";
const FROM_URL: &str = "URL";
const CONNECT_TIMEOUT: &str = "http.connect.timeout.ms";
const READ_TIMEOUT: &str = "http.read.timeout.ms";
const RETRIES: &str = "max.retries";
const RETRY_WAIT: &str = "retries.wait.ms";
const RETRY_MAX_WAIT: &str = "retries.max.wait.ms";
/// Before the names that every client of Java has for its TLS.
const SSL_PREFIX: &str = "schema.registry.";
const HEADER_PREFIX: &str = "request.header.";

/// How schemas and values are translated, and which schemas are used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) mapping: Mapping,
    pub(super) writer_schema: WriterSchema,
    pub(super) normalize: bool,
    pub(super) strategy: Strategy,
    /// How many schemas are remembered for each direction.
    pub(super) cache_size: usize,
    /// How many ids are remembered.
    pub(super) ids_size: usize,
}

/// Choices in the translation between Connect's schemas and Avro's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    /// Whether what only Connect knows of a schema stands in the Avro schema.
    pub(super) meta_data: bool,
    /// Whether enums stay enums, and members of unions have their full names.
    pub(super) enhanced: bool,
    pub(super) scrub_names: bool,
    /// Whether a null stays null where the field has a default.
    pub(super) ignore_defaults: bool,
    /// Whether optional text keys make a map of Avro.
    pub(super) optional_keys: bool,
    pub(super) flatten_singletons: bool,
}

/// Which schema of a subject values are written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriterSchema {
    /// The value's own, registered if it is new.
    Registered,
    /// The value's own, which has to be registered already.
    Found,
    /// The subject's latest; `strict` means only if what has the value's own schema can be read with it.
    Latest { strict: bool },
}

impl Settings {
    pub(super) fn new(config: &TypedConfig, strategy_key: &str) -> Self {
        let flag = |key, default| config.boolean(key).unwrap_or(default);
        let size = |key| config.integer(key).and_then(|size| size.try_into().ok()).unwrap_or(0);
        let writer_schema = match (flag(AUTO_REGISTER, true), flag(USE_LATEST, false)) {
            (true, _) => WriterSchema::Registered,
            (false, true) => WriterSchema::Latest { strict: flag(LATEST_STRICT, true) },
            (false, false) => WriterSchema::Found,
        };
        Self {
            mapping: Mapping {
                meta_data: flag(META_DATA, true),
                enhanced: flag(ENHANCED, false),
                scrub_names: flag(SCRUB, false),
                ignore_defaults: flag(IGNORE_DEFAULT, false),
                optional_keys: flag(OPTIONAL_KEYS, false),
                flatten_singletons: flag(FLATTEN, true),
            },
            writer_schema,
            normalize: flag(NORMALIZE, false),
            strategy: config.text(strategy_key).and_then(Strategy::of_class).unwrap_or(Strategy::Topic),
            cache_size: size(CACHE_SIZE),
            ids_size: size(SCHEMAS_PER_SUBJECT),
        }
    }
}

/// The key that says how the subjects of keys or of values are named.
pub(super) fn strategy_key(is_key: bool) -> &'static str {
    if is_key { KEY_STRATEGY } else { VALUE_STRATEGY }
}

pub(super) fn registry(config: &TypedConfig, raw: &RawConfig) -> Result<RegistrySettings, ConvertError> {
    let urls = config.list(URL).unwrap_or_default().iter().filter(|url| !url.is_empty());
    let millis = |key| Duration::from_millis(config.integer(key).and_then(|n| n.try_into().ok()).unwrap_or(0));
    let mut ssl = RawConfig::new();
    for (key, value) in raw.with_prefix(SSL_PREFIX).iter().filter(|(key, _)| key.starts_with("ssl.")) {
        ssl.set(key, value);
    }
    let tls = ClientSecurity::read(&ssl).map_err(|error| ConvertError::Config(format!("{SSL_PREFIX}…: {error}")))?.tls;
    let headers = raw.with_prefix(HEADER_PREFIX);
    Ok(RegistrySettings {
        urls: urls.map(|url| Password(url.clone())).collect(),
        login: login(config, raw)?,
        headers: headers.iter().map(|(name, value)| (name.to_owned(), Password(value.to_owned()))).collect(),
        connect_timeout: millis(CONNECT_TIMEOUT),
        read_timeout: millis(READ_TIMEOUT),
        retries: config.integer(RETRIES).and_then(|n| n.try_into().ok()).unwrap_or(0),
        retry_wait: millis(RETRY_WAIT),
        retry_max_wait: millis(RETRY_MAX_WAIT),
        tls,
    })
}

/// Bearer tokens are sent only if their source is named.
fn login(config: &TypedConfig, raw: &RawConfig) -> Result<RegistryLogin, ConvertError> {
    let secret = |keys: &[&str], source: &str| {
        let secret = keys.iter().find_map(|key| match config.get(key) {
            Some(Typed::Password(secret)) if !secret.0.is_empty() => Some(secret.clone()),
            _ => None,
        });
        let missing = || ConvertError::Config(format!("Configuration `{}` is missing: {source} takes it", keys[0]));
        secret.ok_or_else(missing)
    };
    if raw.get(BEARER_SOURCE).is_some_and(|source| !source.trim().is_empty()) {
        return Ok(RegistryLogin::Bearer(secret(&[BEARER_TOKEN], STATIC_TOKEN)?));
    }
    if config.text(BASIC_SOURCE) != Some(FROM_USER_INFO) {
        return Ok(RegistryLogin::Url);
    }
    let user_info = secret(&USER_INFO, FROM_USER_INFO)?;
    match user_info.0.contains(':') {
        true => Ok(RegistryLogin::Basic(user_info)),
        false => Err(ConvertError::Config(format!(
            "Configuration `{}` has to be a name and a password with a colon between them",
            USER_INFO[0]
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(entries: &[(&str, &str)]) -> Result<(Settings, RegistrySettings), ConvertError> {
        let mut raw = RawConfig::from([(URL, "http://r:1")]);
        for (key, value) in entries {
            raw.set(*key, *value);
        }
        let config = config_def().parse(&raw).map_err(|errors| ConvertError::Config(errors.join("; ")))?;
        Ok((Settings::new(&config, VALUE_STRATEGY), registry(&config, &raw)?))
    }

    fn error(entries: &[(&str, &str)]) -> String {
        read(entries).unwrap_err().to_string()
    }

    #[test]
    fn defaults_are_those_of_confluent() {
        let (settings, registry) = read(&[]).unwrap();
        let mapping = Mapping {
            meta_data: true,
            enhanced: false,
            scrub_names: false,
            ignore_defaults: false,
            optional_keys: false,
            flatten_singletons: true,
        };
        assert_eq!(settings.mapping, mapping);
        assert_eq!((settings.writer_schema, settings.strategy), (WriterSchema::Registered, Strategy::Topic));
        assert_eq!((settings.cache_size, settings.ids_size, settings.normalize), (1000, 1000, false));
        assert_eq!((registry.login, registry.retries), (RegistryLogin::Url, 3));
        assert_eq!(registry.read_timeout, Duration::from_secs(60));
    }

    #[test]
    fn registering_wins_over_the_latest_version() {
        let schema = |entries| read(entries).unwrap().0.writer_schema;
        assert_eq!(schema(&[(USE_LATEST, "true")]), WriterSchema::Registered);
        assert_eq!(schema(&[(AUTO_REGISTER, "false")]), WriterSchema::Found);
        let latest = schema(&[(AUTO_REGISTER, "false"), (USE_LATEST, "true"), (LATEST_STRICT, "false")]);
        assert_eq!(latest, WriterSchema::Latest { strict: false });
    }

    #[test]
    fn a_login_needs_what_its_source_names() {
        let login = |entries| read(entries).unwrap().1.login;
        let basic = || RegistryLogin::Basic(Password("me:s3cret".to_owned()));
        assert_eq!(login(&[(BASIC_SOURCE, "USER_INFO"), (USER_INFO[0], "me:s3cret")]), basic());
        assert_eq!(login(&[(BASIC_SOURCE, "USER_INFO"), (USER_INFO[1], "me:s3cret")]), basic());
        let bearer = [(BEARER_SOURCE, "STATIC_TOKEN"), (BEARER_TOKEN, "t0ken")];
        assert_eq!(login(&bearer), RegistryLogin::Bearer(Password("t0ken".to_owned())));
        assert!(error(&[(BASIC_SOURCE, "USER_INFO")]).contains("`basic.auth.user.info` is missing"));
        assert!(error(&[(BASIC_SOURCE, "SASL_INHERIT")]).contains("SASL_INHERIT"));
        assert!(error(&[(BEARER_SOURCE, "OAUTHBEARER")]).contains("STATIC_TOKEN"));
        assert!(error(&[(BEARER_SOURCE, "STATIC_TOKEN")]).contains("`bearer.auth.token` is missing"));
        let secret = error(&[(BASIC_SOURCE, "USER_INFO"), (USER_INFO[0], "s3cret")]);
        assert!(secret.contains("colon") && !secret.contains("s3cret"), "{secret}");
    }

    #[test]
    fn what_cannot_be_done_is_refused_and_harmless_values_are_not() {
        for (key, harmless) in keys::FIXED {
            assert!(read(&[(key, harmless)]).is_ok(), "{key}");
            assert!(error(&[(key, "something")]).contains(key), "{key}");
        }
        assert!(error(&[(VALUE_STRATEGY, "org.example.Own")]).contains("org.example.Own"));
        assert!(error(&[(URL, "")]).contains(URL));
    }

    #[test]
    fn tls_is_configured_under_a_prefix_in_javas_names() {
        let pem = "schema.registry.ssl.truststore.certificates";
        assert!(read(&[(pem, "-----BEGIN")]).unwrap().1.tls.trust.is_some());
        assert!(error(&[("schema.registry.ssl.truststore.location", "/a.jks")]).contains("PEM"));
        let (_, registry) = read(&[("request.header.X-Tenant", "7")]).unwrap();
        assert_eq!(registry.headers, [("X-Tenant".to_owned(), Password("7".to_owned()))]);
    }
}
