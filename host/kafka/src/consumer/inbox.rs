//! What stands between a consumer's thread and its task: records and events one way, requests the other.
//!
//! Records of paused partitions are parked, and those of partitions that are sought or revoked are
//! dropped, under the one lock. So a call of the task holds for the very next batch, whatever the
//! thread was about to hand over.

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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::columns::Record;
    use super::*;

    const LIMITS: FetchLimits = FetchLimits { max_records: 10, max_bytes: 1000, max_wait: Duration::ZERO };

    fn batch(records: &[(&str, i64)]) -> Columns {
        let mut columns = Columns::default();
        for (topic, offset) in records {
            columns.push(Record {
                topic,
                partition: 0,
                offset: *offset,
                timestamp: 0,
                timestamp_type: 1,
                key: None,
                value: Some(b"v"),
                headers: std::iter::empty(),
            });
        }
        columns
    }

    /// What the task gets next, as text.
    fn next(shared: &Shared) -> String {
        match shared.take(LIMITS) {
            None => "nothing".to_owned(),
            Some(Err(error)) => error.to_string(),
            Some(Ok(ConsumerEvent::Records(records))) => {
                let offsets = records.topic.iter().zip(&records.offset);
                let texts: Vec<_> =
                    offsets.map(|(topic, offset)| format!("{}@{offset}", records.topics[*topic as usize])).collect();
                texts.join(" ")
            }
            Some(Ok(event)) => format!("{event:?}"),
        }
    }

    #[test]
    fn records_of_a_paused_partition_wait_for_its_resumption() {
        let shared = Shared::default();
        shared.put(batch(&[("a", 0), ("b", 0)]));
        shared.change(|inbox| inbox.pause(&[TopicPartition::new("a", 0)]));
        shared.put(batch(&[("a", 1), ("b", 1)]));
        assert_eq!(next(&shared), "b@0");
        assert_eq!(next(&shared), "b@1");
        assert_eq!(next(&shared), "nothing");
        shared.put(batch(&[("b", 2)]));
        shared.change(|inbox| inbox.resume(&[TopicPartition::new("a", 0)]));
        assert_eq!(next(&shared), "a@0 a@1");
        assert_eq!(next(&shared), "b@2");
    }

    #[test]
    fn no_record_from_before_a_seek_comes_after_it() {
        let shared = Shared::default();
        let target = TopicOffset { partition: TopicPartition::new("a", 0), offset: 7 };
        shared.put(batch(&[("a", 0), ("b", 0)]));
        let (answer, _answered) = oneshot::channel();
        shared.change(|inbox| inbox.seek(std::slice::from_ref(&target), answer));
        shared.put(batch(&[("a", 1)]));
        shared.sought(&[target]);
        shared.put(batch(&[("a", 7)]));
        assert_eq!(next(&shared), "b@0");
        assert_eq!(next(&shared), "a@7");
    }

    #[test]
    fn records_of_revoked_partitions_are_dropped_parked_or_not() {
        let shared = Shared::default();
        let partition = TopicPartition::new("a", 0);
        shared.put(batch(&[("a", 0), ("b", 0)]));
        shared.change(|inbox| inbox.pause(std::slice::from_ref(&partition)));
        shared.revoke(std::slice::from_ref(&partition));
        shared.change(|inbox| inbox.resume(std::slice::from_ref(&partition)));
        assert_eq!(next(&shared), "b@0");
        assert_eq!(next(&shared), "nothing");
    }

    #[test]
    fn two_batches_are_kept_and_the_last_one_grows() {
        let shared = Shared::default();
        assert!(shared.room((0, 0)).is_none(), "nothing is fetched before the first call");
        assert_eq!(next(&shared), "nothing");
        let full: Vec<_> = (0..10).map(|offset| ("a", offset)).collect();
        shared.put(batch(&full));
        shared.put(batch(&[("a", 10)]));
        assert_eq!(shared.room((0, 0)).map(|room| room.columns.count()), Some(1));
        shared.put(batch(&full));
        assert!(shared.room((0, 0)).is_none());
    }

    #[test]
    fn a_fatal_failure_is_told_after_the_records_and_again() {
        let shared = Shared::default();
        shared.put(batch(&[("a", 0)]));
        shared.fail(ConsumeError::Fatal("over".to_owned()));
        assert_eq!(next(&shared), "a@0");
        assert_eq!(next(&shared), "over");
        assert_eq!(next(&shared), "over");
    }
}
