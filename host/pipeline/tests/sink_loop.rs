//! The sink loop on in-memory doubles.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::time::Duration;

use bulkhead_doubles::{MemoryConsumer, MemoryConsumerHandle, QuietObserver, ScriptedSink, eventually};
use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::control::{TaskFailure, Wanted};
use bulkhead_pipeline::convert::{self, Converters, Role};
use bulkhead_pipeline::ports::{ErrorInfo, PluginError, Rejection, SinkControl};
use bulkhead_pipeline::sink::{Decoder, SinkLoop, SinkSettings};
use bulkhead_pipeline::tolerance::Tolerance;
use bulkhead_pipeline::transform::Chain;
use tokio::sync::watch;
use tokio::task::JoinHandle;

const SOON: Duration = Duration::from_secs(5);

struct Run {
    task: ScriptedSink,
    kafka: MemoryConsumerHandle,
    wanted: watch::Sender<Wanted>,
    ended: JoinHandle<Result<(), TaskFailure>>,
}

/// A loop with string converters that owns partition 0 of topic `t`.
fn start(task: ScriptedSink, value_converter: &str, tolerance: &str) -> Run {
    start_with(task, value_converter, tolerance, RawConfig::new())
}

fn start_with(task: ScriptedSink, value_converter: &str, tolerance: &str, transforms: RawConfig) -> Run {
    let (consumer, kafka) = MemoryConsumer::new();
    let converter = |class: &str, role| convert::create(class, &RawConfig::new(), role).unwrap();
    let (wanted, receiver) = watch::channel(Wanted::Running);
    let sink = SinkLoop {
        id: ConnectorName::new("c").task(0),
        task: Arc::new(task.clone()),
        consumer,
        decoder: Decoder::new(
            Converters {
                key: converter("StringConverter", Role::Key),
                value: converter(value_converter, Role::Value),
                header: converter("StringConverter", Role::Header),
                guests: Vec::new(),
            },
            Chain::new(&transforms).unwrap(),
        ),
        observer: QuietObserver,
        tolerance: Tolerance::from_config(&RawConfig::from([
            ("errors.tolerance", tolerance),
            ("errors.retry.delay.max.ms", "10"),
        ])),
        dead_letters: None,
        settings: SinkSettings { flush_interval: Duration::from_millis(20), ..SinkSettings::default() },
        wanted: receiver,
    };
    kafka.assign("t", 0);
    let ended = tokio::spawn(async move { sink.run(&RawConfig::new()).await });
    Run { task, kafka, wanted, ended }
}

impl Run {
    fn has_put(&self, line: &str) -> bool {
        self.task.log().iter().any(|entry| entry == line)
    }

    fn kafka_saw(&self, line: &str) -> bool {
        self.kafka.log().iter().any(|entry| entry == line)
    }
}

fn away() -> PluginError {
    PluginError::Retriable(ErrorInfo { message: "away".to_owned(), causes: Vec::new() })
}

#[tokio::test]
async fn records_are_put_and_their_offsets_committed() {
    let run = start(ScriptedSink::default(), "StringConverter", "none");
    run.kafka.records("t", 5, &["a", "b"]);
    eventually("they are committed", SOON, || run.kafka_saw("commit t-0@7")).await;
    assert_eq!(run.task.log(), ["start", "open t-0", "put a b"]);
    run.wanted.send_replace(Wanted::Stop);
    run.ended.await.unwrap().unwrap();
    assert_eq!(run.task.log()[3..], ["close t-0", "stop"]);
    assert_eq!(run.kafka.log().last().map(String::as_str), Some("close"));
}

#[tokio::test]
async fn a_retriable_put_brings_the_same_batch_again_with_partitions_paused_meanwhile() {
    let run = start(ScriptedSink::new([Err(away()), Err(away())]), "StringConverter", "none");
    run.kafka.records("t", 0, &["a"]);
    eventually("it is committed in the end", SOON, || run.kafka_saw("commit t-0@1")).await;
    assert_eq!(run.task.log()[2..], ["put a", "put a", "put a"]);
    let before_commit: Vec<_> = run.kafka.log().into_iter().take_while(|line| !line.starts_with("commit")).collect();
    assert_eq!(before_commit, ["pause t-0", "pause t-0", "resume t-0"]);
}

#[tokio::test]
async fn offsets_are_committed_and_the_task_closed_before_a_partition_goes() {
    let run = start(ScriptedSink::default(), "StringConverter", "none");
    run.kafka.records("t", 0, &["a"]);
    eventually("it is put", SOON, || run.has_put("put a")).await;
    let released = run.kafka.revoke("t", 0);
    let _ = tokio::time::timeout(SOON, released).await.expect("the partition is let go");
    assert!(run.kafka_saw("commit t-0@1"));
    assert!(run.has_put("close t-0"));
}

#[tokio::test]
async fn a_batch_that_waits_to_be_put_again_is_not_committed_when_its_partition_goes() {
    let run = start(ScriptedSink::new((0..10_000).map(|_| Err(away()))), "StringConverter", "none");
    run.kafka.records("t", 0, &["a"]);
    eventually("it is tried", SOON, || run.has_put("put a")).await;
    let released = run.kafka.revoke("t", 0);
    let _ = tokio::time::timeout(SOON, released).await.expect("the partition is let go");
    let puts = run.task.log().len();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert_eq!(run.task.log().len(), puts, "it is not put any more");
    assert!(!run.kafka.log().iter().any(|line| line.starts_with("commit")));
}

#[tokio::test]
async fn rejections_fail_the_task_or_are_skipped_as_tolerance_says() {
    let rejecting = || ScriptedSink::new([Ok(vec![Rejection { index: 1, message: "too odd".to_owned() }])]);
    let run = start(rejecting(), "StringConverter", "none");
    run.kafka.records("t", 7, &["a", "b"]);
    let failure = run.ended.await.unwrap().unwrap_err().to_string();
    assert!(failure.starts_with("record t-0@8 failed at stage TASK_PUT: too odd"), "{failure}");

    let run = start(rejecting(), "StringConverter", "all");
    run.kafka.records("t", 7, &["a", "b"]);
    eventually("both are committed", SOON, || run.kafka_saw("commit t-0@9")).await;
}

#[tokio::test]
async fn a_record_that_no_converter_takes_is_skipped_or_fails_the_task() {
    let run = start(ScriptedSink::default(), "IntegerConverter", "none");
    run.kafka.records("t", 3, &["no number"]);
    let failure = run.ended.await.unwrap().unwrap_err().to_string();
    assert!(failure.starts_with("record t-0@3 failed at stage VALUE_CONVERTER"), "{failure}");

    let run = start(ScriptedSink::default(), "IntegerConverter", "all");
    run.kafka.records("t", 3, &["no number"]);
    eventually("its offset counts", SOON, || run.kafka_saw("commit t-0@4")).await;
    assert!(run.has_put("put "));
}

#[tokio::test]
async fn the_task_can_rewind_and_pause() {
    let run = start(ScriptedSink::default(), "StringConverter", "none");
    let place = TopicPartition::new("t", 0);
    let seek = vec![TopicOffset { partition: place.clone(), offset: 2 }];
    run.task.ask(SinkControl { seek, pause: vec![place], ..SinkControl::default() });
    run.kafka.records("t", 5, &["a"]);
    eventually("it is obeyed", SOON, || run.kafka_saw("seek t-0@2") && run.kafka_saw("pause t-0")).await;
}

#[tokio::test]
async fn a_paused_connector_keeps_its_membership_and_holds_its_partitions() {
    let run = start(ScriptedSink::default(), "StringConverter", "none");
    eventually("it is open", SOON, || run.has_put("open t-0")).await;
    run.wanted.send_replace(Wanted::Paused);
    eventually("partitions are paused", SOON, || run.kafka_saw("pause t-0")).await;
    run.kafka.assign("t", 1);
    eventually("a new partition is paused too", SOON, || run.kafka_saw("pause t-1")).await;
    run.wanted.send_replace(Wanted::Running);
    eventually("all are resumed", SOON, || run.kafka_saw("resume t-0 t-1")).await;
}

/// Drops the record with value `b`, renames the topic of the others.
fn transforms() -> RawConfig {
    RawConfig::from([
        ("transforms", "drop,rename"),
        ("transforms.drop.type", "org.apache.kafka.connect.transforms.Filter"),
        ("transforms.drop.predicate", "tombstone"),
        ("transforms.rename.type", "org.apache.kafka.connect.transforms.RegexRouter"),
        ("transforms.rename.regex", "(.*)"),
        ("transforms.rename.replacement", "new-$1"),
        ("predicates", "tombstone"),
        ("predicates.tombstone.type", "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"),
    ])
}

#[tokio::test]
async fn records_that_a_transform_drops_count_as_put_and_renamed_ones_are_committed_where_they_were_read() {
    let run = start_with(ScriptedSink::default(), "ByteArrayConverter", "none", transforms());
    run.kafka.records_or_null("t", 5, &[Some("a"), None, Some("c"), None]);
    eventually("all are committed", SOON, || run.kafka_saw("commit t-0@9")).await;
    assert!(run.has_put("put a c"), "{:?}", run.task.log());
}

#[tokio::test]
async fn a_record_that_a_transform_refuses_is_skipped_or_fails_the_task() {
    let hoist = || {
        RawConfig::from([
            ("transforms", "extract"),
            ("transforms.extract.type", "org.apache.kafka.connect.transforms.ExtractField$Value"),
            ("transforms.extract.field", "x"),
        ])
    };
    let run = start_with(ScriptedSink::default(), "StringConverter", "none", hoist());
    run.kafka.records("t", 3, &["no struct"]);
    let failure = run.ended.await.unwrap().unwrap_err().to_string();
    assert!(failure.starts_with("record t-0@3 failed at stage TRANSFORMATION: transform `extract`"), "{failure}");

    let run = start_with(ScriptedSink::default(), "StringConverter", "all", hoist());
    run.kafka.records("t", 3, &["no struct"]);
    eventually("its offset counts", SOON, || run.kafka_saw("commit t-0@4")).await;
}
