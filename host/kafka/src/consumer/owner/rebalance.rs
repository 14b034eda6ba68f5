//! Partitions come and go: the task hears of it, and before they go it may commit.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as TaskContext, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use bulkhead_pipeline::ports::{ConsumeError, ConsumerEvent, Revocation};
use rdkafka::TopicPartitionList;
use rdkafka::consumer::Consumer;
use tokio::sync::oneshot;

use super::super::beginning;
use super::super::context::{self, Rebalance};
use super::{Owner, Turn, partitions};

/// How long a task may take to commit, unless `max.poll.interval.ms` is short: the thread doesn't poll
/// meanwhile.
const RELEASE_WAIT: Duration = Duration::from_secs(60);

/// Partitions that go as soon as the task lets them.
pub(super) struct Revoking {
    partitions: TopicPartitionList,
    release: oneshot::Receiver<()>,
    deadline: Instant,
}

pub(super) fn release_wait(max_poll_interval: Option<Duration>) -> Duration {
    max_poll_interval.map_or(RELEASE_WAIT, |interval| RELEASE_WAIT.min(interval / 2))
}

impl Owner {
    pub(super) fn rebalance(&mut self, rebalance: Rebalance) {
        match rebalance {
            Rebalance::Assign(partitions) => self.assign(&partitions),
            Rebalance::Revoke(partitions) => self.revoke(partitions),
        }
    }

    fn assign(&mut self, list: &TopicPartitionList) {
        let begun = if self.earliest { beginning::of(&self.consumer, list) } else { None };
        if let Err(error) = context::assign(&self.consumer, begun.as_ref().unwrap_or(list)) {
            let text = format!("partitions could not be taken: {error}");
            self.shared.fail(ConsumeError::Retriable(text));
            return;
        }
        let assigned = partitions::of(list);
        tracing::info!(partitions = assigned.len(), "Partitions assigned.");
        self.assigned.extend(assigned.iter().cloned());
        if self.held {
            self.pause(&assigned);
        }
        if !assigned.is_empty() {
            self.shared.tell(ConsumerEvent::Assigned(assigned));
        }
    }

    fn revoke(&mut self, list: TopicPartitionList) {
        let revoked = partitions::of(&list);
        let lost = self.consumer.assignment_lost();
        tracing::info!(partitions = revoked.len(), lost, "Partitions revoked.");
        self.shared.revoke(&revoked);
        if revoked.is_empty() {
            return self.let_go(&list);
        }
        let (release, released) = oneshot::channel();
        if lost {
            self.let_go(&list);
        } else {
            self.revoking =
                Some(Revoking { partitions: list, release: released, deadline: Instant::now() + self.release_wait });
        }
        self.shared.tell(ConsumerEvent::Revoked(Revocation {
            partitions: revoked,
            lost,
            release: (!lost).then_some(release),
        }));
    }

    /// Partitions go when the task has let them, or has had time enough.
    pub(super) fn await_release(&mut self) -> Turn {
        let Some(mut revoking) = self.revoking.take() else {
            return Turn::Again;
        };
        let waker = Waker::from(Arc::new(Unpark(thread::current())));
        let released = Pin::new(&mut revoking.release).poll(&mut TaskContext::from_waker(&waker));
        let left = revoking.deadline.saturating_duration_since(Instant::now());
        if released == Poll::Pending && !left.is_zero() {
            self.revoking = Some(revoking);
            return Turn::Rest(self.seeks.rest().unwrap_or(left).min(left));
        }
        if left.is_zero() {
            tracing::warn!("Partitions go before the task has committed: it took too long.");
            self.shared.mark_lost();
        }
        self.let_go(&revoking.partitions);
        Turn::Again
    }

    /// A partition that comes back later isn't paused any more.
    fn let_go(&mut self, list: &TopicPartitionList) {
        let gone = partitions::of(list);
        if let Err(error) = self.consumer.resume(list) {
            tracing::debug!(%error, "Revoked partitions could not be resumed.");
        }
        if let Err(error) = context::unassign(&self.consumer, list) {
            let text = format!("partitions could not be given up: {error}");
            self.shared.fail(ConsumeError::Retriable(text));
        }
        for partition in &gone {
            self.assigned.remove(partition);
        }
    }
}

/// Wakes the owner's thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}
