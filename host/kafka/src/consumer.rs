//! Consuming: each sink task is one member of its connector's group.
//!
//! A member has a thread of its own ([`owner`]) which alone calls librdkafka's queue: it fetches ahead,
//! answers rebalances and keeps the membership alive while a guest takes its time. The task holds a
//! [`SinkConsumer`]; between the two stands the [`inbox`]. Records are copied once, from librdkafka's
//! buffers into the columns that the pipeline takes ([`columns`]).

mod beginning;
mod columns;
mod context;
mod failure;
mod inbox;
mod owner;
mod partitions;
mod seeks;
mod subscription;

use std::sync::{Arc, Weak};
use std::time::Duration;

use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_model::{RawConfig, TaskId};
use bulkhead_pipeline::ports::{ClientError, ConsumeError, Consumer, ConsumerEvent, FetchLimits};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::properties::Effective;
use context::Context;
use inbox::{Inbox, Request, Shared};
pub(crate) use subscription::is_pattern;

/// A sink task's member of its group.
#[derive(Debug)]
pub struct SinkConsumer {
    shared: Arc<Shared>,
    consumer: Client,
    /// At most so many records at a time, whatever the pipeline would take: `max.poll.records`.
    max_records: usize,
    /// Closed when the member has left.
    ended: oneshot::Receiver<()>,
}

/// `max.poll.records` of those who don't set it: no bound of ours, the pipeline has its own.
const MAX_POLL_RECORDS: usize = usize::MAX;

/// How long `close` waits for the member to have left; it goes on leaving afterwards.
const LEAVE_WAIT: Duration = Duration::from_secs(5);

/// librdkafka's consumer, for commits beside the owner's thread. Dropping one takes its time, so that
/// is left to the owner.
#[derive(Clone)]
struct Client(Weak<BaseConsumer<Context>>);

impl SinkConsumer {
    /// Joins the group, without waiting for it.
    pub(crate) fn join(task: &TaskId, connector: &RawConfig, properties: &Effective) -> Result<Self, ClientError> {
        let max_records = properties.our_number("max.poll.records", MAX_POLL_RECORDS)?;
        let topics = subscription::topics(connector)?;
        let consumer: BaseConsumer<Context> = properties
            .client_config()
            .create_with_context(Context::default())
            .map_err(|error| ClientError(format!("no consumer could be made: {error}")))?;
        let names: Vec<_> = topics.iter().map(String::as_str).collect();
        consumer
            .subscribe(&names)
            .map_err(|error| ClientError(format!("topics could not be subscribed to: {error}")))?;
        let max_poll_interval = properties.get("max.poll.interval.ms").and_then(|text| text.parse().ok());
        let earliest = beginning::is_earliest(properties);
        let (shared, consumer, ended) =
            owner::start(task, consumer, max_poll_interval.map(Duration::from_millis), earliest)
                .map_err(|error| ClientError(format!("no thread could be started for a consumer: {error}")))?;
        Ok(Self { shared, consumer: Client(consumer), max_records, ended })
    }

    fn bounded(&self, limits: FetchLimits) -> FetchLimits {
        FetchLimits { max_records: limits.max_records.clamp(1, self.max_records), ..limits }
    }
}

impl Consumer for SinkConsumer {
    async fn next(&mut self, limits: FetchLimits) -> Result<ConsumerEvent, ConsumeError> {
        let deadline = Instant::now() + limits.max_wait;
        let limits = self.bounded(limits);
        loop {
            // Made before the look, so that nothing that comes after it is missed.
            let news = self.shared.news();
            if let Some(next) = self.shared.take(limits) {
                return next;
            }
            if tokio::time::timeout_at(deadline, news).await.is_err() {
                return Ok(ConsumerEvent::Idle);
            }
        }
    }

    async fn commit(&mut self, offsets: Vec<TopicOffset>) -> Result<(), ConsumeError> {
        let list = partitions::offsets(&offsets)?;
        let Client(consumer) = self.consumer.clone();
        let commit = move || {
            let consumer = consumer.upgrade().ok_or_else(failure::closed)?;
            consumer.commit(&list, CommitMode::Sync).map_err(|error| failure::of_commit(&error))
        };
        let committed = tokio::task::spawn_blocking(commit).await;
        committed.unwrap_or_else(|error| Err(ConsumeError::Fatal(format!("a commit of offsets broke off: {error}"))))
    }

    async fn seek(&mut self, offsets: &[TopicOffset]) -> Result<(), ConsumeError> {
        let (answer, answered) = oneshot::channel();
        self.shared.change(|inbox: &mut Inbox| inbox.seek(offsets, answer));
        answered.await.unwrap_or_else(|_| Err(failure::closed()))
    }

    fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), ConsumeError> {
        self.shared.change(|inbox| inbox.pause(partitions));
        Ok(())
    }

    fn resume(&mut self, partitions: &[TopicPartition]) -> Result<(), ConsumeError> {
        self.shared.change(|inbox| inbox.resume(partitions));
        Ok(())
    }

    async fn close(mut self) {
        self.shared.change(|inbox| inbox.requests.push(Request::Close));
        if tokio::time::timeout(LEAVE_WAIT, &mut self.ended).await.is_err() {
            tracing::warn!("A consumer is slow to leave its group; its partitions stay with it until then.");
        }
    }
}

impl Drop for SinkConsumer {
    fn drop(&mut self) {
        self.shared.change(|inbox| inbox.requests.push(Request::Close));
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Client")
    }
}
