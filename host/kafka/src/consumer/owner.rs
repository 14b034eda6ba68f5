//! The thread that owns a consumer's queue.
//!
//! It sleeps until librdkafka has something or the task wants something. While the task is slow it
//! holds: all partitions are paused, so that polling, on which the membership depends, can go on
//! without fetching more than there is room for.

mod rebalance;

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use bulkhead_model::TaskId;
use bulkhead_model::offset::TopicPartition;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::BorrowedMessage;
use tokio::sync::oneshot;

use super::columns;
use super::context::Context;
use super::failure::{self, Verdict};
use super::inbox::{Request, Room, Shared};
use super::partitions;
use super::seeks::Seeks;
use rebalance::Revoking;

/// Longest sleep. Nothing waits for it; it bounds the time between two polls of an idle consumer.
const REST: Duration = Duration::from_secs(1);

/// How long there may be no room before fetching is paused. Pausing throws the prefetch away, so it
/// isn't done for a task that is only a bit slower than Kafka.
const HOLD_AFTER: Duration = Duration::from_secs(1);

/// How long a leaving consumer is served before the next look whether it has left.
const LEAVING: Duration = Duration::from_millis(2);

struct Owner {
    consumer: Arc<BaseConsumer<Context>>,
    shared: Arc<Shared>,
    assigned: HashSet<TopicPartition>,
    revoking: Option<Revoking>,
    /// Partitions that the group has no offset of begin at their first record.
    earliest: bool,
    /// How long a task may take to commit before its revoked partitions go without it.
    release_wait: Duration,
    seeks: Seeks,
    /// Since when there was no room.
    full_since: Option<Instant>,
    /// All partitions are paused.
    held: bool,
    /// Records and bytes of the last batch, as a guess for the next.
    last_batch: (usize, usize),
    /// Errors that passed are logged once until something is consumed again.
    last_reason: String,
}

/// What comes after a turn.
enum Turn {
    Again,
    Rest(Duration),
    Close,
}

/// What filling a batch ended with.
enum Filled {
    /// librdkafka has nothing more.
    Dry,
    /// There may be more: the batch is full, or something came up that has to be seen to.
    Interrupted,
}

/// Ways to a started consumer. The receiver is closed when the consumer has left its group.
pub(super) type Started = (Arc<Shared>, Weak<BaseConsumer<Context>>, oneshot::Receiver<()>);

/// Starts the thread.
pub(super) fn start(
    task: &TaskId,
    mut consumer: BaseConsumer<Context>,
    max_poll_interval: Option<Duration>,
    earliest: bool,
) -> io::Result<Started> {
    let shared = Arc::new(Shared::default());
    let woken = Arc::clone(&shared);
    consumer.set_nonempty_callback(move || woken.wake_owner());
    let consumer = Arc::new(consumer);
    let weak = Arc::downgrade(&consumer);
    let owner = Owner {
        consumer,
        shared: Arc::clone(&shared),
        assigned: HashSet::new(),
        revoking: None,
        earliest,
        release_wait: rebalance::release_wait(max_poll_interval),
        seeks: Seeks::default(),
        full_since: None,
        held: false,
        last_batch: (0, 0),
        last_reason: String::new(),
    };
    let (running, ended) = oneshot::channel();
    let span = tracing::info_span!("consumer", connector = %task.connector, task = task.number);
    thread::Builder::new().name(format!("sink {task}")).spawn(move || {
        let _entered = span.entered();
        let _running = running;
        let _end = End(Arc::clone(&owner.shared));
        owner.shared.set_owner(thread::current());
        owner.run();
    })?;
    Ok((shared, weak, ended))
}

/// Whatever ends the thread, the task hears of it.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.fail(failure::closed());
    }
}

impl Owner {
    fn run(mut self) {
        loop {
            match self.turn() {
                Turn::Again => {}
                Turn::Rest(longest) => thread::park_timeout(longest),
                Turn::Close => break,
            }
        }
        self.leave();
    }

    /// Does what can be done now.
    fn turn(&mut self) -> Turn {
        for request in self.shared.requests() {
            match request {
                Request::Seek { offsets, answer } => self.seeks.begin(offsets, answer),
                Request::Pause(partitions) => self.pause(&partitions),
                Request::Resume(partitions) => self.resume(&partitions),
                Request::Close => return Turn::Close,
            }
        }
        self.seeks.go_on(&self.consumer, &self.assigned, &self.shared);
        if self.revoking.is_some() {
            return self.await_release();
        }
        let turn = self.fetch();
        if let Some(rebalance) = self.consumer.context().next_rebalance() {
            self.rebalance(rebalance);
            return Turn::Again;
        }
        turn
    }

    fn fetch(&mut self) -> Turn {
        let Some(room) = self.shared.room(self.last_batch) else {
            return self.no_room();
        };
        self.full_since = None;
        if self.held {
            self.held = false;
            let partitions: Vec<_> = self.assigned.iter().cloned().collect();
            self.resume(&partitions);
        }
        match self.fill(room) {
            Filled::Dry => Turn::Rest(self.seeks.rest().unwrap_or(REST)),
            Filled::Interrupted => Turn::Again,
        }
    }

    /// The task is slow: after a while, fetching stops and only events are served.
    fn no_room(&mut self) -> Turn {
        let since = *self.full_since.get_or_insert_with(Instant::now);
        if !self.held && since.elapsed() < HOLD_AFTER {
            return Turn::Rest(HOLD_AFTER);
        }
        if !self.held {
            self.held = true;
            self.hold();
        }
        // What had left librdkafka's queue before the pause is kept: a few records at most.
        match self.fill(Room::for_rest()) {
            Filled::Dry => Turn::Rest(REST),
            Filled::Interrupted => Turn::Again,
        }
    }

    /// Copies messages into a batch until it is full, there are no more, or partitions change.
    fn fill(&mut self, room: Room) -> Filled {
        let Room { mut columns, max_records, max_bytes } = room;
        let consumer = Arc::clone(&self.consumer);
        let filled = loop {
            let served = consumer.context().served();
            match consumer.poll(Duration::ZERO) {
                Some(Ok(message)) => {
                    if !columns.is_empty() && columns.bytes() + size(&message) > max_bytes {
                        self.shared.put(std::mem::take(&mut columns));
                    }
                    match columns::record(&message) {
                        Ok(record) => columns.push(record),
                        Err(error) => self.shared.fail(error),
                    }
                }
                Some(Err(error)) => self.judge(&error),
                // Serving an event answers with nothing as well.
                None if consumer.context().served() == served => break Filled::Dry,
                None => {}
            }
            if columns.count() >= max_records || columns.bytes() >= max_bytes || consumer.context().rebalance_due() {
                break Filled::Interrupted;
            }
        };
        if !columns.is_empty() {
            self.last_batch = (columns.count(), columns.bytes());
            self.last_reason.clear();
        }
        self.shared.put(columns);
        filled
    }

    fn judge(&mut self, error: &KafkaError) {
        let reason = self.consumer.context().reason();
        match failure::of_fetch(error, &reason) {
            Verdict::Tell(error) => self.shared.fail(error),
            Verdict::Passing if self.last_reason == reason => {}
            Verdict::Passing => {
                tracing::warn!("Consuming is held up: {reason}");
                self.last_reason = reason;
            }
        }
    }

    fn pause(&self, partitions: &[TopicPartition]) {
        let ours = partitions.iter().filter(|partition| self.assigned.contains(partition));
        if let Err(error) = self.consumer.pause(&partitions::list(ours)) {
            self.shared.fail(failure::of_pausing(&error));
        }
    }

    /// Lets partitions go on that neither the task nor a lack of room keeps paused.
    fn resume(&self, partitions: &[TopicPartition]) {
        if self.held {
            return;
        }
        let resumed = partitions
            .iter()
            .filter(|partition| self.assigned.contains(partition) && !self.shared.is_paused(partition));
        if let Err(error) = self.consumer.resume(&partitions::list(resumed)) {
            self.shared.fail(failure::of_pausing(&error));
        }
    }

    fn hold(&self) {
        let partitions: Vec<_> = self.assigned.iter().cloned().collect();
        self.pause(&partitions);
    }

    /// Leaves the group. Dropping the consumer would do it too, but looks only ten times a second whether it is done.
    fn leave(self) {
        self.consumer.context().close();
        let rebalancing = self.revoking.is_some() || self.consumer.context().rebalance_due();
        if rebalancing && let Err(error) = self.consumer.unassign() {
            tracing::debug!(%error, "Partitions could not be given up on leaving the group.");
        }
        if let Err(error) = self.consumer.close_queue() {
            return tracing::debug!(%error, "A consumer could not take leave of its group.");
        }
        while !self.consumer.closed() {
            // What still comes is nobody's any more.
            let _record = self.consumer.poll(LEAVING);
        }
    }
}

fn size(message: &BorrowedMessage<'_>) -> usize {
    message.key_len() + message.payload_len()
}
