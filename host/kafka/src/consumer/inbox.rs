//! What stands between a consumer's thread and its task: records and events one way, requests the other.
//!
//! Records of paused partitions are parked, and those of partitions that are sought or revoked are
//! dropped, under the one lock. So a call of the task holds for the very next batch, whatever the
//! thread was about to hand over.

#[cfg(test)]
mod tests;

use std::collections::{HashSet, VecDeque};
use std::fmt;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;

use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_pipeline::ports::{ConsumeError, ConsumerEvent, FetchLimits, Revocation};
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, oneshot};

use super::columns::Columns;
use super::partitions::contains;

/// Batches that are kept ready: one for the task, one that grows meanwhile.
const READY: usize = 2;

#[derive(Default)]
pub(super) struct Shared {
    inbox: Mutex<Inbox>,
    news: Notify,
    owner: OnceLock<Thread>,
}

#[derive(Default)]
pub(super) struct Inbox {
    /// For the thread.
    pub(super) requests: Vec<Request>,
    /// Of the last call; nothing is fetched before there was one.
    limits: Option<FetchLimits>,
    ready: VecDeque<Columns>,
    /// Records of paused partitions that were on their way already.
    parked: Columns,
    paused: HashSet<TopicPartition>,
    /// Partitions whose new position librdkafka doesn't know yet.
    seeking: HashSet<TopicPartition>,
    events: VecDeque<ConsumerEvent>,
    failure: Option<ConsumeError>,
}

/// What only the thread can do.
pub(super) enum Request {
    Seek { offsets: Vec<TopicOffset>, answer: oneshot::Sender<Result<(), ConsumeError>> },
    Pause(Vec<TopicPartition>),
    Resume(Vec<TopicPartition>),
    Close,
}

/// Room for records: a batch to go on with, and its bounds.
pub(super) struct Room {
    pub(super) columns: Columns,
    pub(super) max_records: usize,
    pub(super) max_bytes: usize,
}

impl Room {
    /// For the few records that are still on their way when there is no room.
    pub(super) fn for_rest() -> Self {
        Self { columns: Columns::default(), max_records: usize::MAX, max_bytes: usize::MAX }
    }
}

impl Shared {
    pub(super) fn set_owner(&self, owner: Thread) {
        // There is one owner, set once.
        let _ = self.owner.set(owner);
    }

    /// Makes the thread look again; cheap, and callable from librdkafka's threads.
    pub(super) fn wake_owner(&self) {
        if let Some(owner) = self.owner.get() {
            owner.unpark();
        }
    }

    /// Resolves when there may be something to take.
    pub(super) fn news(&self) -> Notified<'_> {
        self.news.notified()
    }

    /// A change by the task, which the thread is to notice.
    pub(super) fn change(&self, change: impl FnOnce(&mut Inbox)) {
        change(&mut self.lock());
        self.wake_owner();
    }

    /// The next thing for the task, if there is one.
    pub(super) fn take(&self, limits: FetchLimits) -> Option<Result<ConsumerEvent, ConsumeError>> {
        let mut inbox = self.lock();
        let first_call = inbox.limits.replace(limits).is_none();
        let next = inbox.take();
        drop(inbox);
        if first_call || matches!(next, Some(Ok(ConsumerEvent::Records(_)))) {
            self.wake_owner();
        }
        next
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        std::mem::take(&mut self.lock().requests)
    }

    /// A batch to fill, if the task hasn't enough to do. It comes back with [`Self::put`].
    pub(super) fn room(&self, expected: (usize, usize)) -> Option<Room> {
        let mut inbox = self.lock();
        let FetchLimits { max_records, max_bytes, .. } = inbox.limits?;
        let unfinished = |columns: &Columns| columns.count() < max_records && columns.bytes() < max_bytes;
        let columns = if inbox.ready.back().is_some_and(unfinished) {
            inbox.ready.pop_back()?
        } else if inbox.ready.len() < READY {
            Columns::with_capacity(expected.0, expected.1)
        } else {
            return None;
        };
        Some(Room { columns, max_records, max_bytes })
    }

    pub(super) fn put(&self, columns: Columns) {
        if !columns.is_empty() {
            self.lock().put(columns);
            self.news.notify_one();
        }
    }

    pub(super) fn tell(&self, event: ConsumerEvent) {
        self.lock().events.push_back(event);
        self.news.notify_one();
    }

    /// The task's next call fails, after what it has still to get.
    pub(super) fn fail(&self, error: ConsumeError) {
        self.lock().failure.get_or_insert(error);
        self.news.notify_one();
    }

    /// librdkafka knows the new positions.
    pub(super) fn sought(&self, offsets: &[TopicOffset]) {
        let mut inbox = self.lock();
        for offset in offsets {
            inbox.seeking.remove(&offset.partition);
        }
    }

    /// Forgets all about partitions that go.
    pub(super) fn revoke(&self, partitions: &[TopicPartition]) {
        let mut inbox = self.lock();
        let gone: HashSet<_> = partitions.iter().cloned().collect();
        inbox.drop_records(&gone);
        inbox.paused.retain(|partition| !gone.contains(partition));
        inbox.seeking.retain(|partition| !gone.contains(partition));
    }

    /// The task was too slow: what it has not heard of yet is lost.
    pub(super) fn mark_lost(&self) {
        for event in &mut self.lock().events {
            if let ConsumerEvent::Revoked(Revocation { lost, release, .. }) = event {
                *lost = true;
                *release = None;
            }
        }
    }

    pub(super) fn is_paused(&self, partition: &TopicPartition) -> bool {
        self.lock().paused.contains(partition)
    }

    fn lock(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inbox {
    pub(super) fn seek(&mut self, offsets: &[TopicOffset], answer: oneshot::Sender<Result<(), ConsumeError>>) {
        let sought: HashSet<_> = offsets.iter().map(|offset| offset.partition.clone()).collect();
        self.drop_records(&sought);
        self.seeking.extend(sought);
        self.requests.push(Request::Seek { offsets: offsets.to_vec(), answer });
    }

    pub(super) fn pause(&mut self, partitions: &[TopicPartition]) {
        self.paused.extend(partitions.iter().cloned());
        for columns in std::mem::take(&mut self.ready) {
            self.put(columns);
        }
        self.requests.push(Request::Pause(partitions.to_vec()));
    }

    pub(super) fn resume(&mut self, partitions: &[TopicPartition]) {
        let resumed: HashSet<_> = partitions.iter().cloned().collect();
        self.paused.retain(|partition| !resumed.contains(partition));
        let parked = std::mem::take(&mut self.parked);
        let (resumed, parked) = parked.split(|topic, partition| contains(&resumed, topic, partition));
        self.parked = parked;
        if !resumed.is_empty() {
            self.ready.push_front(resumed);
        }
        self.requests.push(Request::Resume(partitions.to_vec()));
    }

    /// Events come first: what they speak of has an effect on the records behind them.
    fn take(&mut self) -> Option<Result<ConsumerEvent, ConsumeError>> {
        if let Some(event) = self.events.pop_front() {
            return Some(Ok(event));
        }
        if let Some(columns) = self.ready.pop_front() {
            return Some(Ok(ConsumerEvent::Records(columns.into_consumed())));
        }
        match &self.failure {
            // A failure that stays is told again.
            Some(ConsumeError::Fatal(_)) => self.failure.clone().map(Err),
            Some(ConsumeError::Retriable(_)) => self.failure.take().map(Err),
            None => None,
        }
    }

    /// Adds a batch behind the others, without what the task doesn't want.
    fn put(&mut self, mut columns: Columns) {
        if !self.seeking.is_empty() {
            columns = columns.split(|topic, partition| contains(&self.seeking, topic, partition)).1;
        }
        if !self.paused.is_empty() {
            let (paused, rest) = columns.split(|topic, partition| contains(&self.paused, topic, partition));
            self.parked.append(&paused);
            columns = rest;
        }
        if !columns.is_empty() {
            self.ready.push_back(columns);
        }
    }

    fn drop_records(&mut self, of: &HashSet<TopicPartition>) {
        let gone = |topic: &str, partition| contains(of, topic, partition);
        self.parked = std::mem::take(&mut self.parked).split(gone).1;
        for columns in std::mem::take(&mut self.ready) {
            let kept = columns.split(gone).1;
            if !kept.is_empty() {
                self.ready.push_back(kept);
            }
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inbox = self.lock();
        f.debug_struct("Shared")
            .field("ready", &inbox.ready.len())
            .field("events", &inbox.events.len())
            .field("failure", &inbox.failure)
            .finish_non_exhaustive()
    }
}
