//! Source offsets of a distributed worker: in the topic of `offset.storage.topic`, or in a topic that a
//! connector has for itself ([`OwnTopic`]).
//!
//! All of the topic is held in memory ([`table`]). What is asked for is answered after the topic was read
//! to its end, so that what other workers wrote by then counts.

mod coding;
mod own;
mod routed;
mod table;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bulkhead_model::ConnectorName;
use bulkhead_model::offset::{SourceOffset, SourcePartition};
use bulkhead_pipeline::ports::{BoxFuture, OffsetStore, OffsetStoreError, OffsetWrite};
use tokio::sync::oneshot;

use crate::admin::TopicAdmin;
use crate::topic_log::{LogEntry, LogEvent, LogEvents, LogRecord, LogSettings, OpenError, TopicLog};
pub use coding::{Malformed, decode_key, decode_value, encode_key, encode_value};
pub use own::OwnTopic;
pub use routed::OffsetTopics;
use table::Table;

/// Longest wait for the end of the topic before offsets are read.
const READ_WAIT: Duration = Duration::from_secs(5);

/// The store. Clones share the topic, which is closed with the last of them.
#[derive(Clone, Debug)]
pub struct OffsetTopic {
    log: TopicLog,
    state: Arc<Mutex<State>>,
}

/// What the follower of the topic and those who ask have in common.
#[derive(Debug, Default)]
struct State {
    table: Table,
    waiting: HashMap<u64, oneshot::Sender<Result<(), String>>>,
    last_token: u64,
    /// The topic is closed; nobody answers any more.
    ended: bool,
}

impl OffsetTopic {
    /// Opens the topic and reads all of it, which may take `patience`. `refuse` is told of every record that
    /// is none of Connect's, and why; such records are passed over. Runs on the current runtime.
    pub async fn open(
        admin: &TopicAdmin,
        settings: LogSettings,
        patience: Duration,
        refuse: impl Fn(&LogRecord, &str) + Send + Sync + 'static,
    ) -> Result<Self, OpenError> {
        let (log, events) = TopicLog::open(admin, settings).await?;
        let state = Arc::new(Mutex::new(State::default()));
        tokio::spawn(follow(events, Arc::clone(&state), refuse));
        let store = Self { log, state };
        let read = store.read_to_end(patience).await;
        read.map_err(|error| OpenError::Client { topic: store.topic().to_owned(), reason: error.0 })?;
        Ok(store)
    }

    pub fn topic(&self) -> &str {
        self.log.topic()
    }

    /// Waits until everything is known that the topic holds now.
    async fn read_to_end(&self, patience: Duration) -> Result<(), OffsetStoreError> {
        let (token, answered) = {
            let (answer, answered) = oneshot::channel();
            let mut state = lock(&self.state);
            state.last_token += 1;
            let token = state.last_token;
            if !state.ended {
                state.waiting.insert(token, answer);
            }
            (token, answered)
        };
        self.log.read_to_end(token);
        let outcome = tokio::time::timeout(patience, answered).await;
        let failed = |reason: &str| {
            Err(OffsetStoreError(format!("offset topic `{}` can't be read to its end: {reason}", self.topic())))
        };
        match outcome {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(reason))) => failed(&reason),
            Ok(Err(_)) => failed("it is closed"),
            Err(_) => {
                lock(&self.state).waiting.remove(&token);
                failed(&format!("that takes more than {patience:?}"))
            }
        }
    }

    /// Queues the records of writes; the future ends when they are acknowledged.
    fn append(
        &self,
        connector: &ConnectorName,
        writes: &[OffsetWrite],
    ) -> Result<impl Future<Output = Result<(), OffsetStoreError>> + Send + 'static, OffsetStoreError> {
        let state = lock(&self.state);
        let entries = entries(&state.table, connector, writes)?;
        // Inside the lock, so that the records of one partition are in the order of the calls.
        let appended = self.log.append(entries);
        let topic = self.topic().to_owned();
        Ok(async move {
            let failed = |error| OffsetStoreError(format!("offset topic `{topic}` can't be written: {error}"));
            appended.await.map_err(failed)
        })
    }
}

/// The life of the follower: until the topic is closed.
async fn follow(
    mut events: LogEvents,
    state: Arc<Mutex<State>>,
    refuse: impl Fn(&LogRecord, &str) + Send + Sync + 'static,
) {
    while let Some(event) = events.next().await {
        let mut state = lock(&state);
        match event {
            LogEvent::Record(record) => {
                if let Err(problem) = state.table.apply(&record) {
                    refuse(&record, &problem.to_string());
                }
            }
            LogEvent::ReadToEnd { token, outcome } => {
                if let Some(answer) = state.waiting.remove(&token) {
                    // Whoever asked may have lost patience.
                    let _ = answer.send(outcome);
                }
            }
        }
    }
    let mut state = lock(&state);
    state.ended = true;
    state.waiting.clear();
}

/// The records of writes. A partition that is known keeps the key it has; if writers have given it several,
/// the newest stays and the others go.
fn entries(
    table: &Table,
    connector: &ConnectorName,
    writes: &[OffsetWrite],
) -> Result<Vec<LogEntry>, OffsetStoreError> {
    let mut entries = Vec::with_capacity(writes.len());
    for (partition, offset) in writes {
        let wrong = |error: Malformed| OffsetStoreError(error.to_string());
        let mut keys = table.keys(connector, partition);
        if keys.is_empty() {
            keys.push(encode_key(connector, partition).map_err(wrong)?);
        }
        let mut value = offset.as_ref().map(encode_value).transpose().map_err(wrong)?;
        entries.extend(keys.into_iter().map(|key| (key, value.take())));
    }
    Ok(entries)
}

impl OffsetStore for OffsetTopic {
    fn read(
        &self,
        connector: &ConnectorName,
        partitions: Vec<SourcePartition>,
    ) -> BoxFuture<Result<Vec<Option<SourceOffset>>, OffsetStoreError>> {
        let (store, connector) = (self.clone(), connector.clone());
        Box::pin(async move {
            store.read_to_end(READ_WAIT).await?;
            let state = lock(&store.state);
            Ok(partitions.iter().map(|partition| state.table.get(&connector, partition)).collect())
        })
    }

    fn all(
        &self,
        connector: &ConnectorName,
    ) -> BoxFuture<Result<Vec<(SourcePartition, SourceOffset)>, OffsetStoreError>> {
        let (store, connector) = (self.clone(), connector.clone());
        Box::pin(async move {
            store.read_to_end(READ_WAIT).await?;
            Ok(lock(&store.state).table.all(&connector))
        })
    }

    fn write(&self, connector: &ConnectorName, offsets: Vec<OffsetWrite>) -> BoxFuture<Result<(), OffsetStoreError>> {
        let (store, connector) = (self.clone(), connector.clone());
        Box::pin(async move { store.append(&connector, &offsets)?.await })
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}
