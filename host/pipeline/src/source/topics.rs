//! Topics that a source task makes before it writes to them (KIP-158).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use bulkhead_model::RawConfig;

use crate::ports::{Creation, NewTopic, TopicError, Topics};
use crate::transform::Regex;

/// The `topic.creation.*` keys of a source: which topic is made how.
#[derive(Debug)]
pub struct TopicCreation {
    /// In order; the first that matches counts.
    groups: Vec<Group>,
    default: Template,
}

#[derive(Debug)]
struct Group {
    include: Vec<Regex>,
    exclude: Vec<Regex>,
    template: Template,
}

#[derive(Clone, Debug)]
struct Template {
    partitions: i32,
    replication_factor: i32,
    settings: BTreeMap<String, String>,
}

/// A `topic.creation.*` key has an unusable value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("configuration `{key}`: {reason}")]
pub struct TopicCreationError {
    pub key: String,
    pub reason: String,
}

/// Sees to it that each topic exists, once for each task.
pub struct TopicCreator {
    creation: TopicCreation,
    topics: Arc<dyn Topics>,
    ready: HashSet<Arc<str>>,
}

const PREFIX: &str = "topic.creation.";
const GROUPS: &str = "topic.creation.groups";
const DEFAULT: &str = "default";
const INCLUDE: &str = "include";
const EXCLUDE: &str = "exclude";
const PARTITIONS: &str = "partitions";
const REPLICATION: &str = "replication.factor";

impl TopicCreation {
    /// None if the configuration says nothing about it: then the broker decides what becomes of unknown
    /// topics.
    pub fn from_config(config: &RawConfig) -> Result<Option<Self>, TopicCreationError> {
        if !config.iter().any(|(key, _)| key.starts_with(PREFIX)) {
            return Ok(None);
        }
        let default = Template::read(config, DEFAULT, None)?;
        let names = elements(config.get(GROUPS).unwrap_or_default());
        let mut groups = Vec::new();
        for (index, name) in names.iter().enumerate() {
            if names[..index].contains(name) {
                return Err(wrong(GROUPS.to_owned(), format!("`{name}` is there twice")));
            }
            if *name != DEFAULT {
                groups.push(Group::read(config, name, &default)?);
            }
        }
        Ok(Some(Self { groups, default }))
    }

    /// How to make a topic.
    fn new_topic(&self, name: &str) -> NewTopic {
        let group = self.groups.iter().find(|group| group.takes(name));
        let Template { partitions, replication_factor, settings } =
            group.map_or(&self.default, |group| &group.template).clone();
        NewTopic { name: name.to_owned(), partitions, replication_factor, settings }
    }
}

impl TopicCreator {
    pub fn new(creation: TopicCreation, topics: Arc<dyn Topics>) -> Self {
        Self { creation, topics, ready: HashSet::new() }
    }

    pub(super) fn is_ready(&self, topic: &str) -> bool {
        self.ready.contains(topic)
    }

    /// Looks the topic up, and makes it if there is none.
    pub(super) async fn ensure(&mut self, topic: &str) -> Result<(), TopicError> {
        match self.topics.exists(topic).await {
            Ok(true) => {}
            // Who may not look may yet make it.
            Ok(false) | Err(TopicError::Denied(_)) => self.create(topic).await?,
            Err(error) => return Err(error),
        }
        self.ready.insert(topic.into());
        Ok(())
    }

    async fn create(&self, topic: &str) -> Result<(), TopicError> {
        let wanted = self.creation.new_topic(topic);
        let (partitions, replication_factor) = (wanted.partitions, wanted.replication_factor);
        match self.topics.create(wanted).await? {
            Creation::Created => tracing::info!(topic, partitions, replication_factor, "Created a topic."),
            Creation::Exists => {}
        }
        Ok(())
    }
}

impl Group {
    fn read(config: &RawConfig, name: &str, default: &Template) -> Result<Self, TopicCreationError> {
        let patterns = |what: &str| {
            let key = format!("{PREFIX}{name}.{what}");
            let texts = elements(config.get(&key).unwrap_or_default());
            let patterns: Result<Vec<_>, String> = texts.into_iter().map(Regex::new).collect();
            patterns.map_err(|reason| wrong(key, reason))
        };
        let (include, exclude) = (patterns(INCLUDE)?, patterns(EXCLUDE)?);
        Ok(Self { include, exclude, template: Template::read(config, name, Some(default))? })
    }

    /// A pattern that gives up on a name doesn't match it.
    fn takes(&self, topic: &str) -> bool {
        let any = |patterns: &[Regex]| patterns.iter().any(|pattern| pattern.matches(topic).unwrap_or(false));
        any(&self.include) && !any(&self.exclude)
    }
}

impl Template {
    fn read(config: &RawConfig, group: &str, default: Option<&Self>) -> Result<Self, TopicCreationError> {
        let own = config.with_prefix(&format!("{PREFIX}{group}."));
        let number = |what: &str, most: i32, default: Option<i32>| {
            let key = format!("{PREFIX}{group}.{what}");
            let Some(text) = own.get(what) else {
                return default.ok_or_else(|| wrong(key, "is required if topics are to be created".to_owned()));
            };
            let number = text.trim().parse().ok().filter(|number| *number == -1 || (1..=most).contains(number));
            number.ok_or_else(|| wrong(key, format!("is `{text}`, which is neither -1 nor a whole number above 0")))
        };
        let partitions = number(PARTITIONS, i32::MAX, default.map(|default| default.partitions))?;
        let replication_factor =
            number(REPLICATION, i16::MAX.into(), default.map(|default| default.replication_factor))?;
        let known = [INCLUDE, EXCLUDE, PARTITIONS, REPLICATION];
        let settings = own.iter().filter(|(key, _)| !known.contains(key));
        let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        Ok(Self { partitions, replication_factor, settings })
    }
}

fn wrong(key: String, reason: String) -> TopicCreationError {
    TopicCreationError { key, reason }
}

fn elements(list: &str) -> Vec<&str> {
    list.split(',').map(str::trim).filter(|element| !element.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(more: &[(&str, &str)]) -> RawConfig {
        let mut config = RawConfig::from([
            ("topic.creation.groups", "logs, rest"),
            ("topic.creation.default.partitions", "2"),
            ("topic.creation.default.replication.factor", "-1"),
            ("topic.creation.default.compression.type", "lz4"),
            ("topic.creation.logs.include", "log-.*, trace"),
            ("topic.creation.logs.exclude", "log-x"),
            ("topic.creation.logs.partitions", "7"),
            ("topic.creation.logs.retention.ms", "1000"),
            ("topic.creation.rest.include", ".*-[0-9]"),
            ("topic.creation.rest.replication.factor", "3"),
        ]);
        for (key, value) in more {
            config.set(*key, *value);
        }
        config
    }

    fn made(creation: &TopicCreation, name: &str) -> String {
        let NewTopic { partitions, replication_factor, settings, .. } = creation.new_topic(name);
        format!("{partitions} {replication_factor} {settings:?}")
    }

    #[test]
    fn the_first_group_that_matches_the_whole_name_counts_and_else_the_default() {
        let creation = TopicCreation::from_config(&config(&[])).unwrap().unwrap();
        assert_eq!(made(&creation, "log-1"), r#"7 -1 {"retention.ms": "1000"}"#);
        assert_eq!(made(&creation, "trace"), r#"7 -1 {"retention.ms": "1000"}"#);
        assert_eq!(made(&creation, "orders-1"), "2 3 {}");
        for other in ["log-x", "traces", "orders"] {
            assert_eq!(made(&creation, other), r#"2 -1 {"compression.type": "lz4"}"#);
        }
    }

    #[test]
    fn without_a_key_the_broker_decides() {
        assert!(TopicCreation::from_config(&RawConfig::from([("topic", "t")])).unwrap().is_none());
    }

    #[test]
    fn wrong_values_are_refused_by_name() {
        let check = |config: &RawConfig| TopicCreation::from_config(config).unwrap_err().to_string();
        let partitions = check(&config(&[("topic.creation.logs.partitions", "0")]));
        let expected = "configuration `topic.creation.logs.partitions`: is `0`, which is neither -1 nor a whole number \
                        above 0";
        assert_eq!(partitions, expected);
        let twice = check(&config(&[("topic.creation.groups", "a,a")]));
        assert_eq!(twice, "configuration `topic.creation.groups`: `a` is there twice");
        assert!(check(&config(&[("topic.creation.rest.include", "(")])).contains("topic.creation.rest.include"));
        let bare = RawConfig::from([("topic.creation.default.partitions", "1")]);
        let expected = "configuration `topic.creation.default.replication.factor`: is required if topics are to be \
                        created";
        assert_eq!(check(&bare), expected);
    }
}
