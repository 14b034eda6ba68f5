//! What librdkafka's errors mean for a task: is it the record, may it pass, or is it over?

use bulkhead_pipeline::ports::ProduceError;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

/// Judges an error of a record that was meant for `topic`.
pub(crate) fn of(error: &KafkaError, topic: &str) -> ProduceError {
    match error {
        KafkaError::MessageProduction(code) | KafkaError::Global(code) => of_code(*code, topic),
        KafkaError::Nul(_) => {
            ProduceError::Record(format!("topic name `{}` has a zero byte in it", topic.escape_debug()))
        }
        error => ProduceError::Fatal(format!("writing to topic `{topic}` failed: {error}")),
    }
}

/// Judges the client's own refusal of a record of so many bytes. `limit` is its `message.max.bytes`.
pub(crate) fn of_sending(error: &KafkaError, topic: &str, bytes: usize, limit: &str) -> ProduceError {
    match error {
        KafkaError::MessageProduction(Code::MessageSizeTooLarge) => ProduceError::Record(format!(
            "a record of {bytes} bytes for topic `{topic}` is larger than max.request.size allows, {limit} bytes \
             (producer.override.max.request.size, with the topic's own max.message.bytes)"
        )),
        error => of(error, topic),
    }
}

fn of_code(code: Code, topic: &str) -> ProduceError {
    match code {
        Code::UnknownTopic | Code::UnknownTopicOrPartition => ProduceError::Retriable(format!(
            "topic `{topic}` doesn't exist, and the broker doesn't create it (auto.create.topics.enable)"
        )),
        Code::UnknownPartition => ProduceError::Record(format!("topic `{topic}` has no such partition")),
        Code::MessageSizeTooLarge => ProduceError::Record(format!(
            "topic `{topic}` takes no record of this size (its max.message.bytes, or the broker's message.max.bytes)"
        )),
        Code::InvalidMessage
        | Code::InvalidMessageSize
        | Code::InvalidRecord
        | Code::InvalidTimestamp
        | Code::InvalidTopic
        | Code::MessageBatchTooLarge
        | Code::PolicyViolation
        | Code::InvalidArgument => ProduceError::Record(text(code, topic)),
        Code::Authentication
        | Code::ClusterAuthorizationFailed
        | Code::Fatal
        | Code::Fenced
        | Code::InvalidProducerEpoch
        | Code::InvalidProducerIdMapping
        | Code::OutOfOrderSequenceNumber
        | Code::ProducerFenced
        | Code::SaslAuthenticationFailed
        | Code::TopicAuthorizationFailed
        | Code::TransactionalIdAuthorizationFailed
        | Code::UnsupportedForMessageFormat => ProduceError::Fatal(text(code, topic)),
        _ => ProduceError::Retriable(text(code, topic)),
    }
}

fn text(code: Code, topic: &str) -> String {
    format!("writing to topic `{topic}` failed: {code}")
}
