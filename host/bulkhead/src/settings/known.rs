//! Properties that nothing here reads: misspelt ones, and those of Connect that have no effect.

use std::collections::BTreeSet;

use bulkhead_model::RawConfig;
use bulkhead_model::config::ConfigDef;

/// Read by other crates, which check them themselves.
const ELSEWHERE: &[&str] = &[
    "access.control.allow.methods",
    "access.control.allow.origin",
    "admin.listeners",
    "client.dns.lookup",
    "connector.client.config.override.allowlist",
    "connector.client.config.override.policy",
    "listeners",
    "offset.flush.interval.ms",
    "offset.flush.timeout.ms",
    "response.http.headers.config",
    "rest.advertised.host.name",
    "rest.advertised.listener",
    "rest.advertised.port",
    "security.protocol",
    "topic.tracking.allow.reset",
    "topic.tracking.enable",
];

/// Whole families: client properties, whose own checks warn of what has no counterpart, settings of
/// converters and config providers, and settings of topics that have to be made.
const FAMILIES: &[&str] = &[
    "admin.",
    "config.providers.",
    "config.storage.",
    "consumer.",
    "header.converter.",
    "key.converter.",
    "offset.storage.",
    "producer.",
    "sasl.",
    "ssl.",
    "status.storage.",
    "value.converter.",
];

/// About what is Java's own business; nothing is lost without them.
const POINTLESS: &[&str] = &[
    "auto.include.jmx.reporter",
    "bootstrap.resolve.timeout.ms",
    "metadata.cluster.check.enable",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "plugin.discovery",
];

/// Connect's, but not heeded here: whoever sets them should know.
const WITHOUT_EFFECT: &[&str] = &["metric.reporters", "rest.extension.classes"];

/// Families of the same kind.
const FAMILIES_WITHOUT_EFFECT: &[&str] = &["listeners.https.", "metrics.context."];

/// Keys of a worker's file that come to nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Unheeded {
    pub unknown: Vec<String>,
    pub without_effect: Vec<String>,
}

impl Unheeded {
    /// Looks through the keys of a file; `definitions` are those that are read.
    pub fn of(properties: &RawConfig, definitions: &[ConfigDef]) -> Self {
        let defined = definitions.iter().flat_map(|definition| &definition.keys).map(|key| key.name.as_str());
        let read: BTreeSet<&str> = defined.chain(ELSEWHERE.iter().copied()).collect();
        let mut unheeded = Self::default();
        for (key, value) in properties.iter().filter(|(key, _)| !read.contains(key)) {
            if is_without_effect(key) {
                if !value.trim().is_empty() {
                    unheeded.without_effect.push(key.to_owned());
                }
            } else if !is_of_a_family(key) {
                unheeded.unknown.push(key.to_owned());
            }
        }
        unheeded
    }

    /// One line for each kind.
    pub fn warn(&self) {
        if !self.unknown.is_empty() {
            tracing::warn!(keys = self.unknown.join(", "), "Nothing is known of these worker properties.");
        }
        if !self.without_effect.is_empty() {
            tracing::warn!(keys = self.without_effect.join(", "), "These worker properties have no effect yet.");
        }
    }
}

fn is_without_effect(key: &str) -> bool {
    WITHOUT_EFFECT.contains(&key) || FAMILIES_WITHOUT_EFFECT.iter().any(|family| key.starts_with(family))
}

fn is_of_a_family(key: &str) -> bool {
    POINTLESS.contains(&key) || FAMILIES.iter().any(|family| key.starts_with(family))
}

#[cfg(test)]
mod tests {
    use super::super::{WorkerMode, definitions};
    use super::*;

    fn check(mode: WorkerMode, keys: &[&str]) -> String {
        let properties = keys.iter().map(|key| (*key, "x")).collect();
        let Unheeded { unknown, without_effect } = Unheeded::of(&properties, &definitions(mode));
        format!("unknown {unknown:?} without effect {without_effect:?}")
    }

    #[test]
    fn misspelt_keys_are_found_and_families_are_left_alone() {
        let keys = [
            "group.id",
            "groupid",
            "listeners",
            "producer.linger.ms",
            "value.converter.schemas.enable",
            "status.storage.segment.bytes",
            "ssl.truststore.location",
            "metrics.num.samples",
            "plugin.path",
            "config.providers",
            "config.providers.file.class",
            "sandbox.threads",
            "sandbox.thread",
        ];
        assert_eq!(check(WorkerMode::Distributed, &keys), r#"unknown ["groupid", "sandbox.thread"] without effect []"#);
    }

    #[test]
    fn a_standalone_worker_has_no_group() {
        let keys = ["group.id", "connect.protocol", "offset.storage.file.filename"];
        let expected = r#"unknown ["group.id", "connect.protocol"] without effect []"#;
        assert_eq!(check(WorkerMode::Standalone, &keys), expected);
    }

    #[test]
    fn what_connect_has_and_we_have_not_is_told_apart_unless_it_is_empty() {
        let keys = ["listeners.https.ssl.protocol", "rest.extension.classes"];
        let expected = format!("unknown [] without effect {keys:?}");
        assert_eq!(check(WorkerMode::Standalone, &keys), expected);
        let properties = RawConfig::from([("metric.reporters", "")]);
        assert_eq!(Unheeded::of(&properties, &definitions(WorkerMode::Standalone)), Unheeded::default());
    }
}
