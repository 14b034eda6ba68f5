//! Kafka in memory.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_pipeline::ports::{
    BoxFuture, ConsumeError, Consumed, Consumer, ConsumerEvent, Creation, Delivery, FetchLimits, NewTopic, Outgoing,
    ProduceError, Producer, Revocation, Sent as Queued, TopicError, Topics, Written,
};
use tokio::sync::{mpsc, oneshot};

/// A record that a [`MemoryProducer`] was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub topic: String,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub timestamp: Option<i64>,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    sequence: u64,
}

/// Keeps what was sent. Acknowledges at once, or when told.
pub struct MemoryProducer {
    state: Arc<Mutex<State>>,
}

struct State {
    sent: Vec<Sent>,
    delivery: Arc<dyn Delivery>,
    held: bool,
    acknowledged: usize,
    /// Records with this value are refused by the broker.
    refuse: Option<Vec<u8>>,
}

impl MemoryProducer {
    pub fn new(delivery: Arc<dyn Delivery>) -> Self {
        let state = State { sent: Vec::new(), delivery, held: false, acknowledged: 0, refuse: None };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// Another handle on the same producer.
    pub fn handle(&self) -> Self {
        Self { state: self.state.clone() }
    }

    /// From now on nothing is acknowledged until [`Self::release`].
    pub fn hold(&self) {
        self.lock().held = true;
    }

    pub fn release(&self) {
        self.lock().held = false;
        self.acknowledge();
    }

    pub fn refuse(&self, value: &str) {
        self.lock().refuse = Some(value.as_bytes().to_vec());
    }

    pub fn values(&self) -> Vec<String> {
        let state = self.lock();
        state
            .sent
            .iter()
            .map(|sent| String::from_utf8_lossy(sent.value.as_deref().unwrap_or_default()).into())
            .collect()
    }

    /// All records, in order.
    pub fn sent(&self) -> Vec<Sent> {
        self.lock().sent.clone()
    }

    /// Topics of all records, in order.
    pub fn topics(&self) -> Vec<String> {
        self.lock().sent.iter().map(|sent| sent.topic.clone()).collect()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn acknowledge(&self) {
        let (delivery, due, refuse) = {
            let mut state = self.lock();
            if state.held {
                return;
            }
            let due = state.sent[state.acknowledged..].to_vec();
            state.acknowledged = state.sent.len();
            (state.delivery.clone(), due, state.refuse.clone())
        };
        for Sent { topic, value, sequence, .. } in due {
            let outcome = if refuse.is_some() && value == refuse {
                Err(ProduceError::Record("refused by the broker".to_owned()))
            } else {
                Ok(Written { topic: topic.into(), partition: 0, offset: sequence as i64, timestamp: 0 })
            };
            delivery.delivered(sequence, outcome);
        }
    }
}

impl Producer for MemoryProducer {
    fn send(&self, record: &Outgoing<'_>, sequence: u64) -> Result<Queued, ProduceError> {
        let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
        let headers = record.headers.iter().map(|(key, value)| ((*key).to_owned(), owned(*value))).collect();
        self.lock().sent.push(Sent {
            topic: record.topic.to_owned(),
            key: owned(record.key),
            value: owned(record.value),
            timestamp: record.timestamp,
            headers,
            sequence,
        });
        self.acknowledge();
        Ok(Queued::Queued)
    }
}

/// Topics that exist, and how those were made that did not. Answers with the failures it was given first.
#[derive(Clone, Default)]
pub struct MemoryTopics {
    existing: Arc<Mutex<BTreeSet<String>>>,
    created: Arc<Mutex<Vec<NewTopic>>>,
    failures: Arc<Mutex<VecDeque<TopicError>>>,
}

impl MemoryTopics {
    /// The next request fails so.
    pub fn fail(&self, error: TopicError) {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).push_back(error);
    }

    /// A topic that is there already.
    pub fn add(&self, name: &str) {
        self.existing.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
    }

    pub fn created(&self) -> Vec<NewTopic> {
        self.created.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Failures that nobody has met yet.
    pub fn failures_left(&self) -> usize {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn next<T>(&self, answer: impl FnOnce() -> T) -> Result<T, TopicError> {
        match self.failures.lock().unwrap_or_else(PoisonError::into_inner).pop_front() {
            Some(error) => Err(error),
            None => Ok(answer()),
        }
    }

    fn is_new(&self, name: &str) -> bool {
        !self.existing.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }
}

impl Topics for MemoryTopics {
    fn exists(&self, topic: &str) -> BoxFuture<Result<bool, TopicError>> {
        Box::pin(std::future::ready(self.next(|| !self.is_new(topic))))
    }

    fn create(&self, topic: NewTopic) -> BoxFuture<Result<Creation, TopicError>> {
        let answer = self.next(|| {
            if !self.is_new(&topic.name) {
                return Creation::Exists;
            }
            self.add(&topic.name);
            self.created.lock().unwrap_or_else(PoisonError::into_inner).push(topic);
            Creation::Created
        });
        Box::pin(std::future::ready(answer))
    }
}

/// A consumer that is told what happens by its [`MemoryConsumerHandle`].
pub struct MemoryConsumer {
    events: mpsc::UnboundedReceiver<ConsumerEvent>,
    log: Arc<Mutex<Vec<String>>>,
}

/// Feeds a [`MemoryConsumer`] and sees what it was asked to do, one line each.
#[derive(Clone)]
pub struct MemoryConsumerHandle {
    events: mpsc::UnboundedSender<ConsumerEvent>,
    log: Arc<Mutex<Vec<String>>>,
}

impl MemoryConsumer {
    pub fn new() -> (Self, MemoryConsumerHandle) {
        let (sender, events) = mpsc::unbounded_channel();
        let log = Arc::new(Mutex::new(Vec::new()));
        (Self { events, log: log.clone() }, MemoryConsumerHandle { events: sender, log })
    }

    fn note(&self, line: String) {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).push(line);
    }
}

impl MemoryConsumerHandle {
    pub fn assign(&self, topic: &str, partition: i32) {
        let _ = self.events.send(ConsumerEvent::Assigned(vec![TopicPartition::new(topic, partition)]));
    }

    /// The receiver resolves when the partition was let go.
    pub fn revoke(&self, topic: &str, partition: i32) -> oneshot::Receiver<()> {
        let (release, released) = oneshot::channel();
        let partitions = vec![TopicPartition::new(topic, partition)];
        let _ =
            self.events.send(ConsumerEvent::Revoked(Revocation { partitions, lost: false, release: Some(release) }));
        released
    }

    /// Records of partition 0 with text values, from this offset on.
    pub fn records(&self, topic: &str, first_offset: i64, values: &[&str]) {
        let values: Vec<_> = values.iter().map(|value| Some(*value)).collect();
        self.records_or_null(topic, first_offset, &values);
    }

    /// The same with tombstones among them.
    pub fn records_or_null(&self, topic: &str, first_offset: i64, values: &[Option<&str>]) {
        let count = values.len();
        let consumed = Consumed {
            topics: vec![topic.into()],
            topic: vec![0; count],
            partition: vec![0; count],
            offset: (first_offset..first_offset + count as i64).collect(),
            timestamp: vec![0; count],
            timestamp_type: vec![1; count],
            key_len: vec![-1; count],
            value_len: values.iter().map(|value| value.map_or(-1, |value| value.len() as i32)).collect(),
            header_count: vec![0; count],
            data: values.iter().copied().flatten().collect::<String>().into(),
            ..Consumed::default()
        };
        self.fetched(consumed);
    }

    /// Records as a test made them.
    pub fn fetched(&self, consumed: Consumed) {
        let _ = self.events.send(ConsumerEvent::Records(consumed));
    }

    /// What the consumer was asked to do.
    pub fn log(&self) -> Vec<String> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn places(partitions: &[TopicPartition]) -> String {
    let places: Vec<_> = partitions.iter().map(|place| format!("{}-{}", place.topic, place.partition)).collect();
    places.join(" ")
}

fn offsets(offsets: &[TopicOffset]) -> String {
    let places = offsets.iter().map(|at| format!("{}-{}@{}", at.partition.topic, at.partition.partition, at.offset));
    places.collect::<Vec<_>>().join(" ")
}

impl Consumer for MemoryConsumer {
    async fn next(&mut self, limits: FetchLimits) -> Result<ConsumerEvent, ConsumeError> {
        match tokio::time::timeout(limits.max_wait, self.events.recv()).await {
            Ok(Some(event)) => Ok(event),
            Ok(None) => Err(ConsumeError::Fatal("the test's handle is gone".to_owned())),
            Err(_) => Ok(ConsumerEvent::Idle),
        }
    }

    async fn commit(&mut self, committed: Vec<TopicOffset>) -> Result<(), ConsumeError> {
        self.note(format!("commit {}", offsets(&committed)));
        Ok(())
    }

    async fn seek(&mut self, to: &[TopicOffset]) -> Result<(), ConsumeError> {
        self.note(format!("seek {}", offsets(to)));
        Ok(())
    }

    fn pause(&mut self, partitions: &[TopicPartition]) -> Result<(), ConsumeError> {
        self.note(format!("pause {}", places(partitions)));
        Ok(())
    }

    fn resume(&mut self, partitions: &[TopicPartition]) -> Result<(), ConsumeError> {
        self.note(format!("resume {}", places(partitions)));
        Ok(())
    }

    async fn close(self) {
        self.note("close".to_owned());
    }
}
