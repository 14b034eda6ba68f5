//! Which settings of its Kafka clients a connector may choose (KIP-458).

use bulkhead_model::ConfigPatch;
use bulkhead_model::config::OverridePolicy;
use bulkhead_model::plugin::PluginKind;

use super::infos::Entry;
use super::sink::{self, text};

/// The keys that the worker's policy doesn't let the connector have, of clients that it uses. Without their values:
/// some are secrets.
pub(super) fn refused(config: &ConfigPatch, kind: PluginKind, policy: &OverridePolicy) -> Vec<Entry> {
    let prefixes = prefixes(config, kind);
    let refusal = |key: &String| {
        let client_key = prefixes.iter().find_map(|prefix| key.strip_prefix(prefix))?;
        let mut entry = Entry::undefined(key);
        entry.error(policy.refusal(client_key)?);
        Some(entry)
    };
    config.keys().filter_map(refusal).collect()
}

fn prefixes(config: &ConfigPatch, kind: PluginKind) -> Vec<&'static str> {
    let (producer, consumer, admin) = match kind {
        PluginKind::Source => {
            let own_topic = text(config, "offsets.storage.topic").is_some();
            let creates = config.keys().any(|key| key.starts_with("topic.creation."));
            (true, own_topic, own_topic || creates)
        }
        // Its group's offsets are read and changed by an admin client.
        PluginKind::Sink => (text(config, sink::DLQ_TOPIC).is_some(), true, true),
        _ => (false, false, false),
    };
    let clients = [(producer, "producer.override."), (consumer, "consumer.override."), (admin, "admin.override.")];
    clients.into_iter().filter_map(|(used, prefix)| used.then_some(prefix)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OVERRIDES: [&str; 3] = ["producer.override.acks", "consumer.override.acks", "admin.override.acks"];

    fn check(kind: PluginKind, policy: &OverridePolicy, more: &[(&str, &str)]) -> Vec<String> {
        let overrides = OVERRIDES.iter().map(|key| (*key, "1"));
        let given = overrides.chain(more.iter().copied());
        let config = given.map(|(key, value)| (key.to_owned(), Some(value.to_owned()))).collect();
        refused(&config, kind, policy).iter().map(|entry| entry.name().to_owned()).collect()
    }

    #[test]
    fn a_policy_judges_the_clients_that_a_connector_uses() {
        let [producer, consumer, admin] = OVERRIDES;
        let check = |kind, more: &[_]| check(kind, &OverridePolicy::None, more);
        assert_eq!(check(PluginKind::Source, &[]), [producer]);
        assert_eq!(check(PluginKind::Source, &[("topic.creation.default.partitions", "1")]), [producer, admin]);
        assert_eq!(check(PluginKind::Source, &[("offsets.storage.topic", "own")]), [producer, consumer, admin]);
        assert_eq!(check(PluginKind::Sink, &[]), [consumer, admin]);
        assert_eq!(check(PluginKind::Sink, &[(sink::DLQ_TOPIC, "dead")]), [producer, consumer, admin]);
    }

    #[test]
    fn a_policy_lets_through_what_it_allows() {
        assert_eq!(check(PluginKind::Source, &OverridePolicy::All, &[]), [""; 0]);
        let allowlist = OverridePolicy::Allowlist(["acks".to_owned()].into());
        let more = [("producer.override.linger.ms", "1"), ("connector.class", "Source")];
        assert_eq!(check(PluginKind::Source, &allowlist, &more), ["producer.override.linger.ms"]);
    }
}
