//! The sink loop with a dead-letter queue, on in-memory doubles.

#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bulkhead_doubles::{
    MemoryConsumer, MemoryConsumerHandle, MemoryProducer, MemoryTopics, QuietObserver, ScriptedSink, Sent, eventually,
};
use bulkhead_model::config::Mask;
use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::control::{TaskFailure, Wanted};
use bulkhead_pipeline::convert::{self, Converters, Role};
use bulkhead_pipeline::ports::{Consumed, ErrorInfo, PluginError, Rejection, SinkControl, TopicError};
use bulkhead_pipeline::sink::{Acks, DeadLetterSettings, DeadLetters, Decoder, SinkLoop, SinkSettings};
use bulkhead_pipeline::tolerance::Tolerance;
use bulkhead_pipeline::transform::Chain;
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio::task::JoinHandle;

const SOON: Duration = Duration::from_secs(5);
/// Many commit intervals, on the paused clock.
const A_WHILE: Duration = Duration::from_secs(10);

struct Run {
    task: ScriptedSink,
    kafka: MemoryConsumerHandle,
    dead: MemoryProducer,
    wanted: watch::Sender<Wanted>,
    ended: JoinHandle<Result<(), TaskFailure>>,
}

struct Setup {
    task: ScriptedSink,
    converter: &'static str,
    config: RawConfig,
    hold: bool,
    refuse: Option<&'static str>,
}

impl Setup {
    /// Keeps texts as they are and tolerates everything.
    fn new(task: ScriptedSink) -> Self {
        let config = RawConfig::from([
            ("errors.tolerance", "all"),
            ("errors.retry.delay.max.ms", "10"),
            ("errors.deadletterqueue.topic.name", "dead"),
            ("errors.deadletterqueue.context.headers.enable", "true"),
        ]);
        Self { task, converter: "StringConverter", config, hold: false, refuse: None }
    }

    fn set(mut self, key: &str, value: &str) -> Self {
        self.config.set(key, value);
        self
    }

    fn start(self) -> Run {
        let (consumer, kafka) = MemoryConsumer::new();
        let (wanted, receiver) = watch::channel(Wanted::Running);
        let acks = Arc::new(Acks::default());
        let dead = MemoryProducer::new(acks.clone());
        if self.hold {
            dead.hold();
        }
        if let Some(value) = self.refuse {
            dead.refuse(value);
        }
        let id = ConnectorName::new("dlq").task(1);
        let settings = DeadLetterSettings::from_config(&self.config).unwrap();
        let converter = |role| convert::create(self.converter, &RawConfig::new(), role).unwrap();
        let header = convert::create("SimpleHeaderConverter", &RawConfig::new(), Role::Header).unwrap();
        let sink = SinkLoop {
            id: id.clone(),
            task: Arc::new(self.task.clone()),
            consumer,
            decoder: Decoder::new(
                Converters { key: converter(Role::Key), value: converter(Role::Value), header, guests: Vec::new() },
                Chain::new(&self.config).unwrap(),
            ),
            observer: QuietObserver,
            tolerance: Tolerance::from_config(&self.config),
            dead_letters: Some(
                DeadLetters::new(settings, id, Box::new(dead.handle()), acks)
                    .with_mask(Mask::new([("s3cret", "${env:SECRET}")])),
            ),
            settings: SinkSettings {
                flush_interval: Duration::from_millis(20),
                flush_timeout: Duration::from_millis(100),
                ..SinkSettings::default()
            },
            wanted: receiver,
        };
        kafka.assign("t", 0);
        let ended = tokio::spawn(async move { sink.run(&RawConfig::new()).await });
        Run { task: self.task, kafka, dead, wanted, ended }
    }
}

impl Run {
    fn committed(&self, line: &str) -> bool {
        self.kafka.log().iter().any(|entry| entry == line)
    }

    async fn failure(self) -> String {
        self.ended.await.unwrap().unwrap_err().to_string()
    }
}

fn header<'a>(sent: &'a Sent, key: &str) -> &'a str {
    let key = format!("__connect.errors.{key}");
    let (_, value) = sent.headers.iter().find(|(name, _)| *name == key).unwrap();
    std::str::from_utf8(value.as_deref().unwrap()).unwrap()
}

fn rejection(index: u32) -> Rejection {
    Rejection { index, message: "too odd".to_owned() }
}

/// The vector's records as they were in their topic: everything up to the headers that the queue added.
fn fetched(vector: &[Json]) -> Consumed {
    let text = |json: &Json| json.as_str().unwrap().to_owned();
    let own = |record: &Json| {
        let headers = record["headers"].as_array().unwrap().iter();
        let own = headers.filter(|header| !header[0].as_str().unwrap().starts_with("__connect.errors."));
        own.map(|header| (text(&header[0]), text(&header[1]))).collect::<Vec<_>>()
    };
    let mut consumed = Consumed { topics: vec!["dlqsrc".into()], ..Consumed::default() };
    let mut data = String::new();
    for (index, record) in vector.iter().enumerate() {
        consumed.topic.push(0);
        consumed.partition.push(0);
        consumed.offset.push(index as i64);
        consumed.timestamp.push(1_000 + index as i64);
        consumed.timestamp_type.push(1);
        let (key, value, headers) = (text(&record["key"]), text(&record["value"]), own(record));
        consumed.key_len.push(key.len() as i32);
        consumed.value_len.push(value.len() as i32);
        consumed.header_count.push(headers.len() as u32);
        data.extend([key, value]);
        for (name, value) in headers {
            consumed.header_key.push(consumed.header_keys.len() as u32);
            consumed.header_keys.push(name.into());
            consumed.header_len.push(value.len() as i32);
            data.push_str(&value);
        }
    }
    consumed.data = data.into();
    consumed
}

/// All is compared but what follows a stack trace's first line, where Java goes on with its own frames.
#[tokio::test(start_paused = true)]
async fn records_arrive_as_real_connect_sends_them() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/dead-letter-queue.json");
    let vector: Json = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let vector = vector["records"].as_array().unwrap();
    let mut setup = Setup::new(ScriptedSink::default());
    setup.converter = "JsonConverter";
    let run = setup.start();
    run.kafka.assign("dlqsrc", 0);
    run.kafka.fetched(fetched(vector));
    eventually("both count", SOON, || run.committed("commit dlqsrc-0@2")).await;
    let sent = run.dead.sent();
    assert_eq!(sent.len(), vector.len());
    for (index, (sent, expected)) in sent.iter().zip(vector).enumerate() {
        assert_eq!((&*sent.topic, sent.timestamp), ("dead", Some(1_000 + index as i64)));
        assert_eq!(sent.key.as_deref(), expected["key"].as_str().map(str::as_bytes));
        assert_eq!(sent.value.as_deref(), expected["value"].as_str().map(str::as_bytes));
        let headers = expected["headers"].as_array().unwrap();
        assert_eq!(sent.headers.len(), headers.len());
        for ((key, value), expected) in sent.headers.iter().zip(headers) {
            let (value, wanted) = (String::from_utf8_lossy(value.as_deref().unwrap()), expected[1].as_str().unwrap());
            assert_eq!(key, expected[0].as_str().unwrap());
            match key.as_str() {
                "__connect.errors.exception.stacktrace" => assert_eq!(value.lines().next(), wanted.lines().next()),
                _ => assert_eq!(value, wanted, "{key}"),
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn without_context_only_the_records_own_headers_are_sent() {
    let mut setup = Setup::new(ScriptedSink::default()).set("errors.deadletterqueue.context.headers.enable", "false");
    setup.converter = "LongConverter";
    let run = setup.start();
    run.kafka.records("t", 3, &["no number"]);
    eventually("it is sent", SOON, || run.dead.values() == ["no number"]).await;
    assert!(run.dead.sent()[0].headers.is_empty());
}

#[tokio::test(start_paused = true)]
async fn nothing_is_committed_before_the_queue_has_the_record() {
    let mut setup = Setup::new(ScriptedSink::default());
    (setup.converter, setup.hold) = ("LongConverter", true);
    let run = setup.start();
    run.kafka.records("t", 3, &["no number"]);
    eventually("it is sent", SOON, || run.dead.values() == ["no number"]).await;
    tokio::time::sleep(A_WHILE).await;
    assert!(!run.kafka.log().iter().any(|line| line.starts_with("commit")), "{:?}", run.kafka.log());
    let released = run.kafka.revoke("t", 0);
    released.await.unwrap_err();
    assert!(!run.kafka.log().iter().any(|line| line.starts_with("commit")), "{:?}", run.kafka.log());
    run.dead.release();
    run.kafka.assign("t", 0);
    run.kafka.records("t", 4, &["neither"]);
    eventually("the next counts", SOON, || run.committed("commit t-0@5")).await;
    assert_eq!(run.dead.values(), ["no number", "neither"]);
}

#[tokio::test(start_paused = true)]
async fn a_queue_that_refuses_a_record_fails_the_task() {
    let mut setup = Setup::new(ScriptedSink::default());
    (setup.converter, setup.refuse) = ("LongConverter", Some("no number"));
    let run = setup.start();
    run.kafka.records("t", 3, &["no number"]);
    let log = run.kafka.clone();
    let failure = run.failure().await;
    assert_eq!(failure, "a record could not be written to the dead-letter queue `dead`: refused by the broker");
    assert!(!log.log().iter().any(|line| line.starts_with("commit")));
}

#[tokio::test(start_paused = true)]
async fn what_a_put_refuses_is_sent_as_it_was_read_whatever_transforms_made_of_it() {
    let setup = Setup::new(ScriptedSink::new([Ok(vec![rejection(1)])]))
        .set("transforms", "drop,rename")
        .set("transforms.drop.type", "org.apache.kafka.connect.transforms.Filter")
        .set("transforms.drop.predicate", "tombstone")
        .set("transforms.rename.type", "org.apache.kafka.connect.transforms.RegexRouter")
        .set("transforms.rename.regex", "(.*)")
        .set("transforms.rename.replacement", "new-$1")
        .set("predicates", "tombstone")
        .set("predicates.tombstone.type", "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone");
    let run = setup.start();
    run.kafka.records_or_null("t", 7, &[Some("a"), None, Some("b")]);
    eventually("all are committed", SOON, || run.committed("commit t-0@10")).await;
    let [sent] = &run.dead.sent()[..] else { panic!("one record") };
    assert_eq!(sent.value.as_deref(), Some(&b"b"[..]));
    for (key, value) in [
        ("topic", "t"),
        ("offset", "9"),
        ("stage", "TASK_PUT"),
        ("class.name", "org.apache.kafka.connect.sink.SinkTask"),
        ("exception.class.name", "bulkhead.RecordRejected"),
        ("exception.message", "too odd"),
    ] {
        assert_eq!(header(sent, key), value);
    }
}

#[tokio::test(start_paused = true)]
async fn a_transform_that_fails_is_named() {
    let setup = Setup::new(ScriptedSink::default())
        .set("transforms", "extract")
        .set("transforms.extract.type", "org.apache.kafka.connect.transforms.ExtractField$Value")
        .set("transforms.extract.field", "x");
    let run = setup.start();
    run.kafka.records("t", 3, &["no struct"]);
    eventually("its offset counts", SOON, || run.committed("commit t-0@4")).await;
    let sent = &run.dead.sent()[0];
    assert_eq!(header(sent, "class.name"), "org.apache.kafka.connect.transforms.ExtractField$Value");
    let trace = header(sent, "exception.stacktrace");
    assert!(trace.contains("transform `extract`"), "{trace}");
}

#[tokio::test(start_paused = true)]
async fn headers_tell_no_secrets_and_records_stay_as_they_are() {
    let refused = Rejection { index: 0, message: "s3cret is not welcome".to_owned() };
    let run = Setup::new(ScriptedSink::new([Ok(vec![refused])])).start();
    run.kafka.records("t", 0, &["of s3cret"]);
    eventually("it is sent", SOON, || run.dead.values() == ["of s3cret"]).await;
    let sent = &run.dead.sent()[0];
    assert_eq!(header(sent, "exception.message"), "${env:SECRET} is not welcome");
    let trace = header(sent, "exception.stacktrace");
    assert!(trace.contains("${env:SECRET}") && !trace.contains("s3cret"), "{trace}");
}

#[tokio::test(start_paused = true)]
async fn without_tolerance_the_record_is_reported_once_and_the_task_fails() {
    let rejecting = ScriptedSink::new([Ok(vec![rejection(0), rejection(1)])]);
    let run = Setup::new(rejecting).set("errors.tolerance", "none").start();
    run.kafka.records("t", 7, &["a", "b"]);
    let (dead, log) = (run.dead.handle(), run.kafka.clone());
    let failure = run.failure().await;
    assert!(failure.starts_with("record t-0@7 failed at stage TASK_PUT: too odd"), "{failure}");
    assert_eq!(dead.values(), ["a"]);
    assert!(!log.log().iter().any(|line| line.starts_with("commit")));
}

#[tokio::test(start_paused = true)]
async fn a_record_of_an_earlier_put_can_be_reported_until_it_is_committed() {
    let mut setup = Setup::new(ScriptedSink::default());
    setup.hold = true;
    let run = setup.start();
    eventually("it is open", SOON, || run.task.log().iter().any(|line| line == "open t-0")).await;
    // What is on its way to the queue holds back commits, and with them what is remembered.
    run.task.ask(SinkControl { reported: vec![(0, rejection(0))], ..SinkControl::default() });
    run.kafka.records("t", 0, &["a", "b"]);
    eventually("the first is sent", SOON, || run.dead.values() == ["a"]).await;
    run.task.ask(SinkControl { reported: vec![(0, rejection(1))], ..SinkControl::default() });
    run.kafka.records("t", 2, &["c"]);
    eventually("the second is sent", SOON, || run.dead.values() == ["a", "b"]).await;
    run.dead.release();
    eventually("all count", SOON, || run.committed("commit t-0@3")).await;
    run.task.ask(SinkControl { reported: vec![(0, rejection(1))], ..SinkControl::default() });
    run.kafka.records("t", 3, &["d"]);
    let failure = run.failure().await;
    assert!(failure.starts_with("it reported record 1 of batch 0, which is committed"), "{failure}");
}

#[tokio::test(start_paused = true)]
async fn a_target_that_is_away_sends_nothing_to_the_queue_and_a_stop_ends_the_wait() {
    let away = || Err(PluginError::Retriable(ErrorInfo { message: "away".to_owned(), causes: Vec::new() }));
    let run =
        Setup::new(ScriptedSink::new((0..20).map(|_| away()))).set("errors.retry.delay.max.ms", "3600000").start();
    run.kafka.records("t", 0, &["a"]);
    eventually("it is tried", SOON, || run.task.log().iter().any(|line| line == "put a")).await;
    tokio::time::sleep(A_WHILE).await;
    let puts = run.task.log().iter().filter(|line| *line == "put a").count();
    // At 0, 0.3, 0.9, 2.1, 4.5 and 9.3 seconds.
    assert_eq!(puts, 6);
    run.wanted.send_replace(Wanted::Stop);
    tokio::time::timeout(Duration::from_secs(1), run.ended).await.unwrap().unwrap().unwrap();
    assert!(run.dead.values().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_target_that_stays_away_fails_the_task_once_the_time_out_is_over() {
    let away = || Err(PluginError::Retriable(ErrorInfo { message: "away".to_owned(), causes: Vec::new() }));
    let run = Setup::new(ScriptedSink::new((0..20).map(|_| away()))).set("errors.retry.timeout", "35").start();
    run.kafka.records("t", 0, &["a"]);
    let (task, dead, kafka) = (run.task.clone(), run.dead.handle(), run.kafka.clone());
    let failure = run.failure().await;
    assert!(failure.starts_with("put: away (tried again for 3"), "{failure}");
    assert!(task.log().iter().filter(|line| *line == "put a").count() > 2);
    assert!(dead.values().is_empty());
    assert!(!kafka.log().iter().any(|line| line.starts_with("commit")));
}

#[tokio::test]
async fn the_topic_is_made_with_one_partition_unless_it_is_there() {
    let config = RawConfig::from([
        ("errors.deadletterqueue.topic.name", "dead"),
        ("errors.deadletterqueue.topic.replication.factor", "1"),
    ]);
    let settings = DeadLetterSettings::from_config(&config).unwrap();
    let topics = MemoryTopics::default();
    settings.create_topic(&topics).await.unwrap();
    settings.create_topic(&topics).await.unwrap();
    let [made] = &topics.created()[..] else { panic!("one topic") };
    assert_eq!((made.name.as_str(), made.partitions, made.replication_factor), ("dead", 1, 1));
    topics.fail(TopicError::Denied("not allowed".to_owned()));
    let failure = settings.create_topic(&topics).await.unwrap_err().to_string();
    assert_eq!(failure, "the dead-letter queue `dead` can't be used: not allowed");
}
