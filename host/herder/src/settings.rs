//! What the herder must know of the worker's configuration.

use bulkhead_model::WorkerId;
use bulkhead_model::config::OverridePolicy;

use crate::assignment::Assignment;
use crate::auto_restart::RestartPolicy;
use crate::protocol::ConnectProtocol;

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Settings {
    pub mode: Mode,
    /// Advertised `host:port`.
    pub worker: WorkerId,
    /// `key.converter`, `value.converter`, `header.converter`: the defaults validation shows.
    pub key_converter: String,
    pub value_converter: String,
    pub header_converter: String,
    pub converter_versions: ConverterVersions,
    /// `topic.tracking.enable`: note which topics connectors use (KIP-558).
    pub topic_tracking: bool,
    /// `connector.client.config.override.policy`
    pub overrides: OverridePolicy,
    /// `restart.policy` and what belongs to it, for connectors that don't say otherwise.
    pub restart: RestartPolicy,
}

/// Which versions of the worker's converters are wanted (`key.converter.plugin.version` and so on, KIP-891); without
/// one the latest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConverterVersions {
    pub key: Option<String>,
    pub value: Option<String>,
    pub header: Option<String>,
}

/// How this worker runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Alone; logs in memory.
    Standalone,
    /// In a group of workers; logs in Kafka.
    Distributed(Box<ClusterSettings>),
}

/// What a worker must know to be a member of a cluster. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterSettings {
    /// Advertised URL of the REST interface, ending in a slash.
    pub url: String,
    /// `connect.protocol`
    pub protocol: ConnectProtocol,
    /// `exactly.once.source.support`
    pub exactly_once: ExactlyOnce,
    /// `worker.sync.timeout.ms`
    pub sync_timeout: u64,
    /// `worker.unsync.backoff.ms`
    pub unsync_backoff: u64,
    /// `scheduled.rebalance.max.delay.ms`
    pub rebalance_delay: u64,
    pub keys: KeySettings,
}

/// What a cluster does for exactly-once sources (KIP-618).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExactlyOnce {
    Disabled,
    /// Leaders claim the config log, so that those that were replaced can't write to it.
    Preparing,
}

/// How internal requests are signed (KIP-507). Algorithms by Java's names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySettings {
    /// `inter.worker.key.generation.algorithm`
    pub algorithm: String,
    /// `inter.worker.key.size`, in bits as in Java; none for what the algorithm suggests.
    pub size: Option<usize>,
    /// `inter.worker.key.ttl.ms`
    pub ttl: u64,
    /// `inter.worker.signature.algorithm`
    pub signature: String,
    /// `inter.worker.verification.algorithms`
    pub verification: Vec<String>,
}

impl Mode {
    /// Whether a connector that is created or changed is answered for only when it runs and has its
    /// tasks.
    pub(crate) fn answers_after_the_effect(&self) -> bool {
        *self == Self::Standalone
    }

    pub(crate) fn cluster(&self) -> Option<&ClusterSettings> {
        match self {
            Self::Standalone => None,
            Self::Distributed(settings) => Some(settings),
        }
    }

    pub(crate) fn assignment_at_start(&self) -> Assignment {
        match self {
            Self::Standalone => Assignment::Everything,
            Self::Distributed(_) => Assignment::default(),
        }
    }
}
