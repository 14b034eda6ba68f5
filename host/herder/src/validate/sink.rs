//! What holds between the keys of a sink.

use bulkhead_model::ConfigPatch;
use bulkhead_model::config::{ConfigType, Typed};

use super::infos::Entry;

const TOPICS: &str = "topics";
const TOPICS_REGEX: &str = "topics.regex";
pub(super) const DLQ_TOPIC: &str = "errors.deadletterqueue.topic.name";

/// A sink reads topics by name or by pattern, and never its own dead letter queue.
pub(super) fn check_topics(entries: &mut [Entry], config: &ConfigPatch) {
    match (text(config, TOPICS), text(config, TOPICS_REGEX)) {
        (None, None) => {
            let message = "Must configure one of topics or topics.regex";
            error(entries, TOPICS, message);
            error(entries, TOPICS_REGEX, message);
        }
        (Some(_), Some(_)) => {
            let message = "topics and topics.regex are mutually exclusive, but both are set";
            error(entries, TOPICS, message);
            error(entries, TOPICS_REGEX, message);
        }
        (topics, regex) => check_dead_letters(entries, config, topics, regex),
    }
}

fn check_dead_letters(entries: &mut [Entry], config: &ConfigPatch, topics: Option<&str>, regex: Option<&str>) {
    let Some(dead_letters) = text(config, DLQ_TOPIC) else {
        return;
    };
    if topics.is_some_and(|topics| elements(topics).iter().any(|topic| topic == dead_letters)) {
        error(
            entries,
            TOPICS,
            &format!("The dead letter queue topic {dead_letters} may not be one of the topics to read"),
        );
    }
    let pattern = regex.and_then(|regex| regex::Regex::new(&format!("^(?:{regex})$")).ok());
    if pattern.is_some_and(|pattern| pattern.is_match(dead_letters)) {
        error(entries, TOPICS_REGEX, &format!("The dead letter queue topic {dead_letters} may not match topics.regex"));
    }
}

/// A blank text counts as none.
pub(super) fn text<'a>(config: &'a ConfigPatch, key: &str) -> Option<&'a str> {
    config.get(key)?.as_deref().map(str::trim).filter(|text| !text.is_empty())
}

fn elements(text: &str) -> Vec<String> {
    match ConfigType::List.parse(text) {
        Ok(Typed::List(elements)) => elements,
        _ => Vec::new(),
    }
}

pub(super) fn error(entries: &mut [Entry], key: &str, message: &str) {
    if let Some(entry) = entries.iter_mut().find(|entry| entry.name() == key) {
        entry.error(message);
    }
}
