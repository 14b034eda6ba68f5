//! The properties of one client: layers merged, translated, and tried on librdkafka.

use std::collections::BTreeMap;

use bulkhead_model::RawConfig;
use bulkhead_pipeline::ports::ClientError;
use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;

use super::Role;
use super::rules::{self, Rule};
use super::security;

/// A property as someone wrote it.
#[derive(Clone)]
pub(super) struct Entry {
    pub(super) value: String,
    /// The whole key, with the prefix under which it was given.
    pub(super) origin: String,
}

/// Java's properties by key without prefix; later layers have overwritten earlier ones.
#[derive(Default)]
pub(super) struct Layered(BTreeMap<String, Entry>);

/// The translation as it grows.
#[derive(Default)]
pub(super) struct Out {
    properties: BTreeMap<String, String>,
    /// For each property: the entry it comes from.
    origins: BTreeMap<String, Entry>,
    ours: BTreeMap<String, Entry>,
    ignored: Vec<String>,
}

/// Properties under librdkafka's names, which librdkafka has found to be right. Equal ones make equal
/// clients.
pub(crate) struct Effective {
    properties: BTreeMap<String, String>,
    ours: BTreeMap<String, Entry>,
    ignored: Vec<String>,
}

impl Effective {
    pub(super) fn new(role: Role, worker: &RawConfig, connector: &RawConfig) -> Result<Self, ClientError> {
        let mut given = Layered::default();
        given.add_connection(worker);
        given.add(worker, role.worker_prefix());
        given.add(connector, role.override_prefix());
        Self::translate(role, given)
    }

    /// For the worker's own topics: its keys without a prefix.
    pub(super) fn internal(role: Role, worker: &RawConfig) -> Result<Self, ClientError> {
        let mut given = Layered::default();
        given.add_connection(worker);
        let own: &[&str] = match role {
            Role::Producer => &["compression.type", "max.request.size"],
            Role::Consumer => &["fetch.max.bytes", "max.partition.fetch.bytes"],
            Role::Admin => &[],
        };
        for key in INTERNAL_KEYS.iter().chain(own) {
            if let Some(value) = worker.get(key) {
                given.insert(key, key, value);
            }
        }
        Self::translate(role, given)
    }

    fn translate(role: Role, mut given: Layered) -> Result<Self, ClientError> {
        let mut out = Out::with_defaults(role, &given);
        security::translate(&mut given, &mut out)?;
        for (key, entry) in given.0 {
            out.apply(role, &key, entry)?;
        }
        out.finish()
    }

    /// Keys, as given, that have no effect.
    pub(super) fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// To be told apart by: two clients with the same key can be one.
    pub(crate) fn identity(&self) -> BTreeMap<String, String> {
        let ours = self.ours.iter().map(|(key, entry)| (key.clone(), entry.value.clone()));
        self.properties.clone().into_iter().chain(ours).collect()
    }

    /// Log lines are filtered where all others are; rdkafka would ask the `log` crate, which nobody serves.
    pub(crate) fn client_config(&self) -> ClientConfig {
        let mut config: ClientConfig = self.properties.clone().into_iter().collect();
        config.set_log_level(match self.get("debug") {
            Some(_) => RDKafkaLogLevel::Debug,
            None => RDKafkaLogLevel::Info,
        });
        config
    }

    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.properties.get(key).map(String::as_str)
    }

    /// Sets a property that no one has given.
    pub(crate) fn set_default(&mut self, key: &str, value: impl Into<String>) {
        self.properties.entry(key.to_owned()).or_insert_with(|| value.into());
    }

    /// Sets a property that no one may choose.
    pub(crate) fn force(&mut self, key: &str, value: impl Into<String>) {
        self.properties.insert(key.to_owned(), value.into());
    }

    /// A number that this crate reads itself.
    pub(crate) fn our_number(&self, key: &str, default: usize) -> Result<usize, ClientError> {
        let Some(entry) = self.ours.get(key) else {
            return Ok(default);
        };
        match entry.value.trim().parse() {
            Ok(number) if number > 0 => Ok(number),
            Ok(_) | Err(_) => Err(entry.wrong("it has to be a number of at least 1")),
        }
    }

    /// A switch that this crate reads itself.
    pub(crate) fn our_switch(&self, key: &str, default: bool) -> Result<bool, ClientError> {
        let Some(entry) = self.ours.get(key) else {
            return Ok(default);
        };
        let value = entry.value.trim().to_ascii_lowercase();
        value.parse().map_err(|_| entry.wrong("it has to be true or false"))
    }
}

impl Layered {
    /// The keys by which the worker itself reaches Kafka serve all clients.
    fn add_connection(&mut self, worker: &RawConfig) {
        for (key, value) in worker.iter() {
            let connection = matches!(key, "bootstrap.servers" | "client.dns.lookup" | "security.protocol")
                || key.starts_with("ssl.")
                || key.starts_with("sasl.");
            if connection {
                self.insert(key, key, value);
            }
        }
    }

    fn add(&mut self, config: &RawConfig, prefix: &str) {
        for (origin, value) in config.iter() {
            match origin.strip_prefix(prefix) {
                // `producer.override.…` is for connectors, a worker's file has no such keys.
                Some(key) if !key.starts_with("override.") => self.insert(key, origin, value),
                Some(_) | None => {}
            }
        }
    }

    fn insert(&mut self, key: &str, origin: &str, value: &str) {
        let entry = Entry { value: value.to_owned(), origin: origin.to_owned() };
        self.0.insert(key.to_owned(), entry);
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(|entry| entry.value.as_str())
    }

    pub(super) fn take(&mut self, key: &str) -> Option<Entry> {
        self.0.remove(key)
    }
}

impl Out {
    fn with_defaults(role: Role, given: &Layered) -> Self {
        let mut out = Self::default();
        let defaults = match role {
            Role::Producer => PRODUCER_DEFAULTS,
            Role::Consumer => CONSUMER_DEFAULTS,
            Role::Admin => &[],
        };
        for (key, value) in defaults {
            out.properties.insert((*key).to_owned(), (*value).to_owned());
        }
        match role {
            Role::Producer => out.settle_order(given),
            Role::Consumer => out.settle_assignment(given),
            Role::Admin => {}
        }
        out
    }

    /// Records of a partition stay in order through retries, and none is taken for written that isn't: by one
    /// request at a time, as with Connect.
    ///
    /// More of them are the user's choice. If the first request to a partition is refused, since its leader isn't
    /// ready yet, and the second is not, then librdkafka takes the first for written as well: it relies on sequence
    /// numbers, which a partition doesn't check before it knows the producer.
    ///
    /// Idempotence spares duplicates where the user's own settings don't rule it out.
    fn settle_order(&mut self, given: &Layered) {
        let acks_of_all = given.get("acks").is_none_or(|acks| matches!(acks.trim(), "all" | "-1"));
        let retries = given.get("retries").is_none_or(|retries| retries.trim() != "0");
        let few_in_flight = given
            .get("max.in.flight.requests.per.connection")
            .and_then(|number| number.trim().parse::<u32>().ok())
            .is_none_or(|number| number <= 5);
        let idempotent = match given.get("enable.idempotence") {
            Some(text) => text.trim().eq_ignore_ascii_case("true"),
            None => acks_of_all && retries && few_in_flight,
        };
        self.properties.insert("enable.idempotence".to_owned(), idempotent.to_string());
        self.properties.insert("max.in.flight.requests.per.connection".to_owned(), "1".to_owned());
    }

    /// The new group protocol brings its own assignors.
    fn settle_assignment(&mut self, given: &Layered) {
        if given.get("group.protocol").is_none_or(|protocol| protocol.trim() == "classic") {
            self.properties.insert("partition.assignment.strategy".to_owned(), "range".to_owned());
        }
    }

    fn apply(&mut self, role: Role, key: &str, entry: Entry) -> Result<(), ClientError> {
        match rules::rule(role, key) {
            Rule::Same => self.set(key, &entry.value, &entry),
            Rule::Renamed(name) => self.set(name, &entry.value, &entry),
            Rule::Mapped(name, map) => {
                let value = map(&entry.value).ok_or_else(|| entry.wrong("this value has no counterpart here"))?;
                self.set(name, &value, &entry);
            }
            Rule::Ours => {
                self.ours.insert(key.to_owned(), entry);
            }
            Rule::Pointless => {}
            Rule::Ignored => self.ignore(entry.origin),
        }
        Ok(())
    }

    pub(super) fn set(&mut self, key: &str, value: &str, entry: &Entry) {
        self.properties.insert(key.to_owned(), value.trim().to_owned());
        self.origins.insert(key.to_owned(), entry.clone());
    }

    pub(super) fn ignore(&mut self, origin: String) {
        self.ignored.push(origin);
    }

    /// Lets librdkafka look at every property: one it doesn't know is ignored, a wrong value is an error.
    fn finish(mut self) -> Result<Effective, ClientError> {
        loop {
            let config: ClientConfig = self.properties.clone().into_iter().collect();
            let Err(error) = config.create_native_config() else {
                break;
            };
            let KafkaError::ClientConfig(kind, problem, key, _) = error else {
                return Err(ClientError(error.to_string()));
            };
            let entry = self.origins.remove(&key);
            match (kind, entry) {
                (RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, Some(entry)) => {
                    self.properties.remove(&key);
                    self.ignored.push(entry.origin);
                }
                (_, Some(entry)) => return Err(entry.wrong(&problem)),
                (_, None) => return Err(ClientError(format!("configuration `{key}`: {problem}"))),
            }
        }
        Ok(Effective { properties: self.properties, ours: self.ours, ignored: self.ignored })
    }
}

impl Entry {
    /// An error that names the key and, unless it is a secret, the value.
    pub(super) fn wrong(&self, problem: &str) -> ClientError {
        let problem = problem.trim_end_matches('.');
        if is_secret(&self.origin) {
            let problem = problem.replace(&self.value, "[hidden]");
            return ClientError(format!("configuration `{}`: {problem}", self.origin));
        }
        ClientError(format!("configuration `{}` = `{}`: {problem}", self.origin, self.value))
    }
}

fn is_secret(key: &str) -> bool {
    ["password", "jaas", "secret", ".pem", "keystore.key", "certificate"].iter().any(|part| key.contains(part))
}

/// What a worker's file may say, beside how to connect, about all clients of the worker's own topics.
/// Other keys without a prefix are about something else.
const INTERNAL_KEYS: &[&str] = &[
    "connections.max.idle.ms",
    "metadata.max.age.ms",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "request.timeout.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "socket.connection.setup.timeout.ms",
];

/// Connect's defaults for source tasks, and sizes for a producer that many tasks share.
const PRODUCER_DEFAULTS: &[(&str, &str)] = &[
    ("acks", "all"),
    // A record is given up only when its task is: Connect's default is the same number.
    ("delivery.timeout.ms", "2147483647"),
    // Where Java puts a record with a key, so do we.
    ("partitioner", "murmur2_random"),
    ("message.max.bytes", "1048576"),
    ("linger.ms", "5"),
    ("batch.size", "1000000"),
    // Several times what one session may have outstanding, so that no task can fill it alone.
    ("queue.buffering.max.messages", "1000000"),
    ("queue.buffering.max.kbytes", "262144"),
];

/// Connect's defaults for sink tasks, and a prefetch that stays small with many of them.
const CONSUMER_DEFAULTS: &[(&str, &str)] = &[
    ("auto.offset.reset", "earliest"),
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    // librdkafka's default is the other one.
    ("isolation.level", "read_uncommitted"),
    ("allow.auto.create.topics", "true"),
    ("check.crcs", "true"),
    ("queued.max.messages.kbytes", "8192"),
    // librdkafka's are longer, and half of the first one passes before it asks a second broker anything.
    ("reconnect.backoff.ms", "50"),
    ("reconnect.backoff.max.ms", "1000"),
    // How long fetching rests once the prefetch is full; the default of a second would starve us.
    ("fetch.queue.backoff.ms", "10"),
];
