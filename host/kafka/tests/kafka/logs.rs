//! The worker's own topics, against a real broker: the mock makes no topics and knows no transactions.

mod fencing;
mod opening;
mod transactions;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bulkhead_kafka::topic_log::{LogEvent, LogEvents, LogRecord, OpenError, Purpose};
use bulkhead_kafka::{LogSettings, Settings, TopicAdmin, TopicLog};
use bulkhead_model::RawConfig;
use bytes::Bytes;
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions};
use rdkafka::client::DefaultClientContext;
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{FutureProducer, FutureRecord};

use crate::support::{Broker, fresh};

const PATIENCE: Duration = Duration::from_secs(60);

/// A worker of a cluster of its own.
pub(crate) struct Worker {
    pub(crate) admin: TopicAdmin,
    settings: Settings,
}

/// A log and what it brings.
pub(crate) struct Log {
    log: TopicLog,
    events: LogEvents,
    token: u64,
}

impl Worker {
    pub(crate) fn new(broker: &Broker, more: &[(&str, &str)]) -> Self {
        let mut properties = RawConfig::from([("bootstrap.servers", broker.servers.as_str()), ("group.id", "logs")]);
        for purpose in ["config", "offset", "status"] {
            properties.set(format!("{purpose}.storage.topic"), fresh(purpose));
            properties.set(format!("{purpose}.storage.replication.factor"), "1");
        }
        for (key, value) in more {
            properties.set(*key, *value);
        }
        let settings = Settings::from_properties(&properties).unwrap();
        Self { admin: TopicAdmin::of_worker(&settings).unwrap(), settings }
    }

    pub(crate) fn log_settings(&self, purpose: Purpose) -> LogSettings {
        LogSettings::from_worker(purpose, &self.settings).unwrap()
    }

    pub(crate) async fn open(&self, purpose: Purpose) -> Log {
        self.try_open(self.log_settings(purpose)).await.unwrap()
    }

    async fn try_open(&self, settings: LogSettings) -> Result<Log, OpenError> {
        let (log, events) = TopicLog::open(&self.admin, settings).await?;
        Ok(Log { log, events, token: 0 })
    }
}

impl Log {
    pub(crate) async fn append(&self, entries: &[(&str, Option<&str>)]) {
        let owned = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        let entries = entries.iter().map(|(key, value)| (owned(key), value.map(owned)));
        self.log.append(entries.collect()).await.unwrap();
    }

    async fn next(&mut self) -> LogEvent {
        tokio::time::timeout(PATIENCE, self.events.next()).await.expect("something comes").expect("the log is open")
    }

    /// The records from here to the end of the topic.
    async fn rest(&mut self) -> Vec<LogRecord> {
        self.token += 1;
        self.log.read_to_end(self.token);
        let mut records = Vec::new();
        loop {
            match self.next().await {
                LogEvent::Record(record) => records.push(record),
                LogEvent::ReadToEnd { token, outcome } => {
                    assert_eq!((token, outcome), (self.token, Ok(())));
                    return records;
                }
            }
        }
    }

    pub(crate) async fn rest_as_text(&mut self) -> Vec<String> {
        self.rest().await.iter().map(line).collect()
    }
}

fn line(record: &LogRecord) -> String {
    let text = |bytes: &Option<Bytes>| match bytes {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => "null".to_owned(),
    };
    format!("{}={}", text(&record.key), text(&record.value))
}

fn client(broker: &Broker) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", &broker.servers);
    config
}

async fn produce(producer: &FutureProducer, record: FutureRecord<'_, [u8], [u8]>) {
    producer.send(record, PATIENCE).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_appended_stands_before_the_end_also_for_others() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let mut one = worker.open(Purpose::Config).await;
    assert_eq!(one.rest_as_text().await, [""; 0], "an empty topic has an end as well");
    one.append(&[("a", Some("1")), ("b", Some("1")), ("a", None)]).await;
    let mut two = worker.open(Purpose::Config).await;
    assert_eq!(two.rest_as_text().await, ["a=1", "b=1", "a=null"]);
    two.append(&[("c", Some(""))]).await;
    assert_eq!(one.rest_as_text().await, ["a=1", "b=1", "a=null", "c="]);
    assert_eq!(one.rest_as_text().await, [""; 0]);
    assert_eq!(two.rest().await.iter().map(|record| record.offset).collect::<Vec<_>>(), [3]);
}

#[tokio::test(flavor = "multi_thread")]
async fn many_ends_are_answered_in_the_order_in_which_they_were_asked_for() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let mut log = worker.open(Purpose::Status).await;
    let mut appends = Vec::new();
    for token in 0..50 {
        let key = Bytes::from(format!("k{token}"));
        appends.push(log.log.append(vec![(key, Some(Bytes::from_static(b"v")))]));
        log.log.read_to_end(token);
    }
    for append in appends {
        append.await.unwrap();
    }
    log.log.read_to_end(50);
    let (mut tokens, mut records) = (Vec::new(), 0);
    while tokens.last() != Some(&50) {
        match log.next().await {
            LogEvent::Record(_) => records += 1,
            LogEvent::ReadToEnd { token, outcome } => {
                outcome.unwrap();
                tokens.push(token);
            }
        }
    }
    assert_eq!(tokens, (0..=50).collect::<Vec<_>>());
    assert_eq!(records, 50);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_followers_of_many_partitions_agree() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let (mut one, mut two) = (worker.open(Purpose::Offset).await, worker.open(Purpose::Offset).await);
    let mut expected = BTreeMap::new();
    for round in 0..20 {
        let key = format!("key{}", round % 7);
        let value = round.to_string();
        let writer = if round % 2 == 0 { &one } else { &two };
        writer.append(&[(&key, Some(&value))]).await;
        expected.insert(key, value);
    }
    let latest = |records: Vec<LogRecord>| {
        let text = |bytes: Option<Bytes>| String::from_utf8(bytes.unwrap().to_vec()).unwrap();
        records.into_iter().map(|record| (text(record.key), text(record.value))).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(latest(one.rest().await), expected);
    assert_eq!(latest(two.rest().await), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_records_take_a_moment() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let mut log = worker.open(Purpose::Config).await;
    let value = Bytes::from(vec![b'x'; 300]);
    let entries = (0..10_000).map(|number| (Bytes::from(format!("connector-{number}")), Some(value.clone())));
    let entries: Vec<_> = entries.collect();
    let begun = Instant::now();
    log.log.append(entries).await.unwrap();
    let appended = begun.elapsed();
    let offsets: Vec<_> = log.rest().await.iter().map(|record| record.offset).collect();
    println!("10,000 records: appended after {appended:?}, read after {:?}", begun.elapsed());
    assert_eq!(offsets, (0..10_000).collect::<Vec<_>>());
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_is_back_soon() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let mut took = Vec::new();
    for purpose in [Purpose::Config, Purpose::Offset] {
        let mut log = worker.open(purpose).await;
        log.rest().await;
        for round in 0..20 {
            let begun = Instant::now();
            log.append(&[("k", Some(&round.to_string()))]).await;
            assert_eq!(log.rest().await.len(), 1);
            took.push(begun.elapsed());
        }
        let begun = Instant::now();
        let mut again = worker.open(purpose).await;
        let opened = begun.elapsed();
        assert_eq!(again.rest().await.len(), 20);
        println!("{purpose:?} topic: open after {opened:?}, read to its end after {:?}", begun.elapsed());
    }
    took.sort();
    println!("append and read to end: median {:?}, slowest {:?}", took[took.len() / 2], took[took.len() - 1]);
    assert!(took[took.len() / 2] < Duration::from_secs(1), "{took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_taker_holds_the_reader_back_and_loses_nothing() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let mut log = worker.open(Purpose::Config).await;
    let value = Bytes::from(vec![b'x'; 500_000]);
    for number in 0..40 {
        let key = Bytes::from(format!("k{number}"));
        log.log.append(vec![(key, Some(value.clone()))]).await.unwrap();
    }
    let keys: Vec<_> = log.rest().await.into_iter().map(|record| record.key.unwrap()).collect();
    assert_eq!(keys, (0..40).map(|number| Bytes::from(format!("k{number}"))).collect::<Vec<_>>());

    let other = worker.open(Purpose::Config).await;
    let Log { log, mut events, .. } = other;
    events.next().await.unwrap();
    drop(log);
    let ending = async {
        let mut taken = 1;
        while events.next().await.is_some() {
            taken += 1;
        }
        taken
    };
    let taken = tokio::time::timeout(PATIENCE, ending).await.expect("a closed log ends, although its thread waited");
    assert!(taken < 40, "{taken} records were waiting");
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_stands_in_the_topic_comes_out() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let mut log = worker.open(Purpose::Status).await;
    let topic = log.log.topic().to_owned();
    let producer: FutureProducer = client(&broker).create().unwrap();
    let huge = vec![b'k'; 900_000];
    let headers = OwnedHeaders::new().insert(Header { key: "h", value: Some(&[0xff_u8, 0][..]) });
    let at = |partition| FutureRecord::<[u8], [u8]>::to(&topic).partition(partition);
    produce(&producer, at(4).key(&huge).payload(b"v")).await;
    produce(&producer, at(0).key(&[0xff, 0x00]).payload(b"").headers(headers)).await;
    produce(&producer, at(1).key(b"")).await;
    let mut found = log.rest().await;
    found.sort_by_key(|record| record.partition);
    let shape = |record: &LogRecord| {
        let len = |bytes: &Option<Bytes>| bytes.as_ref().map(Bytes::len);
        (record.partition, len(&record.key), len(&record.value))
    };
    let shapes: Vec<_> = found.iter().map(shape).collect();
    assert_eq!(shapes, [(0, Some(2), Some(0)), (1, Some(0), None), (4, Some(900_000), Some(1))]);

    let too_large = Bytes::from(vec![b'x'; 3_000_000]);
    let error = log.log.append(vec![(Bytes::from_static(b"k"), Some(too_large))]).await.unwrap_err();
    assert!(!error.retriable, "{error:?}");
    assert!(error.reason.contains(&topic), "{error:?}");
    log.append(&[("after", Some("1"))]).await;
    assert_eq!(log.rest_as_text().await, ["after=1"]);
}

/// A compacted topic refuses records without a key, but it may have got them before it was compacted.
#[tokio::test(flavor = "multi_thread")]
async fn a_record_without_a_key_comes_out() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let producer: FutureProducer = client(&broker).create().unwrap();
    let LogSettings { topic, .. } = worker.log_settings(Purpose::Status);
    produce(&producer, FutureRecord::to(&topic).payload(b"no key")).await;
    let requests: AdminClient<DefaultClientContext> = client(&broker).create().unwrap();
    let compacted = rdkafka::admin::AlterConfig::new(rdkafka::admin::ResourceSpecifier::Topic(&topic));
    let compacted = compacted.set("cleanup.policy", "compact");
    let altered = requests.alter_configs([&compacted], &AdminOptions::new()).await.unwrap();
    altered.into_iter().for_each(|outcome| assert!(outcome.is_ok(), "{outcome:?}"));
    let mut log = worker.open(Purpose::Status).await;
    assert_eq!(log.rest_as_text().await, ["null=no key"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_that_are_added_are_followed() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let mut log = worker.open(Purpose::Status).await;
    assert_eq!(log.rest().await, []);
    let topic = log.log.topic().to_owned();
    let requests: AdminClient<DefaultClientContext> = client(&broker).create().unwrap();
    let added = requests.create_partitions([&NewPartitions::new(&topic, 7)], &AdminOptions::new()).await.unwrap();
    added.into_iter().for_each(|outcome| assert!(outcome.is_ok(), "{outcome:?}"));
    let producer: FutureProducer = client(&broker).create().unwrap();
    produce(&producer, FutureRecord::to(&topic).partition(6).key(&b"k"[..]).payload(&b"v"[..])).await;
    let deadline = Instant::now() + PATIENCE;
    let mut found = Vec::new();
    while found.is_empty() {
        assert!(Instant::now() < deadline, "the new partition was not noticed");
        found = log.rest().await;
    }
    assert_eq!(found[0].partition, 6);
}

#[tokio::test(flavor = "multi_thread")]
async fn gaps_of_compaction_are_no_hindrance() {
    let Some(broker) = Broker::real() else { return };
    let settings = [
        ("config.storage.segment.ms", "100"),
        ("config.storage.min.cleanable.dirty.ratio", "0.001"),
        ("config.storage.delete.retention.ms", "0"),
    ];
    let worker = Worker::new(&broker, &settings);
    let log = worker.open(Purpose::Config).await;
    let deadline = Instant::now() + PATIENCE;
    for round in 0.. {
        assert!(Instant::now() < deadline, "the broker never compacted the topic");
        log.append(&[("k", Some(&round.to_string())), ("gone", None)]).await;
        let mut other = worker.open(Purpose::Config).await;
        let left = other.rest().await;
        assert_eq!(left.last().map(|record| record.offset), Some(2 * round + 1));
        if i64::try_from(left.len()).unwrap() < 2 * round {
            return;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// What Kafka 4.3.1's own hash makes of these keys.
#[tokio::test(flavor = "multi_thread")]
async fn keys_go_to_the_partitions_that_java_puts_them_into() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let mut log = worker.open(Purpose::Offset).await;
    let of_java = [
        ("status-task-orders-3", 24),
        ("status-connector-orders", 19),
        (r#"["c",{"f":"a"}]"#, 13),
        ("connector-a", 15),
        ("session-key", 7),
        ("", 6),
    ];
    let entries: Vec<_> = of_java.iter().map(|(key, _)| (*key, Some("{}"))).collect();
    log.append(&entries).await;
    let found = log.rest().await.into_iter().map(|record| (record.key.unwrap(), record.partition));
    let expected = of_java.iter().map(|(key, partition)| (Bytes::from_static(key.as_bytes()), *partition));
    assert_eq!(found.collect::<BTreeMap<_, _>>(), expected.collect());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_is_under_way_when_the_log_is_closed_has_an_end() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let Log { log, events, .. } = worker.open(Purpose::Config).await;
    let log = Arc::new(log);
    let append = log.append((0..1_000).map(|n| (Bytes::from(n.to_string()), None)).collect());
    drop((log, events));
    let ended = tokio::time::timeout(PATIENCE, append).await.expect("the append ends");
    if let Err(error) = ended {
        assert_eq!(error.to_string(), "the log was closed before its records were acknowledged");
    }
}
