//! The source loop on in-memory doubles.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use bulkhead_doubles::{MemoryOffsets, MemoryProducer, MemoryTopics, QuietObserver, ScriptedSource, eventually, texts};
use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::control::{TaskFailure, Wanted};
use bulkhead_pipeline::convert::{self, Converters, Role};
use bulkhead_pipeline::ports::{ErrorInfo, PluginError, TopicError};
use bulkhead_pipeline::source::{Acks, Encoder, SourceLoop, SourceSettings, TopicCreation, TopicCreator};
use bulkhead_pipeline::tolerance::Tolerance;
use bulkhead_pipeline::transform::Chain;
use tokio::sync::watch;
use tokio::task::JoinHandle;

const SOON: Duration = Duration::from_secs(5);
const PARTITION: &str = r#"{"p":1}"#;

/// What a test may change about a loop before it starts.
struct Setup {
    task: ScriptedSource,
    value_converter: &'static str,
    tolerance: &'static str,
    settings: SourceSettings,
    hold: bool,
    refuse: Option<&'static str>,
    transforms: RawConfig,
    topics: Option<(RawConfig, MemoryTopics)>,
}

/// A loop that runs, and everything around it.
struct Run {
    task: ScriptedSource,
    producer: MemoryProducer,
    offsets: MemoryOffsets,
    wanted: watch::Sender<Wanted>,
    ended: JoinHandle<Result<(), TaskFailure>>,
}

impl Setup {
    fn new(task: ScriptedSource) -> Self {
        let settings = SourceSettings { flush_interval: Duration::from_millis(20), ..SourceSettings::default() };
        Self {
            task,
            value_converter: "StringConverter",
            tolerance: "none",
            settings,
            hold: false,
            refuse: None,
            transforms: RawConfig::new(),
            topics: None,
        }
    }

    fn start(self) -> Run {
        let acks = Arc::new(Acks::default());
        let producer = MemoryProducer::new(acks.clone());
        if self.hold {
            producer.hold();
        }
        if let Some(value) = self.refuse {
            producer.refuse(value);
        }
        let offsets = MemoryOffsets::default();
        let (wanted, receiver) = watch::channel(Wanted::Running);
        let converter = |class, role| convert::create(class, &RawConfig::new(), role).unwrap();
        let source = SourceLoop {
            id: ConnectorName::new("c").task(0),
            task: Arc::new(self.task.clone()),
            producer: producer.handle(),
            acks,
            encoder: Encoder::new(
                Chain::new(&self.transforms).unwrap(),
                Converters {
                    key: converter("StringConverter", Role::Key),
                    value: converter(self.value_converter, Role::Value),
                    header: converter("StringConverter", Role::Header),
                    guests: Vec::new(),
                },
            ),
            topics: self.topics.map(|(config, topics)| {
                TopicCreator::new(TopicCreation::from_config(&config).unwrap().unwrap(), Arc::new(topics))
            }),
            offsets: Arc::new(offsets.clone()),
            observer: QuietObserver,
            tolerance: Tolerance::from_config(&RawConfig::from([("errors.tolerance", self.tolerance)])),
            settings: self.settings,
            wanted: receiver,
        };
        let ended = tokio::spawn(async move { source.run(&RawConfig::new()).await });
        Run { task: self.task, producer, offsets, wanted, ended }
    }
}

impl Run {
    fn offset(&self) -> Option<String> {
        self.offsets.get("c", PARTITION)
    }

    async fn stop(self) -> Result<(), TaskFailure> {
        self.wanted.send_replace(Wanted::Stop);
        self.ended.await.unwrap()
    }
}

fn failed(message: &str) -> ErrorInfo {
    ErrorInfo { message: message.to_owned(), causes: Vec::new() }
}

#[tokio::test]
async fn records_are_produced_in_order_and_their_offsets_committed() {
    let task = ScriptedSource::new([Ok(texts(1, &["a", "b"])), Ok(texts(3, &["c"]))]);
    let run = Setup::new(task).start();
    eventually("the last offset is committed", SOON, || run.offset().as_deref() == Some(r#"{"at":3}"#)).await;
    assert_eq!(run.producer.values(), ["a", "b", "c"]);
    let task = run.task.clone();
    run.stop().await.unwrap();
    assert_eq!(task.log().last().map(String::as_str), Some("stop"));
}

#[tokio::test]
async fn nothing_is_committed_before_kafka_has_acknowledged_it() {
    let mut setup = Setup::new(ScriptedSource::new([Ok(texts(1, &["a", "b"]))]));
    setup.hold = true;
    let run = setup.start();
    eventually("both are sent", SOON, || run.producer.values().len() == 2).await;
    tokio::time::sleep(Duration::from_millis(60)).await;
    assert_eq!(run.offset(), None);
    run.producer.release();
    eventually("the offset is committed", SOON, || run.offset().as_deref() == Some(r#"{"at":2}"#)).await;
}

#[tokio::test]
async fn a_commit_that_failed_is_made_good_by_the_next() {
    let run = Setup::new(ScriptedSource::new([Ok(texts(1, &["a"]))])).start();
    run.offsets.fail_next_writes(2);
    eventually("the offset is committed", SOON, || run.offset().as_deref() == Some(r#"{"at":1}"#)).await;
}

#[tokio::test]
async fn what_was_acknowledged_is_committed_when_the_task_stops_or_fails() {
    let mut setup = Setup::new(ScriptedSource::new([Ok(texts(1, &["a"])), Err(PluginError::Failed(failed("broken")))]));
    setup.settings.flush_interval = Duration::from_secs(3600);
    let run = setup.start();
    let offsets = run.offsets.clone();
    let failure = run.ended.await.unwrap().unwrap_err();
    assert_eq!(failure.to_string(), "poll: broken");
    assert_eq!(offsets.get("c", PARTITION).as_deref(), Some(r#"{"at":1}"#));
}

#[tokio::test]
async fn a_retriable_poll_is_tried_again() {
    let task = ScriptedSource::new([Err(PluginError::Retriable(failed("away"))), Ok(texts(1, &["a"]))]);
    let run = Setup::new(task).start();
    eventually("the record arrives", SOON, || run.producer.values() == ["a"]).await;
}

#[tokio::test]
async fn polling_stops_while_too_much_is_unacknowledged() {
    let polls = (0..10).map(|at| Ok(texts(at, &["x"])));
    let mut setup = Setup::new(ScriptedSource::new(polls));
    setup.settings.max_outstanding_records = 3;
    setup.hold = true;
    let run = setup.start();
    eventually("the limit is reached", SOON, || run.producer.values().len() >= 3).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(run.producer.values().len(), 3);
    run.producer.release();
    eventually("the rest arrives", SOON, || run.producer.values().len() == 10).await;
}

#[tokio::test]
async fn a_record_that_no_converter_takes_fails_the_task_or_is_skipped() {
    let polls = || ScriptedSource::new([Ok(texts(1, &["no number"]))]);
    let mut setup = Setup::new(polls());
    setup.value_converter = "LongConverter";
    let failure = setup.start().ended.await.unwrap().unwrap_err().to_string();
    assert!(failure.contains("topic `t`") && failure.contains("VALUE_CONVERTER"), "{failure}");

    let mut setup = Setup::new(polls());
    (setup.value_converter, setup.tolerance) = ("LongConverter", "all");
    let run = setup.start();
    eventually("its offset is committed", SOON, || run.offset().as_deref() == Some(r#"{"at":1}"#)).await;
    assert!(run.producer.values().is_empty());
}

#[tokio::test]
async fn a_record_that_kafka_refuses_fails_the_task_or_is_skipped() {
    let polls = || ScriptedSource::new([Ok(texts(1, &["bad", "good"]))]);
    let mut setup = Setup::new(polls());
    setup.refuse = Some("bad");
    let run = setup.start();
    let offsets = run.offsets.clone();
    let failure = run.ended.await.unwrap().unwrap_err().to_string();
    assert!(failure.contains("KAFKA_PRODUCE") && failure.contains("refused by the broker"), "{failure}");
    assert_eq!(offsets.get("c", PARTITION), None);

    let mut setup = Setup::new(polls());
    (setup.refuse, setup.tolerance) = (Some("bad"), "all");
    let run = setup.start();
    eventually("the good one counts", SOON, || run.offset().as_deref() == Some(r#"{"at":2}"#)).await;
}

#[tokio::test]
async fn a_paused_task_polls_no_more_until_it_is_resumed() {
    let run = Setup::new(ScriptedSource::new([Ok(texts(1, &["a"]))])).start();
    eventually("the first record arrives", SOON, || run.producer.values() == ["a"]).await;
    run.wanted.send_replace(Wanted::Paused);
    tokio::time::sleep(Duration::from_millis(50)).await;
    run.task.push(Ok(texts(2, &["b"])));
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(run.producer.values(), ["a"]);
    run.wanted.send_replace(Wanted::Running);
    eventually("the second record arrives", SOON, || run.producer.values() == ["a", "b"]).await;
}

#[tokio::test]
async fn a_task_that_wants_to_know_hears_of_every_delivery() {
    let task = ScriptedSource::new([Ok(texts(1, &["a", "b"])), Ok(texts(3, &["c"]))]).want_deliveries();
    let run = Setup::new(task).start();
    let delivered = ["delivered 0.0", "delivered 0.1", "delivered 1.0"];
    let heard = |log: Vec<String>| log.into_iter().filter(|line| line.starts_with("delivered")).collect::<Vec<_>>();
    eventually("all deliveries are heard of", SOON, || heard(run.task.log()) == delivered).await;
}

#[tokio::test]
async fn records_that_a_transform_drops_count_as_delivered_and_others_go_where_it_says() {
    let mut setup = Setup::new(ScriptedSource::new([Ok(texts(1, &["a"])), Ok(texts(2, &["b"]))]));
    setup.transforms = RawConfig::from([
        ("transforms", "rename,drop"),
        ("transforms.rename.type", "org.apache.kafka.connect.transforms.RegexRouter"),
        ("transforms.rename.regex", "t"),
        ("transforms.rename.replacement", "renamed"),
        ("transforms.drop.type", "org.apache.kafka.connect.transforms.Filter"),
        ("transforms.drop.predicate", "is-t"),
        ("predicates", "is-t"),
        ("predicates.is-t.type", "org.apache.kafka.connect.transforms.predicates.TopicNameMatches"),
        ("predicates.is-t.pattern", "t"),
    ]);
    let run = setup.start();
    eventually("both are delivered", SOON, || run.offset().as_deref() == Some(r#"{"at":2}"#)).await;
    assert_eq!(run.producer.topics(), ["renamed", "renamed"]);

    let mut setup = Setup::new(ScriptedSource::new([Ok(texts(1, &["a"]))]));
    setup.transforms = RawConfig::from([
        ("transforms", "drop"),
        ("transforms.drop.type", "org.apache.kafka.connect.transforms.Filter"),
    ]);
    let run = setup.start();
    eventually("it counts", SOON, || run.offset().as_deref() == Some(r#"{"at":1}"#)).await;
    assert!(run.producer.values().is_empty());
}

/// A task with records for topic `t`, and topics that are made with four partitions.
fn creating(records: &[&str]) -> (Setup, MemoryTopics) {
    let polls = records.iter().enumerate().map(|(at, record)| Ok(texts(at as u64 + 1, &[record])));
    let mut setup = Setup::new(ScriptedSource::new(polls));
    let topics = MemoryTopics::default();
    let config = RawConfig::from([
        ("topic.creation.default.partitions", "4"),
        ("topic.creation.default.replication.factor", "1"),
        ("topic.creation.default.cleanup.policy", "compact"),
    ]);
    setup.topics = Some((config, topics.clone()));
    (setup, topics)
}

#[tokio::test]
async fn a_topic_is_made_once_before_the_first_record_for_it() {
    let (setup, topics) = creating(&["a", "b"]);
    topics.fail(TopicError::Denied("may not look".to_owned()));
    let run = setup.start();
    eventually("both arrive", SOON, || run.producer.values() == ["a", "b"]).await;
    let [made] = &topics.created()[..] else { panic!("one topic") };
    assert_eq!((made.name.as_str(), made.partitions, made.replication_factor), ("t", 4, 1));
    assert_eq!(made.settings.get("cleanup.policy").map(String::as_str), Some("compact"));
}

#[tokio::test]
async fn a_topic_that_exists_is_left_alone() {
    let (setup, topics) = creating(&["a"]);
    topics.add("t");
    let run = setup.start();
    eventually("it arrives", SOON, || run.producer.values() == ["a"]).await;
    assert!(topics.created().is_empty());
}

#[tokio::test]
async fn a_topic_that_cannot_be_made_fails_the_task_by_name_and_reason() {
    let (mut setup, topics) = creating(&["a"]);
    setup.tolerance = "all";
    topics.fail(TopicError::Denied("may not look".to_owned()));
    topics.fail(TopicError::Refused("replication factor 7 is more than there are brokers".to_owned()));
    let run = setup.start();
    let offsets = run.offsets.clone();
    let failure = run.ended.await.unwrap().unwrap_err().to_string();
    let expected = "topic `t` doesn't exist and can't be created (topic.creation.*): replication factor 7 is more \
                    than there are brokers";
    assert_eq!(failure, expected);
    assert_eq!(offsets.get("c", PARTITION), None);
}

#[tokio::test(start_paused = true)]
async fn a_broker_that_is_away_is_asked_again_and_a_stop_ends_the_wait() {
    let away = || TopicError::Retriable("no answer".to_owned());
    let (setup, topics) = creating(&["a"]);
    (0..3).for_each(|_| topics.fail(away()));
    let run = setup.start();
    eventually("it arrives in the end", SOON, || run.producer.values() == ["a"]).await;

    let (setup, topics) = creating(&["a", "b"]);
    (0..1_000_000).for_each(|_| topics.fail(away()));
    let run = setup.start();
    eventually("it is asked", SOON, || topics.failures_left() < 999_998).await;
    let (offsets, producer) = (run.offsets.clone(), run.producer.handle());
    tokio::time::timeout(Duration::from_secs(1), run.stop()).await.unwrap().unwrap();
    assert!(producer.values().is_empty());
    assert_eq!(offsets.get("c", PARTITION), None);
}
