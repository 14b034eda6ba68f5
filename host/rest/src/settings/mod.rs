//! The worker's settings of this interface, read from its properties.

mod headers;
mod listener;

use std::net::SocketAddr;
use std::time::Duration;

use axum::http::HeaderValue;
use bulkhead_model::{RawConfig, WorkerId};

pub use headers::ResponseHeader;
pub use listener::Listener;

/// How long a request may take. Not configurable in Connect either.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(90);
/// How long `/health` waits for the herder.
const HEALTH_TIMEOUT: Duration = Duration::from_secs(10);

/// What `worker.properties` says of REST.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// `listeners`
    pub listeners: Vec<Listener>,
    /// `admin.listeners`
    pub admin_listeners: AdminListeners,
    /// `rest.advertised.*`
    pub advertised: Advertised,
    /// `access.control.*`; none if cross-origin requests get no help.
    pub cors: Option<Cors>,
    /// `response.http.headers.config`
    pub response_headers: Vec<ResponseHeader>,
    /// `topic.tracking.*`
    pub topic_tracking: TopicTracking,
    pub request_timeout: Duration,
    pub health_timeout: Duration,
}

/// Where the admin resources are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AdminListeners {
    /// On the regular listeners (the setting is absent).
    Same,
    /// Not reachable at all (the setting is empty).
    Nowhere,
    /// On listeners of their own, which have nothing else.
    Own(Vec<Listener>),
}

/// What other workers and statuses are told of our address, as far as it is set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advertised {
    pub host: Option<String>,
    pub port: Option<u16>,
}

/// Help for browsers with scripts of other origins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cors {
    /// Origins, or a star for all.
    pub origins: Vec<String>,
    /// Listed to every preflight.
    pub methods: HeaderValue,
}

/// Whether the topics of connectors are shown, and may be forgotten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopicTracking {
    On,
    WithoutReset,
    Off,
}

/// A setting that can't be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error("`{key}` lists no listener; use e.g. `{key}=http://0.0.0.0:8083`, or leave it out")]
    NoListener { key: &'static str },
    #[error("`{listener}` in `{key}` is no listener; it must look like `http://host:port`")]
    BadListener { key: &'static str, listener: String },
    #[error(
        "`{listener}` in `{key}` asks for TLS, which is not supported yet; use http:// behind a proxy that ends TLS"
    )]
    Tls { key: &'static str, listener: String },
    #[error("`{key}` is `{value}`, but must be {wanted}")]
    Invalid { key: &'static str, value: String, wanted: &'static str },
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            listeners: vec![Listener { host: String::new(), port: 8083 }],
            admin_listeners: AdminListeners::Same,
            advertised: Advertised::default(),
            cors: None,
            response_headers: Vec::new(),
            topic_tracking: TopicTracking::On,
            request_timeout: REQUEST_TIMEOUT,
            health_timeout: HEALTH_TIMEOUT,
        }
    }
}

impl Settings {
    /// Reads the settings of this interface from all properties of a worker.
    pub fn from_properties(properties: &RawConfig) -> Result<Self, SettingsError> {
        let defaults = Self::default();
        Ok(Self {
            listeners: match properties.get("listeners") {
                Some(text) => Listener::parse_list("listeners", text)?,
                None => defaults.listeners,
            },
            admin_listeners: match properties.get("admin.listeners") {
                None => AdminListeners::Same,
                Some(text) if text.trim().is_empty() => AdminListeners::Nowhere,
                Some(text) => AdminListeners::Own(Listener::parse_list("admin.listeners", text)?),
            },
            advertised: advertised(properties)?,
            cors: cors(properties)?,
            response_headers: match present(properties, "response.http.headers.config") {
                Some(text) => ResponseHeader::parse_list(text)?,
                None => Vec::new(),
            },
            topic_tracking: topic_tracking(properties)?,
            ..defaults
        })
    }

    /// Our address for others, given the one that the first listener got and the name of this machine.
    pub fn worker_id(&self, bound: SocketAddr, machine: &str) -> WorkerId {
        let listened = self.listeners.first().and_then(Listener::reachable_host);
        let host = self.advertised.host.as_deref().or(listened).unwrap_or(machine);
        let port = self.advertised.port.unwrap_or(bound.port());
        WorkerId(format!("{}:{port}", listener::bracketed(host)).into())
    }
}

fn advertised(properties: &RawConfig) -> Result<Advertised, SettingsError> {
    if let Some(value) =
        present(properties, "rest.advertised.listener").filter(|text| !text.eq_ignore_ascii_case("http"))
    {
        let wanted = "http, as TLS is not supported yet";
        return Err(SettingsError::Invalid { key: "rest.advertised.listener", value: value.to_owned(), wanted });
    }
    let port = present(properties, "rest.advertised.port").map(|text| {
        let invalid =
            || SettingsError::Invalid { key: "rest.advertised.port", value: text.to_owned(), wanted: "a port number" };
        text.parse().map_err(|_| invalid())
    });
    let host = present(properties, "rest.advertised.host.name").map(str::to_owned);
    Ok(Advertised { host, port: port.transpose()? })
}

fn cors(properties: &RawConfig) -> Result<Option<Cors>, SettingsError> {
    let Some(origins) = present(properties, "access.control.allow.origin") else {
        return Ok(None);
    };
    let methods = present(properties, "access.control.allow.methods").unwrap_or("GET,POST,HEAD");
    let methods = list(methods).collect::<Vec<_>>().join(",");
    let invalid = |_| SettingsError::Invalid {
        key: "access.control.allow.methods",
        value: methods.clone(),
        wanted: "a list of HTTP methods",
    };
    let methods = HeaderValue::try_from(methods.as_str()).map_err(invalid)?;
    Ok(Some(Cors { origins: list(origins).map(str::to_owned).collect(), methods }))
}

fn topic_tracking(properties: &RawConfig) -> Result<TopicTracking, SettingsError> {
    let enabled = boolean(properties, "topic.tracking.enable")?;
    let resettable = boolean(properties, "topic.tracking.allow.reset")?;
    Ok(match (enabled, resettable) {
        (false, _) => TopicTracking::Off,
        (true, false) => TopicTracking::WithoutReset,
        (true, true) => TopicTracking::On,
    })
}

/// True by default, as both settings are.
fn boolean(properties: &RawConfig, key: &'static str) -> Result<bool, SettingsError> {
    match properties.get(key).map(|text| text.trim().to_ascii_lowercase()).as_deref() {
        None | Some("true") => Ok(true),
        Some("false") => Ok(false),
        Some(value) => Err(SettingsError::Invalid { key, value: value.to_owned(), wanted: "true or false" }),
    }
}

/// A setting that isn't blank.
fn present<'a>(properties: &'a RawConfig, key: &str) -> Option<&'a str> {
    properties.get(key).map(str::trim).filter(|text| !text.is_empty())
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(key: &str, value: &str) -> Result<Settings, String> {
        Settings::from_properties(&RawConfig::from([(key, value)])).map_err(|error| error.to_string())
    }

    #[test]
    fn without_any_setting_there_is_one_listener_with_everything_on_it() {
        let settings = Settings::from_properties(&RawConfig::new()).unwrap();
        assert_eq!(settings.listeners.iter().map(Listener::to_string).collect::<Vec<_>>(), ["http://:8083"]);
        assert_eq!(settings.admin_listeners, AdminListeners::Same);
        assert_eq!(settings.cors, None);
    }

    #[test]
    fn admin_listeners_can_be_the_same_none_or_others() {
        let own = AdminListeners::Own(vec![Listener { host: "h".to_owned(), port: 1 }]);
        assert_eq!(check("admin.listeners", "http://h:1").unwrap().admin_listeners, own);
        assert_eq!(check("admin.listeners", " ").unwrap().admin_listeners, AdminListeners::Nowhere);
    }

    #[test]
    fn the_worker_is_known_by_what_is_advertised_else_by_the_listener_else_by_the_machine() {
        let bound = SocketAddr::from(([127, 0, 0, 1], 1234));
        let id = |key: &str, value: &str| check(key, value).unwrap().worker_id(bound, "machine").to_string();
        assert_eq!(id("listeners", "http://:0"), "machine:1234");
        assert_eq!(id("listeners", "http://0.0.0.0:0"), "machine:1234");
        assert_eq!(id("listeners", "http://here:0"), "here:1234");
        assert_eq!(id("rest.advertised.host.name", "there"), "there:1234");
        assert_eq!(id("rest.advertised.port", "80"), "machine:80");
    }

    #[test]
    fn topic_tracking_is_on_unless_switched_off() {
        assert_eq!(check("topic.tracking.enable", "False").unwrap().topic_tracking, TopicTracking::Off);
        assert_eq!(check("topic.tracking.allow.reset", "false").unwrap().topic_tracking, TopicTracking::WithoutReset);
        assert!(check("topic.tracking.enable", "no").is_err());
    }
}
