//! Under which name of the registry a schema goes.

use std::sync::Arc;

use super::schema::{Kind, Type};
use crate::convert::ConvertError;

/// How subjects are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strategy {
    /// After the topic, and whether it is about keys or values.
    Topic,
    /// After the record, whatever topic it is in.
    Record,
    /// After topic and record.
    TopicRecord,
}

impl Strategy {
    pub(super) const ALL: [Self; 3] = [Self::Topic, Self::Record, Self::TopicRecord];

    pub(super) fn of_class(class: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.class() == class)
    }

    pub(super) const fn class(self) -> &'static str {
        match self {
            Self::Topic => "io.confluent.kafka.serializers.subject.TopicNameStrategy",
            Self::Record => "io.confluent.kafka.serializers.subject.RecordNameStrategy",
            Self::TopicRecord => "io.confluent.kafka.serializers.subject.TopicRecordNameStrategy",
        }
    }

    /// The subject of a schema; a schema without name has one only if it goes by topic.
    pub(super) fn subject(self, topic: &str, is_key: bool, schema: &Type) -> Result<Arc<str>, ConvertError> {
        let record = || match &schema.kind {
            Kind::Record(record) => Ok(&record.name),
            _ => Err(ConvertError::Data(format!(
                "In configuration {} = {}, the message {} must only be a record schema",
                super::settings::strategy_key(is_key),
                self.class(),
                if is_key { "key" } else { "value" },
            ))),
        };
        match self {
            Self::Topic => Ok(Self::of_topic(topic, is_key)),
            Self::Record => record().cloned(),
            Self::TopicRecord => Ok(format!("{topic}-{}", record()?).into()),
        }
    }

    /// The subject that a schema has by its topic alone.
    pub(super) fn of_topic(topic: &str, is_key: bool) -> Arc<str> {
        format!("{topic}-{}", if is_key { "key" } else { "value" }).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ports::SchemaText;

    fn check(strategy: Strategy, is_key: bool, schema: &str) -> String {
        let schema = Type::parse(&SchemaText { schema: schema.into(), references: Vec::new() }).unwrap();
        match strategy.subject("orders", is_key, &schema) {
            Ok(subject) => subject.to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn subjects_are_named_after_topic_record_or_both() {
        let record = r#"{"type":"record","name":"a.b.Order","fields":[]}"#;
        assert_eq!(check(Strategy::Topic, false, record), "orders-value");
        assert_eq!(check(Strategy::Topic, true, r#""string""#), "orders-key");
        assert_eq!(check(Strategy::Record, false, record), "a.b.Order");
        assert_eq!(check(Strategy::TopicRecord, true, record), "orders-a.b.Order");
        let message = check(Strategy::Record, true, r#""string""#);
        assert!(message.starts_with("In configuration key.subject.name.strategy = "), "{message}");
    }
}
