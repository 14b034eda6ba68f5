//! What librdkafka tells a follower, and what its errors mean.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};

use crate::context;

#[derive(Default)]
pub(super) struct Context {
    /// Counts callbacks, by which a poll that served one is told from a poll that found nothing.
    served: AtomicU64,
    /// librdkafka's sentence about the error it reported last.
    reason: Mutex<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The client sees to it.
    Passing,
    /// Somebody else has to do something.
    Stuck,
}

impl Context {
    pub(super) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    pub(super) fn judge(&self, error: &KafkaError) -> (Verdict, String) {
        let reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reason = if reason.is_empty() { error.to_string() } else { reason };
        (verdict(error), reason)
    }

    fn count(&self) {
        self.served.fetch_add(1, Ordering::Relaxed);
    }
}

/// Connections come and go, and the group, of which the consumer is no member, is of no matter.
fn verdict(error: &KafkaError) -> Verdict {
    match error.rdkafka_error_code() {
        Some(
            Code::AllBrokersDown
            | Code::BrokerTransportFailure
            | Code::GroupAuthorizationFailed
            | Code::OperationTimedOut
            | Code::PartitionEOF
            | Code::Resolve,
        ) => Verdict::Passing,
        Some(_) | None => Verdict::Stuck,
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        self.count();
        context::log(level, facility, line);
    }

    fn stats_raw(&self, _statistics: &[u8]) {
        self.count();
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.count();
        context::client_error(&error, reason);
        reason.clone_into(&mut self.reason.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl ConsumerContext for Context {}
