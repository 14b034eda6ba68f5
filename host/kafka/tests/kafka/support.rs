//! What the tests share: a broker, clients on it, and a delivery that keeps what it is told.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use bulkhead_kafka::{KafkaClients, MockBroker, Settings, SharedProducer, SinkConsumer};
use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_model::{ConnectorName, RawConfig, TaskId};
use bulkhead_pipeline::ports::{
    Clients, Consumed, Consumer, ConsumerEvent, Delivery, FetchLimits, Outgoing, ProduceError, Producer, Sent, Written,
};

pub(crate) const LIMITS: FetchLimits =
    FetchLimits { max_records: 500, max_bytes: 1_000_000, max_wait: Duration::from_millis(100) };

const PATIENCE: Duration = Duration::from_secs(60);

/// A broker for one test.
pub(crate) struct Broker {
    pub(crate) servers: String,
    mock: Option<MockBroker>,
}

impl Broker {
    pub(crate) fn mock() -> Self {
        let mock = MockBroker::start().unwrap();
        Self { servers: mock.bootstrap_servers(), mock: Some(mock) }
    }

    /// The real one, if there is one.
    pub(crate) fn real() -> Option<Self> {
        let Ok(servers) = std::env::var("BULKHEAD_KAFKA") else {
            println!("skipped: BULKHEAD_KAFKA=host:port names no broker");
            return None;
        };
        Some(Self { servers, mock: None })
    }

    /// One of which only the address is known.
    pub(crate) fn at(servers: &str) -> Self {
        Self { servers: servers.to_owned(), mock: None }
    }

    /// The mock, and the real one if there is one.
    pub(crate) fn all() -> Vec<Self> {
        std::iter::once(Self::mock()).chain(Self::real()).collect()
    }

    /// A new name for a topic; on the mock, the topic as well, with one partition.
    pub(crate) fn topic(&self, what: &str) -> String {
        let name = fresh(what);
        if let Some(mock) = &self.mock {
            mock.create_topic(&name, 1).unwrap();
        }
        name
    }

    pub(crate) fn clients(&self, extra: &[(&str, &str)]) -> KafkaClients {
        let mut properties = match &self.mock {
            Some(mock) => mock.worker_properties(),
            None => RawConfig::from([("bootstrap.servers", self.servers.as_str())]),
        };
        for (key, value) in extra {
            properties.set(*key, *value);
        }
        KafkaClients::new(Settings::from_properties(&properties).unwrap())
    }
}

/// A name that no test and no earlier run has used.
pub(crate) fn fresh(what: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    format!("{what}-{}-{}", now.as_nanos(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) fn task(connector: &str, number: u32) -> TaskId {
    ConnectorName::new(connector).task(number)
}

pub(crate) fn sink(topic: &str) -> RawConfig {
    RawConfig::from([("topics", topic)])
}

pub(crate) fn record<'a>(topic: &'a str, value: &'a [u8]) -> Outgoing<'a> {
    Outgoing { topic, partition: None, timestamp: None, key: None, value: Some(value), headers: &[] }
}

pub(crate) fn at(topic: &str, partition: i32, offset: i64) -> TopicOffset {
    TopicOffset { partition: TopicPartition::new(topic, partition), offset }
}

/// Keeps outcomes in the order in which they came.
#[derive(Default)]
pub(crate) struct Kept {
    outcomes: Mutex<Vec<(u64, Result<Written, ProduceError>)>>,
    arrived: Condvar,
}

impl Delivery for Kept {
    fn delivered(&self, sequence: u64, outcome: Result<Written, ProduceError>) {
        self.outcomes.lock().unwrap().push((sequence, outcome));
        self.arrived.notify_all();
    }

    fn wants_written(&self) -> bool {
        true
    }
}

impl Kept {
    /// The first `count` outcomes.
    pub(crate) fn wait(&self, count: usize) -> Vec<(u64, Result<Written, ProduceError>)> {
        let outcomes = self.outcomes.lock().unwrap();
        let (outcomes, waited) =
            self.arrived.wait_timeout_while(outcomes, PATIENCE, |outcomes| outcomes.len() < count).unwrap();
        assert!(!waited.timed_out(), "{} of {count} deliveries came", outcomes.len());
        outcomes.clone()
    }
}

/// Sends until there is room.
pub(crate) fn send(producer: &SharedProducer, record: &Outgoing<'_>, sequence: u64) {
    let deadline = Instant::now() + PATIENCE;
    while producer.send(record, sequence).unwrap() == Sent::Full {
        assert!(Instant::now() < deadline, "no room came");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Writes records with these values into partition 0, and waits until they are there.
pub(crate) fn fill(clients: &KafkaClients, topic: &str, count: u64) {
    let kept = Arc::new(Kept::default());
    let producer = clients.producer(&task("fill", 0), &RawConfig::new(), kept.clone()).unwrap();
    for sequence in 0..count {
        let value = sequence.to_string();
        let outgoing = Outgoing { partition: Some(0), value: Some(value.as_bytes()), ..record(topic, b"") };
        send(&producer, &outgoing, sequence);
    }
    for (_, outcome) in kept.wait(usize::try_from(count).unwrap()) {
        outcome.unwrap();
    }
}

/// The next thing that isn't `Idle`.
pub(crate) async fn next(consumer: &mut SinkConsumer) -> ConsumerEvent {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match consumer.next(LIMITS).await.unwrap() {
            ConsumerEvent::Idle => assert!(Instant::now() < deadline, "nothing happened"),
            event => return event,
        }
    }
}

pub(crate) async fn assigned(consumer: &mut SinkConsumer) -> Vec<TopicPartition> {
    match next(consumer).await {
        ConsumerEvent::Assigned(partitions) => partitions,
        event => panic!("{event:?} instead of an assignment"),
    }
}

/// Offsets of the next `count` records.
pub(crate) async fn offsets(consumer: &mut SinkConsumer, count: usize) -> Vec<i64> {
    let mut offsets = Vec::new();
    while offsets.len() < count {
        offsets.extend(records(consumer).await.offset);
    }
    offsets
}

pub(crate) async fn records(consumer: &mut SinkConsumer) -> Consumed {
    match next(consumer).await {
        ConsumerEvent::Records(records) => records,
        event => panic!("{event:?} instead of records"),
    }
}
