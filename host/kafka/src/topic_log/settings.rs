//! What a worker's properties say about its own topics.

use std::collections::BTreeMap;
use std::time::Duration;

use bulkhead_model::RawConfig;

use super::OpenError;
use crate::properties::Settings;

/// Which of the three topics it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Config,
    Offset,
    Status,
}

/// Whether records of transactions are read before they are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    ReadUncommitted,
    ReadCommitted,
}

/// A topic and how to use it.
#[derive(Clone, Debug)]
pub struct LogSettings {
    /// How Kafka is reached.
    pub clients: Settings,
    pub purpose: Purpose,
    pub topic: String,
    /// For a topic that has to be made; -1 leaves it to the broker.
    pub partitions: i32,
    /// For a topic that has to be made; -1 leaves it to the broker.
    pub replication_factor: i32,
    /// Settings of a topic that has to be made. `cleanup.policy` is `compact`, whatever stands here.
    pub topic_settings: BTreeMap<String, String>,
    /// Whether a topic that isn't there is made.
    pub create: bool,
    pub isolation: Isolation,
    /// Of producer and consumer.
    pub client_id: String,
    /// Longest wait for a broker when the topic is opened.
    pub connect_timeout: Duration,
}

/// Wait for a broker, unless the caller wants another.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

impl Purpose {
    /// What its settings begin with.
    fn prefix(self) -> &'static str {
        match self {
            Self::Config => "config.storage.",
            Self::Offset => "offset.storage.",
            Self::Status => "status.storage.",
        }
    }

    /// The setting that names the topic.
    pub fn topic_key(self) -> &'static str {
        match self {
            Self::Config => "config.storage.topic",
            Self::Offset => "offset.storage.topic",
            Self::Status => "status.storage.topic",
        }
    }

    fn client_suffix(self) -> &'static str {
        match self {
            Self::Config => "configs",
            Self::Offset => "offsets",
            Self::Status => "statuses",
        }
    }

    fn default_partitions(self) -> i32 {
        match self {
            Self::Config => 1,
            Self::Offset => 25,
            Self::Status => 5,
        }
    }
}

impl LogSettings {
    /// Reads the settings of one topic from the properties of a distributed worker.
    pub fn from_worker(purpose: Purpose, clients: &Settings) -> Result<Self, OpenError> {
        let worker = clients.worker();
        let topic = worker.get(purpose.topic_key()).map(str::trim).unwrap_or_default();
        if topic.is_empty() {
            return Err(OpenError::setting(purpose.topic_key(), "it is missing"));
        }
        // With `preparing` all workers read uncommitted, since others in the group may have `disabled`: they have to agree
        // on where the log ends.
        let exactly_once = worker.get("exactly.once.source.support").unwrap_or_default();
        let committed_only = purpose != Purpose::Status && exactly_once.trim().eq_ignore_ascii_case("enabled");
        Ok(Self {
            clients: clients.clone(),
            purpose,
            topic: topic.to_owned(),
            partitions: partitions(purpose, worker)?,
            replication_factor: count(worker, &format!("{}replication.factor", purpose.prefix()), 3, i16::MAX.into())?,
            topic_settings: topic_settings(purpose, worker),
            create: switch(worker, CREATE)?,
            isolation: if committed_only { Isolation::ReadCommitted } else { Isolation::ReadUncommitted },
            client_id: format!("{}-{}", clients.client_prefix(), purpose.client_suffix()),
            connect_timeout: CONNECT_TIMEOUT,
        })
    }
}

/// Whether missing topics are made.
pub(super) const CREATE: &str = "internal.topics.automatic.creation.enable";

fn partitions(purpose: Purpose, worker: &RawConfig) -> Result<i32, OpenError> {
    let key = format!("{}partitions", purpose.prefix());
    if purpose == Purpose::Config {
        if worker.contains(&key) {
            tracing::warn!(key, "Ignoring a setting: the config topic has one partition.");
        }
        return Ok(purpose.default_partitions());
    }
    count(worker, &key, purpose.default_partitions(), i32::MAX)
}

/// Everything under the prefix that isn't about the topic as a whole.
fn topic_settings(purpose: Purpose, worker: &RawConfig) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for (origin, value) in worker.iter() {
        match origin.strip_prefix(purpose.prefix()) {
            None | Some("topic" | "replication.factor" | "partitions") => {}
            // The file of a standalone worker.
            Some("file.filename") => {}
            Some("cleanup.policy") => {
                if value.trim() != "compact" {
                    tracing::warn!(key = origin, "Ignoring a setting: the topic has to be compacted.");
                }
            }
            Some(key) => {
                settings.insert(key.to_owned(), value.trim().to_owned());
            }
        }
    }
    settings
}

/// A number of at least 1, or -1.
fn count(worker: &RawConfig, key: &str, default: i32, most: i32) -> Result<i32, OpenError> {
    let Some(text) = worker.get(key) else { return Ok(default) };
    match text.trim().parse() {
        Ok(count) if count == -1 || (1..=most).contains(&count) => Ok(count),
        Ok(_) | Err(_) => {
            let problem = format!("`{text}` is not a whole number from 1 to {most}, nor -1 for the broker's default");
            Err(OpenError::setting(key, &problem))
        }
    }
}

fn switch(worker: &RawConfig, key: &str) -> Result<bool, OpenError> {
    let Some(text) = worker.get(key) else { return Ok(true) };
    let wrong = |_| OpenError::setting(key, &format!("`{text}` is neither true nor false"));
    text.trim().to_ascii_lowercase().parse().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(purpose: Purpose, more: &[(&str, &str)]) -> Result<LogSettings, String> {
        let mut worker = RawConfig::from([
            ("bootstrap.servers", "127.0.0.1:1"),
            ("group.id", "g"),
            ("config.storage.topic", "c"),
            ("offset.storage.topic", "o"),
            ("status.storage.topic", "s"),
        ]);
        for (key, value) in more {
            worker.set(*key, *value);
        }
        let clients = Settings::from_properties(&worker).unwrap();
        LogSettings::from_worker(purpose, &clients).map_err(|error| error.to_string())
    }

    #[test]
    fn defaults_are_those_of_connect() {
        let line = |purpose| {
            let LogSettings { topic, partitions, replication_factor, create, client_id, isolation, .. } =
                settings(purpose, &[]).unwrap();
            format!("{topic} {partitions} {replication_factor} {create} {client_id} {isolation:?}")
        };
        assert_eq!(line(Purpose::Config), "c 1 3 true g-configs ReadUncommitted");
        assert_eq!(line(Purpose::Offset), "o 25 3 true g-offsets ReadUncommitted");
        assert_eq!(line(Purpose::Status), "s 5 3 true g-statuses ReadUncommitted");
    }

    #[test]
    fn everything_can_be_said_but_policy_and_the_config_topics_partitions() {
        let more = [
            ("config.storage.partitions", "7"),
            ("config.storage.cleanup.policy", "delete"),
            ("config.storage.segment.bytes", "1000"),
            ("config.storage.replication.factor", "-1"),
            ("internal.topics.automatic.creation.enable", "False"),
            ("exactly.once.source.support", "enabled"),
            ("client.id", "me"),
        ];
        let config = settings(Purpose::Config, &more).unwrap();
        assert_eq!((config.partitions, config.replication_factor, config.create), (1, -1, false));
        assert_eq!(config.topic_settings, BTreeMap::from([("segment.bytes".to_owned(), "1000".to_owned())]));
        assert_eq!((config.client_id.as_str(), config.isolation), ("me-configs", Isolation::ReadCommitted));
        assert_eq!(settings(Purpose::Status, &more).unwrap().isolation, Isolation::ReadUncommitted);
        let preparing = settings(Purpose::Config, &[("exactly.once.source.support", "preparing")]).unwrap();
        assert_eq!(preparing.isolation, Isolation::ReadUncommitted);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (key, value, expected) in [
            ("config.storage.topic", " ", "configuration `config.storage.topic`: it is missing"),
            (
                "config.storage.replication.factor",
                "0",
                "configuration `config.storage.replication.factor`: `0` is not a whole number from 1 to 32767, nor -1 \
                 for the broker's default",
            ),
            (
                "internal.topics.automatic.creation.enable",
                "maybe",
                "configuration `internal.topics.automatic.creation.enable`: `maybe` is neither true nor false",
            ),
        ] {
            assert_eq!(settings(Purpose::Config, &[(key, value)]).unwrap_err(), expected);
        }
    }
}
