//! What librdkafka's errors mean for a sink task.

use bulkhead_pipeline::ports::ConsumeError;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

/// What to do about an error that came up while fetching.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The client sees to it; only worth a line in the log.
    Passing,
    Tell(ConsumeError),
}

/// Judges an error of the consumer's queue; `reason` is librdkafka's sentence about it.
pub(super) fn of_fetch(error: &KafkaError, reason: &str) -> Verdict {
    let text = format!("consuming failed: {reason}");
    let code = match error {
        KafkaError::MessageConsumption(code) => *code,
        KafkaError::MessageConsumptionFatal(_) => return Verdict::Tell(ConsumeError::Fatal(text)),
        _ => return Verdict::Tell(ConsumeError::Retriable(text)),
    };
    match code {
        // Connections come and go, topics may be made later; after being away too long from polling the
        // member joins anew.
        Code::AllBrokersDown
        | Code::BrokerTransportFailure
        | Code::OperationTimedOut
        | Code::PartitionEOF
        | Code::PollExceeded
        | Code::Resolve
        | Code::UnknownPartition
        | Code::UnknownTopic
        | Code::UnknownTopicOrPartition => Verdict::Passing,
        Code::Authentication
        | Code::AutoOffsetReset
        | Code::ClusterAuthorizationFailed
        | Code::Fatal
        | Code::FencedInstanceId
        | Code::GroupAuthorizationFailed
        | Code::InconsistentGroupProtocol
        | Code::InvalidGroupId
        | Code::InvalidSessionTimeout
        | Code::InvalidTopic
        | Code::SaslAuthenticationFailed
        | Code::TopicAuthorizationFailed => Verdict::Tell(ConsumeError::Fatal(text)),
        _ => Verdict::Tell(ConsumeError::Retriable(text)),
    }
}

pub(super) fn of_commit(error: &KafkaError) -> ConsumeError {
    let text = format!("committing offsets failed: {error}");
    match error.rdkafka_error_code() {
        Some(
            Code::FencedInstanceId
            | Code::GroupAuthorizationFailed
            | Code::InvalidCommitOffsetSize
            | Code::OffsetMetadataTooLarge
            | Code::TopicAuthorizationFailed,
        ) => ConsumeError::Fatal(text),
        _ => ConsumeError::Retriable(text),
    }
}

pub(super) fn of_pausing(error: &KafkaError) -> ConsumeError {
    ConsumeError::Retriable(format!("partitions could not be paused or resumed: {error}"))
}

/// The consumer's thread has ended.
pub(super) fn closed() -> ConsumeError {
    ConsumeError::Fatal("the consumer has been closed".to_owned())
}
