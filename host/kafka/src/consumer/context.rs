//! What librdkafka tells a consumer while its queue is polled.
//!
//! Partitions are not taken or given up inside the callback: the change is put down here, and the
//! owner acts on it after the poll, where it can wait for the task without holding librdkafka up.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rdkafka::TopicPartitionList;
use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, Consumer, ConsumerContext, RebalanceProtocol};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::types::RDKafkaRespErr;

use crate::context;

#[derive(Default)]
pub(super) struct Context {
    rebalances: Mutex<VecDeque<Rebalance>>,
    /// librdkafka's sentence about the error it reported last.
    reason: Mutex<String>,
    /// Nobody is asked any more before partitions go.
    closing: AtomicBool,
    /// Counts callbacks, by which a poll that served one is told from a poll that found nothing.
    served: AtomicU64,
}

/// A change of the assignment, to be carried out.
pub(super) enum Rebalance {
    Assign(TopicPartitionList),
    Revoke(TopicPartitionList),
}

impl Context {
    pub(super) fn next_rebalance(&self) -> Option<Rebalance> {
        lock(&self.rebalances).pop_front()
    }

    pub(super) fn rebalance_due(&self) -> bool {
        !lock(&self.rebalances).is_empty()
    }

    pub(super) fn reason(&self) -> String {
        lock(&self.reason).clone()
    }

    pub(super) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Release);
    }

    fn count(&self) {
        self.served.fetch_add(1, Ordering::Relaxed);
    }
}

/// Takes the partitions of an assignment.
pub(super) fn assign(consumer: &BaseConsumer<Context>, partitions: &TopicPartitionList) -> KafkaResult<()> {
    match consumer.rebalance_protocol() {
        RebalanceProtocol::Cooperative => consumer.incremental_assign(partitions),
        RebalanceProtocol::Eager | RebalanceProtocol::None => consumer.assign(partitions),
    }
}

/// Lets the partitions of a revocation go.
pub(super) fn unassign(consumer: &BaseConsumer<Context>, partitions: &TopicPartitionList) -> KafkaResult<()> {
    match consumer.rebalance_protocol() {
        RebalanceProtocol::Cooperative => consumer.incremental_unassign(partitions),
        RebalanceProtocol::Eager | RebalanceProtocol::None => consumer.unassign(),
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        self.count();
        context::log(level, facility, line);
    }

    /// Nobody asked for statistics; who sets `statistics.interval.ms` finds them in the log.
    fn stats_raw(&self, statistics: &[u8]) {
        self.count();
        tracing::debug!(target: "kafka", statistics = %String::from_utf8_lossy(statistics));
    }

    fn error(&self, error: KafkaError, reason: &str) {
        self.count();
        context::client_error(&error, reason);
        reason.clone_into(&mut lock(&self.reason));
    }
}

impl ConsumerContext for Context {
    fn commit_callback(&self, _result: KafkaResult<()>, _offsets: &TopicPartitionList) {
        self.count();
    }

    fn rebalance(&self, consumer: &BaseConsumer<Self>, kind: RDKafkaRespErr, partitions: &mut TopicPartitionList) {
        self.count();
        if self.closing.load(Ordering::Acquire) {
            if let Err(error) = unassign(consumer, partitions) {
                tracing::warn!(%error, "Partitions could not be given up on leaving the group.");
            }
            return;
        }
        let rebalance = match kind {
            RDKafkaRespErr::RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS => Rebalance::Assign(partitions.clone()),
            _ => Rebalance::Revoke(partitions.clone()),
        };
        lock(&self.rebalances).push_back(rebalance);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
