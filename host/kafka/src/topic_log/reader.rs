//! The thread that follows a topic: all partitions, from their beginning.

mod context;

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender as Inbox, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{self, Thread};
use std::time::Duration;

use bytes::Bytes;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::KafkaError;
use rdkafka::message::{BorrowedMessage, Message};
use rdkafka::{Offset, TopicPartitionList};

use super::events::{Closed, Closing, Sender};
use super::{Isolation, LogEvent, LogRecord, LogSettings, OpenError};
use crate::admin::Bounds;
use crate::properties::Role;
use context::{Context, Verdict};

/// Longest sleep; nothing waits for it.
const REST: Duration = Duration::from_secs(1);

/// Records between two looks at what else there is to do.
const BURST: usize = 500;

/// Ends the thread when dropped.
pub(super) struct Reader {
    commands: Commands,
    closing: Arc<Closing>,
}

/// Where a topic ends, and who wants to be told when all before it was handed out.
pub(super) struct Command {
    pub(super) tokens: Vec<u64>,
    pub(super) bounds: Result<Vec<Bounds>, String>,
}

/// The way to the thread.
#[derive(Clone)]
pub(super) struct Commands {
    inbox: Inbox<Command>,
    waker: Arc<Waker>,
}

/// Wakes the thread once it has begun.
#[derive(Default)]
struct Waker(OnceLock<Thread>);

/// The thread's own.
struct Follower {
    consumer: BaseConsumer<Context>,
    topic: Arc<str>,
    commands: Receiver<Command>,
    events: Sender,
    /// Offset of the next record, of each partition that is followed.
    positions: HashMap<i32, i64>,
    waiting: Vec<Waiting>,
    last_reason: String,
}

/// Tokens, and the partitions that haven't reached the end that was asked for.
struct Waiting {
    tokens: Vec<u64>,
    ends: HashMap<i32, i64>,
}

impl Reader {
    pub(super) fn start(
        settings: &LogSettings,
        topic: Arc<str>,
        partitions: &[Bounds],
        events: Sender,
    ) -> Result<Self, OpenError> {
        let failed = |reason: &dyn std::fmt::Display| OpenError::client(&topic, reason);
        let mut consumer = consumer(settings)?;
        let waker = Arc::new(Waker::default());
        let woken = Arc::clone(&waker);
        consumer.set_nonempty_callback(move || woken.wake());
        let (inbox, commands) = channel();
        let closing = events.closing();
        let mut follower = Follower {
            consumer,
            topic: Arc::clone(&topic),
            commands,
            events,
            positions: HashMap::new(),
            waiting: Vec::new(),
            last_reason: String::new(),
        };
        follower.follow(partitions).map_err(|error| failed(&error))?;
        let started = Arc::clone(&waker);
        let span = tracing::info_span!("log", topic = %topic);
        let run = move || {
            let _entered = span.entered();
            // Whoever is told to begin is told once.
            let _ = started.0.set(thread::current());
            follower.run();
        };
        thread::Builder::new().name("kafka-log".to_owned()).spawn(run).map_err(|error| failed(&error))?;
        Ok(Self { commands: Commands { inbox, waker }, closing })
    }

    pub(super) fn commands(&self) -> Commands {
        self.commands.clone()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.closing.close();
        self.commands.waker.wake();
    }
}

impl Commands {
    pub(super) fn send(&self, command: Command) -> Result<(), Closed> {
        let sent = self.inbox.send(command).map_err(|_| Closed);
        self.waker.wake();
        sent
    }
}

impl Waker {
    fn wake(&self) {
        if let Some(thread) = self.0.get() {
            thread.unpark();
        }
    }
}

/// librdkafka assigns partitions only to a consumer with a group. This one never joins it.
fn consumer(settings: &LogSettings) -> Result<BaseConsumer<Context>, OpenError> {
    let wrong = |error| OpenError::properties(&settings.topic, &error);
    let mut properties = settings.clients.internal(Role::Consumer).map_err(wrong)?;
    properties.force("client.id", &settings.client_id);
    let group = settings.clients.worker().get("group.id").unwrap_or(&settings.client_id);
    properties.force("group.id", group);
    properties.force("auto.offset.reset", "earliest");
    properties.force("allow.auto.create.topics", "false");
    properties.force(
        "isolation.level",
        match settings.isolation {
            Isolation::ReadUncommitted => "read_uncommitted",
            Isolation::ReadCommitted => "read_committed",
        },
    );
    let made = properties.client_config().create_with_context(Context::default());
    made.map_err(|error| OpenError::client(&settings.topic, error))
}

impl Follower {
    fn run(mut self) {
        while self.turn().is_ok() {}
    }

    fn turn(&mut self) -> Result<(), Closed> {
        if self.events.is_closed() {
            return Err(Closed);
        }
        while let Ok(command) = self.commands.try_recv() {
            self.take(command)?;
        }
        let dry = self.read()?;
        self.settle()?;
        if dry {
            thread::park_timeout(REST);
        }
        Ok(())
    }

    fn take(&mut self, Command { tokens, bounds }: Command) -> Result<(), Closed> {
        let bounds = match bounds {
            Ok(bounds) => bounds,
            Err(reason) => return self.answer(&tokens, &Err(reason)),
        };
        if let Err(error) = self.follow(&bounds) {
            return self.answer(&tokens, &Err(format!("new partitions can't be followed: {error}")));
        }
        let filled = bounds.into_iter().filter(|bounds| bounds.begin < bounds.end);
        let ends = filled.map(|bounds| (bounds.partition, bounds.end)).collect();
        self.waiting.push(Waiting { tokens, ends });
        Ok(())
    }

    /// Begins with those of the partitions that aren't followed yet. At a known offset, as looking the
    /// beginning up takes librdkafka half a second more.
    fn follow(&mut self, partitions: &[Bounds]) -> Result<(), KafkaError> {
        let new = partitions.iter().filter(|bounds| !self.positions.contains_key(&bounds.partition));
        let new: Vec<_> = new.map(|bounds| (bounds.partition, bounds.begin)).collect();
        if new.is_empty() {
            return Ok(());
        }
        let mut list = TopicPartitionList::with_capacity(new.len());
        for (partition, begin) in &new {
            list.add_partition_offset(&self.topic, *partition, Offset::Offset(*begin))?;
        }
        self.consumer.incremental_assign(&list)?;
        self.positions.extend(new);
        Ok(())
    }

    /// Hands records out; says whether there are no more for now.
    fn read(&mut self) -> Result<bool, Closed> {
        for _ in 0..BURST {
            let served = self.consumer.context().served();
            let reason = match self.consumer.poll(Duration::ZERO) {
                Some(Ok(message)) => {
                    let record = record(&self.topic, &message);
                    self.positions.insert(record.partition, record.offset + 1);
                    self.events.send(LogEvent::Record(record))?;
                    continue;
                }
                Some(Err(error)) => self.judge(&error),
                // Serving a callback answers with nothing as well.
                None if self.consumer.context().served() == served => return Ok(true),
                None => None,
            };
            if let Some(reason) = reason {
                self.fail(&reason)?;
            }
        }
        Ok(false)
    }

    /// What kept the reader from going on for good.
    fn judge(&mut self, error: &KafkaError) -> Option<String> {
        let (verdict, reason) = self.consumer.context().judge(error);
        if self.last_reason != reason {
            tracing::warn!("Following the topic is held up: {reason}");
            self.last_reason.clone_from(&reason);
        }
        match verdict {
            Verdict::Passing => None,
            Verdict::Stuck => Some(reason),
        }
    }

    fn fail(&mut self, reason: &str) -> Result<(), Closed> {
        for waiting in std::mem::take(&mut self.waiting) {
            self.answer(&waiting.tokens, &Err(reason.to_owned()))?;
        }
        Ok(())
    }

    /// Tells those whose end has been reached.
    fn settle(&mut self) -> Result<(), Closed> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        self.advance();
        let (positions, mut reached) = (&self.positions, Vec::new());
        self.waiting.retain_mut(|waiting| {
            waiting.ends.retain(|partition, end| positions.get(partition).is_none_or(|position| position < end));
            if waiting.ends.is_empty() {
                reached.append(&mut waiting.tokens);
            }
            !waiting.ends.is_empty()
        });
        self.answer(&reached, &Ok(()))
    }

    /// Offsets without a record, as transactions leave behind, move only the consumer's own position.
    fn advance(&mut self) {
        let Ok(list) = self.consumer.position() else { return };
        for element in list.elements() {
            if let (Offset::Offset(offset), Some(position)) =
                (element.offset(), self.positions.get_mut(&element.partition()))
            {
                *position = offset.max(*position);
            }
        }
    }

    fn answer(&self, tokens: &[u64], outcome: &Result<(), String>) -> Result<(), Closed> {
        for token in tokens {
            self.events.send(LogEvent::ReadToEnd { token: *token, outcome: outcome.clone() })?;
        }
        Ok(())
    }
}

fn record(topic: &Arc<str>, message: &BorrowedMessage<'_>) -> LogRecord {
    LogRecord {
        topic: Arc::clone(topic),
        partition: message.partition(),
        offset: message.offset(),
        timestamp: message.timestamp().to_millis().unwrap_or(-1),
        key: message.key().map(Bytes::copy_from_slice),
        value: message.payload().map(Bytes::copy_from_slice),
    }
}
