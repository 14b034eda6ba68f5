//! Java's client properties, as worker and connector files have them, turned into librdkafka's.
//!
//! Layers, later ones win: Connect's defaults, the worker's own connection keys (`bootstrap.servers`,
//! `security.*`, `ssl.*`, `sasl.*`), the worker's `producer.*`, `consumer.*` or `admin.*`, and the
//! connector's `producer.override.*` and so on. Keys under librdkafka's own names are accepted too.
//! The clients of the worker's own topics have the worker's keys without a prefix and no others, as in
//! Java.
//! Which overrides a connector may use is the worker's policy (KIP-458). It is asked when a configuration is
//! validated, and here again: the configuration may have come through a worker with another policy.

mod effective;
mod rules;
mod security;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use bulkhead_model::RawConfig;
use bulkhead_model::config::OverridePolicy;
use bulkhead_pipeline::ports::ClientError;

pub(crate) use effective::Effective;

/// Which kind of client is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Producer,
    Consumer,
    Admin,
}

/// The worker's properties, found to be right.
#[derive(Clone)]
pub struct Settings {
    worker: RawConfig,
    overrides: OverridePolicy,
    /// Keys about which a warning has been written.
    warned: Arc<Mutex<BTreeSet<String>>>,
}

impl Settings {
    /// Checks what concerns Kafka in a worker's properties; other keys are not looked at.
    pub fn from_properties(worker: &RawConfig) -> Result<Self, ClientError> {
        if worker.get("bootstrap.servers").is_none_or(|servers| servers.trim().is_empty()) {
            return Err(ClientError("configuration `bootstrap.servers` is missing".to_owned()));
        }
        let overrides = OverridePolicy::of_worker(worker).map_err(|error| ClientError(error.to_string()))?;
        let settings = Self { worker: worker.clone(), overrides, warned: Arc::default() };
        for role in [Role::Producer, Role::Consumer, Role::Admin] {
            settings.effective(role, &RawConfig::new())?;
        }
        Ok(settings)
    }

    /// As the operator wrote them, for messages.
    pub fn bootstrap_servers(&self) -> &str {
        self.worker.get("bootstrap.servers").unwrap_or_default()
    }

    /// What connectors may choose of their clients' properties.
    pub fn overrides(&self) -> &OverridePolicy {
        &self.overrides
    }

    /// Properties of one client of a connector.
    pub(crate) fn effective(&self, role: Role, connector: &RawConfig) -> Result<Effective, ClientError> {
        let mut chosen = connector.iter().filter_map(|(key, _)| key.strip_prefix(role.override_prefix()));
        if let Some(refusal) = chosen.find_map(|key| self.overrides.refusal(key)) {
            return Err(ClientError(refusal));
        }
        let effective = Effective::new(role, &self.worker, connector)?;
        self.warn_of(effective.ignored());
        Ok(effective)
    }

    /// Properties of one of the worker's own clients.
    pub(crate) fn internal(&self, role: Role) -> Result<Effective, ClientError> {
        let mut effective = Effective::internal(role, &self.worker)?;
        // Connect's defaults; librdkafka would look ten seconds later whether a broker is back.
        effective.set_default("reconnect.backoff.ms", "50");
        effective.set_default("reconnect.backoff.max.ms", "1000");
        self.warn_of(effective.ignored());
        Ok(effective)
    }

    /// What the ids of the worker's own clients begin with.
    pub(crate) fn client_prefix(&self) -> &str {
        let given = |key| self.worker.get(key).filter(|text: &&str| !text.is_empty());
        given("client.id").or_else(|| given("group.id")).unwrap_or("connect")
    }

    /// The worker's properties as they were given.
    pub(crate) fn worker(&self) -> &RawConfig {
        &self.worker
    }

    /// One warning for each key, however many clients are made with it.
    fn warn_of(&self, ignored: &[String]) {
        let mut warned = self.warned.lock().unwrap_or_else(PoisonError::into_inner);
        for key in ignored {
            if warned.insert(key.clone()) {
                tracing::warn!(key, "Ignoring a client property that has no counterpart here.");
            }
        }
    }
}

impl Role {
    /// Prefix of the worker's keys.
    fn worker_prefix(self) -> &'static str {
        match self {
            Self::Producer => "producer.",
            Self::Consumer => "consumer.",
            Self::Admin => "admin.",
        }
    }

    /// Prefix of the connector's keys.
    fn override_prefix(self) -> &'static str {
        match self {
            Self::Producer => "producer.override.",
            Self::Consumer => "consumer.override.",
            Self::Admin => "admin.override.",
        }
    }
}

impl std::fmt::Debug for Settings {
    /// Without values: some are secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Settings({})", self.bootstrap_servers())
    }
}
