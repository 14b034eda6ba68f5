//! Names, types, defaults and documentation of the worker properties that this crate reads.

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance, Validator};

use super::WorkerMode;

pub(super) const BOOTSTRAP: &str = "bootstrap.servers";
pub(super) const KEY_CONVERTER: &str = "key.converter";
pub(super) const VALUE_CONVERTER: &str = "value.converter";
pub(super) const HEADER_CONVERTER: &str = "header.converter";
pub(super) const KEY_CONVERTER_VERSION: &str = "key.converter.plugin.version";
pub(super) const VALUE_CONVERTER_VERSION: &str = "value.converter.plugin.version";
pub(super) const HEADER_CONVERTER_VERSION: &str = "header.converter.plugin.version";
pub(super) const RESTART_POLICY: &str = "restart.policy";
pub(super) const RESTART_BACKOFF: &str = "restart.backoff.ms";
pub(super) const RESTART_BACKOFF_MAX: &str = "restart.backoff.max.ms";
pub(super) const RESTART_RESET: &str = "restart.reset.ms";
pub(super) const CONFIG_PROVIDERS: &str = "config.providers";
pub(super) const OFFSET_FILE: &str = "offset.storage.file.filename";

pub(super) const GROUP_ID: &str = "group.id";
pub(super) const CLIENT_ID: &str = "client.id";
pub(super) const CONFIG_TOPIC: &str = "config.storage.topic";
pub(super) const OFFSET_TOPIC: &str = "offset.storage.topic";
pub(super) const STATUS_TOPIC: &str = "status.storage.topic";
pub(super) const REPLICAS: [&str; 3] =
    ["config.storage.replication.factor", "offset.storage.replication.factor", "status.storage.replication.factor"];
pub(super) const PARTITIONS: [&str; 2] = ["offset.storage.partitions", "status.storage.partitions"];
pub(super) const PROTOCOL: &str = "connect.protocol";
pub(super) const EXACTLY_ONCE: &str = "exactly.once.source.support";
pub(super) const SESSION_TIMEOUT: &str = "session.timeout.ms";
pub(super) const HEARTBEAT: &str = "heartbeat.interval.ms";
pub(super) const REBALANCE_TIMEOUT: &str = "rebalance.timeout.ms";
pub(super) const REBALANCE_DELAY: &str = "scheduled.rebalance.max.delay.ms";
pub(super) const SYNC_TIMEOUT: &str = "worker.sync.timeout.ms";
pub(super) const UNSYNC_BACKOFF: &str = "worker.unsync.backoff.ms";
pub(super) const KEY_ALGORITHM: &str = "inter.worker.key.generation.algorithm";
pub(super) const KEY_SIZE: &str = "inter.worker.key.size";
pub(super) const KEY_TTL: &str = "inter.worker.key.ttl.ms";
pub(super) const SIGNATURE: &str = "inter.worker.signature.algorithm";
pub(super) const VERIFICATION: &str = "inter.worker.verification.algorithms";
pub(super) const REQUEST_TIMEOUT: &str = "request.timeout.ms";
pub(super) const RETRY_BACKOFF: &str = "retry.backoff.ms";
pub(super) const RETRY_BACKOFF_MAX: &str = "retry.backoff.max.ms";

/// MACs by Java's names.
pub(super) const MACS: &[&str] = &["HmacSHA1", "HmacSHA224", "HmacSHA256", "HmacSHA384", "HmacSHA512"];

/// What holds when a key is absent.
#[derive(Clone, Copy)]
enum Absent {
    Refused,
    None,
    Is(&'static str),
}

#[derive(Clone, Copy)]
enum Check {
    Any,
    NonEmpty,
    AtLeast(&'static str),
    OneOf(&'static [&'static str]),
    OneOfAnyCase(&'static [&'static str]),
    EachOneOf(&'static [&'static str]),
}

type Row = (&'static str, ConfigType, Absent, Check, &'static str);

use Absent::{Is, None as Null, Refused as Required};
use Check::{Any, AtLeast, EachOneOf, NonEmpty, OneOf, OneOfAnyCase};
use ConfigType::{Boolean, Class, Int, List, Long, Short, String as Text};

/// What every worker has.
#[rustfmt::skip]
const COMMON: &[Row] = &[
    (BOOTSTRAP, List, Required, NonEmpty,
     "Brokers to begin with, as `host:port`, comma-separated."),
    (KEY_CONVERTER, Class, Required, NonEmpty,
     "Converter of record keys for connectors that name none."),
    (VALUE_CONVERTER, Class, Required, NonEmpty,
     "Converter of record values for connectors that name none."),
    (HEADER_CONVERTER, Class, Is("org.apache.kafka.connect.storage.SimpleHeaderConverter"), NonEmpty,
     "Converter of header values for connectors that name none."),
    (KEY_CONVERTER_VERSION, Text, Null, Any,
     "Version of the key converter, or a range of versions. Without it: the latest."),
    (VALUE_CONVERTER_VERSION, Text, Null, Any,
     "Version of the value converter, or a range of versions. Without it: the latest."),
    (HEADER_CONVERTER_VERSION, Text, Null, Any,
     "Version of the header converter, or a range of versions. Without it: the latest."),
    (CLIENT_ID, Text, Is(""), Any,
     "What the ids of the worker's own clients begin with. Without it: the group's name."),
    ("topic.creation.enable", Boolean, Is("true"), Any,
     "Whether source connectors may have topics made as they describe."),
    (CONFIG_PROVIDERS, List, Is(""), Any,
     "Names of providers of values for `${name:path:key}` in configurations; a provider has `config.providers.<name>.class`, \
      and `config.providers.<name>.param.*` for its own settings."),
    (RESTART_POLICY, Text, Is("none"), OneOfAnyCase(&["none", "on-failure"]),
     "Whether what failed is restarted by itself, for connectors that don't say."),
    (RESTART_BACKOFF, Long, Is("1000"), AtLeast("1"),
     "How long what failed waits for its first restart; every further wait is twice as long."),
    (RESTART_BACKOFF_MAX, Long, Is("60000"), AtLeast("1"),
     "The longest of these waits."),
    (RESTART_RESET, Long, Is("600000"), AtLeast("1"),
     "After running so long without a failure, the wait is that of the first restart again."),
    (REQUEST_TIMEOUT, Int, Is("40000"), AtLeast("1"),
     "How long a broker may take to answer one of the worker's own requests."),
    (RETRY_BACKOFF, Long, Is("100"), AtLeast("0"),
     "First wait before a failed request is sent again."),
    (RETRY_BACKOFF_MAX, Long, Is("1000"), AtLeast("0"),
     "Longest wait before a failed request is sent again."),
    ("reconnect.backoff.ms", Long, Is("50"), AtLeast("0"),
     "First wait before a broker is connected to again."),
    ("reconnect.backoff.max.ms", Long, Is("1000"), AtLeast("0"),
     "Longest wait before a broker is connected to again."),
    ("connections.max.idle.ms", Long, Is("540000"), Any,
     "How long an unused connection stays open."),
    ("metadata.max.age.ms", Long, Is("300000"), AtLeast("0"),
     "How old knowledge of brokers and topics may become."),
    ("socket.connection.setup.timeout.ms", Long, Is("10000"), AtLeast("1"),
     "How long a connection to a broker may take."),
    ("socket.connection.setup.timeout.max.ms", Long, Is("30000"), AtLeast("1"),
     "The most that repeated failures make of it."),
    ("send.buffer.bytes", Int, Is("131072"), AtLeast("-1"),
     "The socket's send buffer; -1 leaves it to the system."),
    ("receive.buffer.bytes", Int, Is("32768"), AtLeast("-1"),
     "The socket's receive buffer; -1 leaves it to the system."),
];

/// What a standalone worker has besides.
#[rustfmt::skip]
const STANDALONE: &[Row] = &[
    (OFFSET_FILE, Text, Required, NonEmpty,
     "File of source offsets."),
];

/// What a distributed worker has besides.
#[rustfmt::skip]
const DISTRIBUTED: &[Row] = &[
    (GROUP_ID, Text, Required, NonEmpty,
     "Name of the cluster: workers with the same name share their work."),
    (CONFIG_TOPIC, Text, Required, NonEmpty,
     "Topic of configurations; the same for all workers of the cluster."),
    (OFFSET_TOPIC, Text, Required, NonEmpty,
     "Topic of source offsets; the same for all workers of the cluster."),
    (STATUS_TOPIC, Text, Required, NonEmpty,
     "Topic of statuses; the same for all workers of the cluster."),
    (REPLICAS[0], Short, Is("3"), AtLeast("-1"), "Of a config topic that has to be made; -1 for the broker's default."),
    (REPLICAS[1], Short, Is("3"), AtLeast("-1"), "Of an offset topic that has to be made; -1 for the broker's default."),
    (REPLICAS[2], Short, Is("3"), AtLeast("-1"), "Of a status topic that has to be made; -1 for the broker's default."),
    (PARTITIONS[0], Int, Is("25"), AtLeast("-1"), "Of an offset topic that has to be made; -1 for the broker's default."),
    (PARTITIONS[1], Int, Is("5"), AtLeast("-1"), "Of a status topic that has to be made; -1 for the broker's default."),
    ("internal.topics.automatic.creation.enable", Boolean, Is("true"), Any,
     "Whether missing config, offset and status topics are made."),
    (PROTOCOL, Text, Is("sessioned"), OneOf(&["eager", "compatible", "sessioned"]),
     "How the workers share their work, at best: `eager` stops everything first, `compatible` only what moves (KIP-415), \
      `sessioned` signs requests between workers as well (KIP-507)."),
    (EXACTLY_ONCE, Text, Is("disabled"), OneOfAnyCase(&["disabled", "preparing", "enabled"]),
     "Exactly-once for source connectors (KIP-618). With `preparing`, a leader that was replaced can't write to the config \
      topic any more; `enabled` isn't there yet."),
    (SESSION_TIMEOUT, Int, Is("10000"), AtLeast("1"),
     "A worker that is silent for this long is out of the group."),
    (HEARTBEAT, Int, Is("3000"), AtLeast("1"),
     "How often a worker gives a sign of life to the group; below the session timeout."),
    (REBALANCE_TIMEOUT, Int, Is("60000"), AtLeast("1"),
     "How long workers may take to join in a rebalance."),
    (REBALANCE_DELAY, Int, Is("300000"), AtLeast("0"),
     "How long the work of a lost worker waits for its return before others get it."),
    (SYNC_TIMEOUT, Int, Is("3000"), AtLeast("1"),
     "How long a worker may take to read the config topic to its end; then it leaves the group for a while."),
    (UNSYNC_BACKOFF, Int, Is("300000"), AtLeast("0"),
     "How long a worker that left for that reason stays out, with `eager`."),
    (KEY_ALGORITHM, Text, Is("HmacSHA256"), OneOf(MACS),
     "What session keys are made for."),
    (KEY_SIZE, Int, Null, AtLeast("1"),
     "Bits of a session key. Without it: what suits the algorithm."),
    (KEY_TTL, Int, Is("3600000"), AtLeast("0"),
     "After how long the leader makes a new session key."),
    (SIGNATURE, Text, Is("HmacSHA256"), OneOf(MACS),
     "How requests to the leader are signed."),
    (VERIFICATION, List, Is("HmacSHA256"), EachOneOf(MACS),
     "Signatures that are accepted; has to include the one that is used."),
];

/// Defaults and checks of all keys of such a worker that are read here.
pub(super) fn definition(mode: WorkerMode) -> ConfigDef {
    let more = match mode {
        WorkerMode::Standalone => STANDALONE,
        WorkerMode::Distributed => DISTRIBUTED,
    };
    ConfigDef { keys: COMMON.iter().chain(more).map(key).collect() }
}

fn key((name, kind, absent, check, documentation): &Row) -> ConfigKey {
    let default = match absent {
        Absent::Refused => DefaultValue::Required,
        Absent::None => DefaultValue::Null,
        Absent::Is(text) => DefaultValue::Value((*text).to_owned()),
    };
    let key = ConfigKey::new(name, *kind, default, Importance::Medium, documentation);
    let texts = |choices: &[&str]| choices.iter().map(|choice| (*choice).to_owned()).collect();
    match check {
        Check::Any => key,
        Check::NonEmpty => key.with_validator(Validator::NonEmpty),
        Check::AtLeast(min) => key.with_validator(Validator::Range { min: Some((*min).to_owned()), max: None }),
        Check::OneOf(choices) => key.with_validator(Validator::OneOf(texts(choices))),
        Check::OneOfAnyCase(choices) => key.with_validator(Validator::OneOfIgnoringCase(texts(choices))),
        Check::EachOneOf(choices) => key.with_validator(Validator::EachOneOf(texts(choices))),
    }
}
