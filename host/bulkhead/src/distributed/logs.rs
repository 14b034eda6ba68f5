//! The config and the status topic as the driver's logs.

use std::future::Future;
use std::time::Duration;

use bulkhead_herder::api::{ConfigRecord, Event, LoggedConfig, StatusRecord, Token};
use bulkhead_herder::{config_topic, status_topic};
use bulkhead_kafka::TopicLog;
use bulkhead_kafka::topic_log::{AppendError, LogEntry, LogEvent, LogEvents, LogRecord};
use bulkhead_pipeline::ports::BoxFuture;
use tokio::sync::{mpsc, oneshot};
use tokio_util::task::TaskTracker;

use crate::driver::ports::{Log, News};

/// How long an append may take; whether it was written is unknown afterwards.
const APPEND: Duration = Duration::from_secs(30);

/// The token of the first reading to the end; the herder counts its own from below.
const FIRST: u64 = u64::MAX;

/// How long to wait before the end of a topic is asked for again at the start.
const AGAIN: Duration = Duration::from_secs(1);

/// What this module needs of a topic.
pub trait Topic: Send + 'static {
    /// Queues the entries; the future ends when they are acknowledged.
    fn append(&self, entries: Vec<LogEntry>) -> BoxFuture<Result<(), AppendError>>;
    fn read_to_end(&self, token: u64);
}

/// Told of a record that can't be read, and why; it is left out.
pub trait Refuse: Fn(&LogRecord, &str) + Send + Sync + 'static {}
impl<F: Fn(&LogRecord, &str) + Send + Sync + 'static> Refuse for F {}

/// What a topic brings.
pub trait Source: Send + 'static {
    /// None when the topic is closed. Safe to drop.
    fn next(&mut self) -> impl Future<Output = Option<LogEvent>> + Send;
}

/// Records as bytes, and back.
pub struct Codec<R> {
    encode: fn(&R) -> Encoded,
    decode: fn(&LogRecord) -> Decoded,
}

/// Key and value; none is a tombstone.
type Encoded = (Vec<u8>, Option<Vec<u8>>);

/// What a record says.
struct Decoded {
    /// What the herder is told; of some records that can't be read, that there was one.
    event: Option<Event>,
    /// Why it can't be read.
    problem: Option<String>,
}

/// A topic as a log.
pub struct TopicAsLog<R, T> {
    topic: T,
    codec: Codec<R>,
    news: mpsc::Sender<News>,
    /// Appends that are not acknowledged.
    appends: TaskTracker,
}

impl Topic for TopicLog {
    fn append(&self, entries: Vec<LogEntry>) -> BoxFuture<Result<(), AppendError>> {
        Box::pin(Self::append(self, entries))
    }

    fn read_to_end(&self, token: u64) {
        Self::read_to_end(self, token);
    }
}

impl Source for LogEvents {
    async fn next(&mut self) -> Option<LogEvent> {
        Self::next(self).await
    }
}

impl Codec<ConfigRecord> {
    pub const CONFIG: Self = Self { encode: config_topic::encode, decode: config_record };
}

impl<R> Codec<R> {
    pub fn entries(&self, records: &[R]) -> Vec<LogEntry> {
        let entry = |record| {
            let (key, value) = (self.encode)(record);
            (key.into(), value.map(Into::into))
        };
        records.iter().map(entry).collect()
    }
}

impl Codec<StatusRecord> {
    pub const STATUS: Self = Self { encode: status_topic::encode, decode: status_record };
}

impl<R, T: Topic> TopicAsLog<R, T> {
    pub fn new(topic: T, codec: Codec<R>, news: mpsc::Sender<News>, appends: TaskTracker) -> Self {
        Self { topic, codec, news, appends }
    }
}

impl<R: Send, T: Topic> Log<R> for TopicAsLog<R, T> {
    fn append(&mut self, token: Token, records: Vec<R>) -> Vec<Event> {
        let appended = self.topic.append(self.codec.entries(&records));
        let news = self.news.clone();
        self.appends.spawn(async move {
            let outcome = match tokio::time::timeout(APPEND, appended).await {
                Ok(outcome) => outcome.map_err(|error| error.to_string()),
                Err(_) => Err(format!("no broker has acknowledged the record within {APPEND:?}")),
            };
            let _ = news.send(News::Event(Event::Appended { token, outcome })).await;
        });
        Vec::new()
    }

    fn read_to_end(&mut self, token: Token) -> Vec<Event> {
        self.topic.read_to_end(token.0);
        Vec::new()
    }
}

/// Hands on what a topic brings, as long as there are topic and driver. `at_end` is told when the topic
/// was read to the end for the first time, after all records before it were handed on.
pub async fn follow<R>(
    mut events: impl Source,
    codec: Codec<R>,
    (topic, refuse): (impl Topic, impl Refuse),
    news: mpsc::Sender<News>,
    at_end: oneshot::Sender<()>,
) {
    let mut at_end = Some(at_end);
    topic.read_to_end(FIRST);
    while let Some(event) = events.next().await {
        let event = match event {
            LogEvent::Record(record) => read(&record, &codec, &refuse),
            LogEvent::ReadToEnd { token: FIRST, outcome: Ok(()) } => {
                // Whoever waits for it may have been told to end.
                at_end.take().map(|waiting| waiting.send(()));
                None
            }
            LogEvent::ReadToEnd { token: FIRST, outcome: Err(reason) } => {
                tracing::warn!(reason, "The end of a topic could not be found; trying again.");
                tokio::time::sleep(AGAIN).await;
                topic.read_to_end(FIRST);
                None
            }
            LogEvent::ReadToEnd { token, outcome } => Some(Event::ReadToEnd { token: Token(token), outcome }),
        };
        if let Some(event) = event
            && news.send(News::Event(event)).await.is_err()
        {
            return;
        }
    }
}

fn read<R>(record: &LogRecord, codec: &Codec<R>, refuse: &impl Refuse) -> Option<Event> {
    let Decoded { event, problem } = (codec.decode)(record);
    if let Some(problem) = problem {
        refuse(record, &problem);
    }
    event
}

fn config_record(record: &LogRecord) -> Decoded {
    let next_offset = record.offset.saturating_add(1);
    let logged = |record| Some(Event::ConfigRecord(LoggedConfig { next_offset, record }));
    let Some(key) = &record.key else {
        return Decoded { event: logged(None), problem: Some("it has no key".to_owned()) };
    };
    match config_topic::decode(key, record.value.as_deref()) {
        Ok(record) => Decoded { event: logged(record), problem: None },
        Err(malformed) if malformed.counts => Decoded { event: logged(None), problem: Some(malformed.what) },
        Err(malformed) => Decoded { event: None, problem: Some(malformed.what) },
    }
}

fn status_record(record: &LogRecord) -> Decoded {
    match record.key.as_ref().and_then(|key| status_topic::decode(key, record.value.as_deref())) {
        Some(record) => Decoded { event: Some(Event::StatusRecord(record)), problem: None },
        None => Decoded { event: None, problem: Some("it is no status".to_owned()) },
    }
}

#[cfg(test)]
mod tests;
