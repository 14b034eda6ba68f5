//! What a simulated cluster is like, before anything happens in it.

use bulkhead_herder::protocol::ConnectProtocol;
use bulkhead_herder::{ClusterSettings, ExactlyOnce, KeySettings, Mode, RestartPolicy, Settings};
use bulkhead_model::WorkerId;
use bulkhead_model::config::OverridePolicy;

/// See the module's documentation. Times are in milliseconds.
#[derive(Clone, Debug)]
pub struct Conditions {
    pub seed: u64,
    /// `connect.protocol` of each worker.
    pub workers: Vec<ConnectProtocol>,
    pub rebalance_delay: u64,
    pub unsync_backoff: u64,
    pub key_ttl: u64,
    /// `exactly.once.source.support` of all workers.
    pub exactly_once: ExactlyOnce,
    pub pace: Pace,
    pub mutation: Option<Mutation>,
}

/// How long things take, least and most.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    pub network: (u64, u64),
    pub write: (u64, u64),
    pub read: (u64, u64),
    pub start: (u64, u64),
    pub stop: (u64, u64),
    /// A connector's answers.
    pub answer: (u64, u64),
    /// Reading the logs at start.
    pub start_up: (u64, u64),
}

/// A mistake that the simulation must find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutation {
    /// Workers give lost work to others at once.
    NoRebalanceDelay,
    /// A leader leaves an instance with both members that hold it.
    DuplicatesStay,
    /// A worker that starts takes restart requests of old for new ones.
    OldRestarts,
}

pub const SESSION_TIMEOUT: u64 = 10_000;
pub const HEARTBEAT: u64 = 3_000;
pub const REBALANCE_TIMEOUT: u64 = 60_000;
pub const SYNC_TIMEOUT: u64 = 3_000;

impl Pace {
    /// Everything takes a moment, and always the same.
    pub const STEADY: Self = Self {
        network: (1, 1),
        write: (2, 2),
        read: (1, 1),
        start: (5, 5),
        stop: (5, 5),
        answer: (2, 2),
        start_up: (10, 10),
    };

    pub const UNEVEN: Self = Self {
        network: (0, 20),
        write: (0, 50),
        read: (0, 200),
        start: (0, 500),
        stop: (0, 1_000),
        answer: (0, 200),
        start_up: (0, 2_000),
    };

    pub const SLOW: Self = Self {
        network: (0, 300),
        write: (0, 1_000),
        read: (0, 2_500),
        start: (0, 4_000),
        stop: (0, 5_000),
        answer: (0, 3_000),
        start_up: (0, 20_000),
    };
}

impl Conditions {
    /// Workers of one kind, without haste and without accidents.
    pub fn steady(workers: usize) -> Self {
        Self {
            seed: 1,
            workers: vec![ConnectProtocol::Sessioned; workers],
            rebalance_delay: 8_000,
            unsync_backoff: 5_000,
            key_ttl: 3_600_000,
            exactly_once: ExactlyOnce::Disabled,
            pace: Pace::STEADY,
            mutation: None,
        }
    }

    pub(crate) fn settings(&self, worker: usize) -> Settings {
        let honest = self.mutation != Some(Mutation::NoRebalanceDelay);
        let cluster = ClusterSettings {
            url: url(worker),
            protocol: self.workers[worker],
            exactly_once: self.exactly_once,
            sync_timeout: SYNC_TIMEOUT,
            unsync_backoff: self.unsync_backoff,
            rebalance_delay: if honest { self.rebalance_delay } else { 0 },
            keys: KeySettings {
                algorithm: "HmacSHA256".to_owned(),
                size: None,
                ttl: self.key_ttl,
                signature: "HmacSHA256".to_owned(),
                verification: vec!["HmacSHA256".to_owned()],
            },
        };
        Settings {
            mode: Mode::Distributed(Box::new(cluster)),
            worker: worker_id(worker),
            key_converter: "org.apache.kafka.connect.json.JsonConverter".to_owned(),
            value_converter: "org.apache.kafka.connect.json.JsonConverter".to_owned(),
            header_converter: "org.apache.kafka.connect.storage.SimpleHeaderConverter".to_owned(),
            converter_versions: Default::default(),
            topic_tracking: true,
            overrides: OverridePolicy::All,
            restart: RestartPolicy::default(),
        }
    }
}

pub fn url(worker: usize) -> String {
    format!("http://w{worker}:8083/")
}

pub fn worker_id(worker: usize) -> WorkerId {
    WorkerId(format!("w{worker}:8083").into())
}
