//! The table of keys that every connector has, and those that every source or sink has.

use bulkhead_model::config::ConfigType::{Boolean, Class, Int, List, Long, Short, String as Text};
use bulkhead_model::config::{ConfigKey, ConfigType, DefaultValue, Importance, Validator, Width};

use super::plugins::Defaults;

/// Versions of the connector and of the converters that are in force (KIP-891).
#[derive(Clone, Debug, Default)]
pub(super) struct Versions {
    pub(super) connector: Option<String>,
    pub(super) key_converter: Option<String>,
    pub(super) value_converter: Option<String>,
    pub(super) header_converter: Option<String>,
}

/// A line of the table.
struct Row {
    group: &'static str,
    order: i32,
    name: &'static str,
    kind: ConfigType,
    default: DefaultValue,
    importance: Importance,
    width: Width,
    display: &'static str,
}

impl Row {
    fn doc(self, documentation: &str) -> ConfigKey {
        ConfigKey::new(self.name, self.kind, self.default, self.importance, documentation).with_group(
            self.group,
            self.order,
            self.width,
            self.display,
        )
    }
}

fn value(text: &str) -> DefaultValue {
    DefaultValue::Value(text.to_owned())
}

fn class(name: &str) -> DefaultValue {
    if name.is_empty() { DefaultValue::Null } else { value(name) }
}

fn version(version: Option<String>) -> DefaultValue {
    version.map_or(DefaultValue::Null, DefaultValue::Value)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn at_least(min: &str) -> Validator {
    Validator::Range { min: Some(min.to_owned()), max: None }
}

const COMMON: &str = "Common";
const ERRORS: &str = "Error Handling";
const EXACTLY_ONCE: &str = "Exactly Once Support";

use Importance::{High, Low, Medium};

/// Sources and sinks alike.
#[rustfmt::skip]
pub(super) fn shared(defaults: &Defaults, versions: Versions) -> Vec<ConfigKey> {
    let row = |order, name, kind, default, importance, width, display| {
        Row { group: COMMON, order, name, kind, default, importance, width, display }
    };
    let mut keys = vec![
        row(1, "name", Text, DefaultValue::Required, High, Width::Medium, "Connector name")
            .doc("Name of the connector, unique in the cluster.")
            .with_validator(Validator::NonEmptyWithoutControlCharacters),
        row(2, "connector.class", Text, DefaultValue::Required, High, Width::Long, "Connector class")
            .doc("Class of the connector: its full name, its simple name, or that without the ending Connector."),
        row(3, "connector.plugin.version", Text, version(versions.connector), Medium, Width::Medium, "Connector version")
            .doc("Version of the connector, or a range of versions."),
        row(4, "tasks.max", Int, value("1"), High, Width::Short, "Tasks max")
            .doc("How many tasks the connector may have.")
            .with_validator(at_least("1")),
        row(5, "tasks.max.enforce", Boolean, value("true"), Low, Width::Short, "Enforce tasks max")
            .doc("Deprecated. Whether a connector that makes more tasks than tasks.max fails."),
        row(6, "key.converter", Class, class(&defaults.key_converter), Low, Width::Short, "Key converter class")
            .doc("Converter between Connect's keys and those in Kafka; if absent, the worker's."),
        row(7, "key.converter.plugin.version", Text, version(versions.key_converter), Low, Width::Short, "Key converter version")
            .doc("Version of the key converter, or a range of versions."),
        row(8, "value.converter", Class, class(&defaults.value_converter), Low, Width::Short, "Value converter class")
            .doc("Converter between Connect's values and those in Kafka; if absent, the worker's."),
        row(9, "value.converter.plugin.version", Text, version(versions.value_converter), Low, Width::Short, "Value converter version")
            .doc("Version of the value converter, or a range of versions."),
        row(10, "header.converter", Class, class(&defaults.header_converter), Low, Width::Short, "Header converter class")
            .doc("Converter between Connect's headers and those in Kafka; if absent, the worker's."),
        row(11, "header.converter.plugin.version", Text, version(versions.header_converter), Low, Width::Short, "Header converter version")
            .doc("Version of the header converter, or a range of versions."),
        Row { group: "Transforms", order: 12, name: "transforms", kind: List, default: value(""), importance: Low, width: Width::Long, display: "Transforms" }
            .doc("Aliases of the transformations that records go through, in order.")
            .with_validator(Validator::Unique),
        Row { group: "Predicates", order: 13, name: "predicates", kind: List, default: value(""), importance: Low, width: Width::Long, display: "Predicates" }
            .doc("Aliases of the predicates that transformations may refer to.")
            .with_validator(Validator::Unique),
        row(14, "config.action.reload", Text, value("restart"), Low, Width::Medium, "Reload Action")
            .doc("What follows when a value that a config provider supplied has changed: none, or a restart of the connector.")
            .with_validator(Validator::OneOf(words(&["none", "restart"]))),
    ];
    keys.extend(error_handling());
    keys
}

#[rustfmt::skip]
fn error_handling() -> Vec<ConfigKey> {
    let row = |order, name, kind, default: &str, width, display| {
        Row { group: ERRORS, order, name, kind, default: value(default), importance: Medium, width, display }
    };
    vec![
        row(1, "errors.retry.timeout", Long, "0", Width::Medium, "Retry Timeout for Errors")
            .doc("How many milliseconds a failed operation is tried again; 0 for not at all, -1 for ever."),
        row(2, "errors.retry.delay.max.ms", Long, "60000", Width::Medium, "Maximum Delay Between Retries for Errors")
            .doc("The longest wait between two tries, in milliseconds."),
        row(3, "errors.tolerance", Text, "none", Width::Short, "Error Tolerance")
            .doc("Whether a record that can't be converted or transformed fails the task (none) or is skipped (all).")
            .with_validator(Validator::OneOf(words(&["none", "all"]))),
        row(4, "errors.log.enable", Boolean, "false", Width::Short, "Log Errors")
            .doc("Whether every error is logged, also those that are tolerated."),
        row(5, "errors.log.include.messages", Boolean, "false", Width::Short, "Log Error Details")
            .doc("Whether the log shows the record that failed."),
    ]
}

#[rustfmt::skip]
pub(super) fn of_sources() -> Vec<ConfigKey> {
    let row = |group, order, name, kind, default, importance, width, display| {
        Row { group, order, name, kind, default, importance, width, display }
    };
    vec![
        row("Topic Creation", 1, "topic.creation.groups", List, value(""), Low, Width::Long, "Topic Creation Groups")
            .doc("Groups of topics that are created with settings of their own.")
            .with_validator(Validator::Unique),
        row(EXACTLY_ONCE, 2, "exactly.once.support", Text, value("requested"), Medium, Width::Short, "Exactly once support")
            .doc("Whether the connector must be able to write exactly once (required) or should if it can (requested).")
            .with_validator(Validator::OneOfIgnoringCase(words(&["requested", "required"]))),
        row(EXACTLY_ONCE, 3, "transaction.boundary", Text, value("poll"), Medium, Width::Short, "Transaction Boundary")
            .doc("Where transactions end: after every poll, after an interval, or where the connector says.")
            .with_validator(Validator::OneOfIgnoringCase(words(&["poll", "interval", "connector"]))),
        row(EXACTLY_ONCE, 4, "transaction.boundary.interval.ms", Long, DefaultValue::Null, Low, Width::Short, "Transaction boundary interval")
            .doc("The interval for transaction.boundary=interval; if absent, the worker's offset.flush.interval.ms.")
            .with_validator(at_least("0")),
        row("offsets.topic", 1, "offsets.storage.topic", Text, DefaultValue::Null, Low, Width::Long, "Offsets topic")
            .doc("A topic of the connector's own for its offsets; if absent, the worker's.")
            .with_validator(Validator::NonEmpty),
    ]
}

#[rustfmt::skip]
pub(super) fn of_sinks() -> Vec<ConfigKey> {
    let topics = |name, kind, display| {
        Row { group: COMMON, order: 4, name, kind, default: value(""), importance: High, width: Width::Long, display }
    };
    let dead_letters = |order, name, kind, default: &str, display| {
        Row { group: ERRORS, order, name, kind, default: value(default), importance: Medium, width: Width::Medium, display }
    };
    vec![
        topics("topics", List, "Topics").doc("Topics to read.").with_validator(Validator::Unique),
        topics("topics.regex", Text, "Topics regex")
            .doc("A regular expression: all topics whose whole name matches it are read.")
            .with_validator(Validator::Regex),
        dead_letters(6, "errors.deadletterqueue.topic.name", Text, "", "Dead Letter Queue Topic Name")
            .doc("Topic for the records that could not be processed; if empty, there is none."),
        dead_letters(7, "errors.deadletterqueue.topic.replication.factor", Short, "3", "Dead Letter Queue Topic Replication Factor")
            .doc("Replication factor of the dead letter queue topic, if it has to be created."),
        dead_letters(8, "errors.deadletterqueue.context.headers.enable", Boolean, "false", "Enable Error Context Headers")
            .doc("Whether records in the dead letter queue get headers that say what went wrong."),
    ]
}
