//! What a distributed worker's properties say of its cluster.

use std::time::Duration;

use bulkhead_herder::protocol::ConnectProtocol;
use bulkhead_herder::{ExactlyOnce, KeySettings};
use bulkhead_kafka::LogSettings;
use bulkhead_kafka::topic_log::Purpose;
use bulkhead_model::RawConfig;
use bulkhead_model::config::{Invalid, TypedConfig};
use bulkhead_model::security::ClientSecurity;

use super::keys;

/// Everything about the group of workers and its topics.
#[derive(Clone, Debug)]
pub struct ClusterSettings {
    /// `group.id`
    pub group: String,
    /// `client.id`; none if it is empty.
    pub client_id: Option<String>,
    /// `bootstrap.servers`
    pub bootstrap: Vec<String>,
    pub security: ClientSecurity,
    pub protocol: ConnectProtocol,
    pub exactly_once: ExactlyOnce,
    pub session_timeout: Duration,
    pub heartbeat_interval: Duration,
    pub rebalance_timeout: Duration,
    pub rebalance_delay: Duration,
    pub sync_timeout: Duration,
    pub unsync_backoff: Duration,
    pub request_timeout: Duration,
    pub retry_backoff: Duration,
    pub retry_backoff_max: Duration,
    pub keys: KeySettings,
    pub logs: Logs,
}

/// The worker's own topics.
#[derive(Clone, Debug)]
pub struct Logs {
    pub config: LogSettings,
    pub offset: LogSettings,
    pub status: LogSettings,
}

/// Typed values of keys that have defaults, so that there always is one.
struct Values<'a>(&'a TypedConfig);

impl ClusterSettings {
    /// The error is everything that is wrong.
    pub(super) fn new(
        properties: &RawConfig,
        config: &TypedConfig,
        kafka: &bulkhead_kafka::Settings,
    ) -> Result<Self, Vec<String>> {
        let values = Values(config);
        let mut problems = values.problems();
        let security = ClientSecurity::read(properties).map_err(|error| problems.push(error.to_string()));
        let log = |purpose| LogSettings::from_worker(purpose, kafka).map_err(|error| error.to_string());
        let logs = [Purpose::Config, Purpose::Offset, Purpose::Status].map(log);
        problems.extend(logs.iter().filter_map(|log| log.as_ref().err().cloned()));
        let ([Ok(config), Ok(offset), Ok(status)], Ok(security)) = (logs, security) else { return Err(problems) };
        if !problems.is_empty() {
            return Err(problems);
        }
        Ok(Self {
            group: values.text(keys::GROUP_ID),
            client_id: Some(values.text(keys::CLIENT_ID)).filter(|id| !id.is_empty()),
            bootstrap: values.bootstrap(),
            security,
            protocol: values.protocol(),
            exactly_once: values.exactly_once(),
            session_timeout: values.millis(keys::SESSION_TIMEOUT),
            heartbeat_interval: values.millis(keys::HEARTBEAT),
            rebalance_timeout: values.millis(keys::REBALANCE_TIMEOUT),
            rebalance_delay: values.millis(keys::REBALANCE_DELAY),
            sync_timeout: values.millis(keys::SYNC_TIMEOUT),
            unsync_backoff: values.millis(keys::UNSYNC_BACKOFF),
            request_timeout: values.millis(keys::REQUEST_TIMEOUT),
            retry_backoff: values.millis(keys::RETRY_BACKOFF),
            retry_backoff_max: values.millis(keys::RETRY_BACKOFF_MAX),
            keys: values.key_settings(),
            logs: Logs { config, offset, status },
        })
    }

    /// For the herder of a worker that others reach at `url`.
    pub fn herder(&self, url: String) -> bulkhead_herder::ClusterSettings {
        bulkhead_herder::ClusterSettings {
            url,
            protocol: self.protocol,
            exactly_once: self.exactly_once,
            sync_timeout: whole_millis(self.sync_timeout),
            unsync_backoff: whole_millis(self.unsync_backoff),
            rebalance_delay: whole_millis(self.rebalance_delay),
            keys: self.keys.clone(),
        }
    }
}

impl Values<'_> {
    fn text(&self, key: &str) -> String {
        self.0.text(key).unwrap_or_default().to_owned()
    }

    fn number(&self, key: &str) -> i64 {
        self.0.integer(key).unwrap_or_default()
    }

    fn millis(&self, key: &str) -> Duration {
        Duration::from_millis(u64::try_from(self.number(key)).unwrap_or_default())
    }

    fn bootstrap(&self) -> Vec<String> {
        let servers = self.0.list(keys::BOOTSTRAP).unwrap_or_default();
        servers.iter().filter(|server| !server.is_empty()).cloned().collect()
    }

    fn verification(&self) -> &[String] {
        self.0.list(keys::VERIFICATION).unwrap_or_default()
    }

    fn protocol(&self) -> ConnectProtocol {
        match self.text(keys::PROTOCOL).as_str() {
            "eager" => ConnectProtocol::Eager,
            "compatible" => ConnectProtocol::Compatible,
            _ => ConnectProtocol::Sessioned,
        }
    }

    fn exactly_once(&self) -> ExactlyOnce {
        match self.text(keys::EXACTLY_ONCE).eq_ignore_ascii_case("disabled") {
            true => ExactlyOnce::Disabled,
            false => ExactlyOnce::Preparing,
        }
    }

    fn key_settings(&self) -> KeySettings {
        KeySettings {
            algorithm: self.text(keys::KEY_ALGORITHM),
            size: self.0.integer(keys::KEY_SIZE).and_then(|bits| usize::try_from(bits).ok()),
            ttl: whole_millis(self.millis(keys::KEY_TTL)),
            signature: self.text(keys::SIGNATURE),
            verification: self.verification().to_vec(),
        }
    }

    /// What no check of a single key finds.
    fn problems(&self) -> Vec<String> {
        let counts = keys::REPLICAS.into_iter().chain(keys::PARTITIONS);
        let zeros = counts.filter(|key| self.number(key) == 0);
        let zeros = zeros.map(|key| invalid(key, "0", "Value must be at least 1, or -1 for the broker's default"));
        let others = [self.heartbeat(), self.signature(), self.exactly_once_tasks(), self.shared_topic()];
        zeros.chain(others.into_iter().flatten()).collect()
    }

    fn heartbeat(&self) -> Option<String> {
        let (heartbeat, session) = (self.number(keys::HEARTBEAT), self.number(keys::SESSION_TIMEOUT));
        let reason = format!("Value must be below {} ({session})", keys::SESSION_TIMEOUT);
        (heartbeat >= session).then(|| invalid(keys::HEARTBEAT, &heartbeat.to_string(), &reason))
    }

    fn signature(&self) -> Option<String> {
        let (signature, accepted) = (self.text(keys::SIGNATURE), self.verification());
        let reason = format!("List must include {} ({signature})", keys::SIGNATURE);
        (!accepted.contains(&signature)).then(|| invalid(keys::VERIFICATION, &accepted.join(","), &reason))
    }

    /// Going on without what was asked for would cost duplicates that nobody expects.
    fn exactly_once_tasks(&self) -> Option<String> {
        let support = self.text(keys::EXACTLY_ONCE);
        let reason = "Tasks don't write exactly once yet; preparing, which protects the config topic, is what there is";
        support.eq_ignore_ascii_case("enabled").then(|| invalid(keys::EXACTLY_ONCE, &support, reason))
    }

    fn shared_topic(&self) -> Option<String> {
        let [config, offset, status] =
            [keys::CONFIG_TOPIC, keys::OFFSET_TOPIC, keys::STATUS_TOPIC].map(|key| (key, self.text(key)));
        let pairs = [(&offset, &config), (&status, &config), (&status, &offset)];
        let ((key, topic), (other, _)) = pairs.into_iter().find(|((_, one), (_, other))| one == other)?;
        Some(invalid(key, topic, &format!("Topic must not be that of {other}")))
    }
}

fn invalid(key: &str, value: &str, reason: &str) -> String {
    Invalid { key: key.to_owned(), value: value.to_owned(), reason: reason.to_owned() }.to_string()
}

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
