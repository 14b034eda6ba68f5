//! The worker's own compacted topics (config, offset and status topic) as logs: append, and follow from
//! the beginning.
//!
//! Start at [`TopicLog::open`]. A thread follows the topic ([`reader`]), another asks where it ends
//! ([`ends`]), a third takes acknowledgements ([`writer`]); what comes out is one stream
//! ([`LogEvents`]), in which the answer to [`TopicLog::read_to_end`] stands behind all it answers for.
//! What only one worker may write goes through a [`FencableLog`] on the same topic.

mod ends;
mod events;
mod fencable;
mod open;
mod reader;
mod settings;
mod writer;

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;

use crate::admin::TopicAdmin;
use ends::Ends;
pub use events::LogEvents;
pub use fencable::{FencableLog, Unwritten};
pub use open::OpenError;
use reader::Reader;
pub use settings::{Isolation, LogSettings, Purpose};
pub use writer::AppendError;
use writer::Writer;

/// A topic that is open. Clones share it; it is closed when the last one is dropped, and appends that
/// were not acknowledged by then fail.
#[derive(Clone)]
pub struct TopicLog {
    inner: Arc<Inner>,
}

struct Inner {
    topic: Arc<str>,
    // In the order in which they are dropped: the asker speaks to the reader.
    ends: Ends,
    _reader: Reader,
    writer: Writer,
}

/// What following a topic brings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LogEvent {
    Record(LogRecord),
    /// All records came that the topic held when [`TopicLog::read_to_end`] was called with this token; or
    /// why that can't be said, in which case it is worth asking again.
    ReadToEnd {
        token: u64,
        outcome: Result<(), String>,
    },
}

/// A record of the topic. Whoever may write to the topic may have put anything into it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    pub topic: Arc<str>,
    pub partition: i32,
    pub offset: i64,
    /// In ms since 1970; -1 for none.
    pub timestamp: i64,
    pub key: Option<Bytes>,
    /// None is a tombstone.
    pub value: Option<Bytes>,
}

/// A key and its new value; none is a tombstone.
pub type LogEntry = (Bytes, Option<Bytes>);

impl TopicLog {
    /// Makes sure that the topic is what Connect needs, and begins to follow it. Takes no longer than
    /// `settings.connect_timeout` to find out that there is no broker.
    pub async fn open(admin: &TopicAdmin, settings: LogSettings) -> Result<(Self, LogEvents), OpenError> {
        let partitions = open::prepare(admin, &settings).await?;
        let (sender, events) = events::channel();
        let topic: Arc<str> = Arc::from(settings.topic.as_str());
        let writer = Writer::start(&settings)?;
        let reader = Reader::start(&settings, Arc::clone(&topic), &partitions, sender)?;
        let ends = Ends::start(admin.clone(), Arc::clone(&topic), reader.commands())?;
        let inner = Inner { topic, ends, _reader: reader, writer };
        Ok((Self { inner: Arc::new(inner) }, events))
    }

    pub fn topic(&self) -> &str {
        &self.inner.topic
    }

    /// Asks for the end of the topic as it is now. [`LogEvent::ReadToEnd`] with the token comes once all
    /// before that end was handed out, transactions that are still open included, so it may never come:
    /// the caller has a clock, this doesn't.
    ///
    /// Appends whose future hasn't ended yet may come after it.
    pub fn read_to_end(&self, token: u64) {
        self.inner.ends.ask(token);
    }

    /// Writes records in their order; the call itself queues them, so calls are in order too. The future
    /// ends when all are acknowledged, or with the first failure after each has had its answer: a record
    /// that fails doesn't keep those behind it from being written.
    pub fn append(&self, entries: Vec<LogEntry>) -> impl Future<Output = Result<(), AppendError>> + Send + 'static {
        self.inner.writer.append(&self.inner.topic, &entries)
    }
}

impl std::fmt::Debug for TopicLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TopicLog({})", self.inner.topic)
    }
}
