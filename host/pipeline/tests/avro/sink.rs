use bulkhead_doubles::{MemoryConsumer, MemoryConsumerHandle, ScriptedSink, eventually};
use bulkhead_model::ConnectorName;
use bulkhead_pipeline::control::{TaskFailure, Wanted};
use bulkhead_pipeline::convert::Converters;
use bulkhead_pipeline::ports::{Consumed, RegistryError};
use bulkhead_pipeline::sink::{Decoder, SinkLoop, SinkSettings};
use bulkhead_pipeline::transform::Chain;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::*;

struct Run {
    task: ScriptedSink,
    kafka: MemoryConsumerHandle,
    pauses: Pauses,
    wanted: watch::Sender<Wanted>,
    ended: JoinHandle<Result<(), TaskFailure>>,
}

/// A loop that owns partition 0 of topic `t`.
fn start(registry: &MemoryRegistry, tolerance: Tolerance) -> Run {
    let (consumer, kafka) = MemoryConsumer::new();
    let (task, pauses) = (ScriptedSink::default(), Pauses::default());
    let (wanted, receiver) = watch::channel(Wanted::Running);
    let sink = SinkLoop {
        id: ConnectorName::new("c").task(0),
        task: Arc::new(task.clone()),
        consumer,
        decoder: Decoder::new(
            Converters {
                key: strings(Role::Key),
                value: converter(registry, Role::Value, &[]),
                header: strings(Role::Header),
                guests: Vec::new(),
            },
            Chain::default(),
        ),
        observer: pauses.clone(),
        tolerance,
        dead_letters: None,
        settings: SinkSettings { flush_interval: Duration::from_millis(20), ..SinkSettings::default() },
        wanted: receiver,
    };
    kafka.assign("t", 0);
    let ended = tokio::spawn(async move { sink.run(&RawConfig::new()).await });
    Run { task, kafka, pauses, wanted, ended }
}

impl Run {
    fn fetched(&self, first_offset: i64, values: &[Vec<u8>]) {
        let count = values.len();
        self.kafka.fetched(Consumed {
            topics: vec!["t".into()],
            topic: vec![0; count],
            partition: vec![0; count],
            offset: (first_offset..first_offset + count as i64).collect(),
            timestamp: vec![0; count],
            timestamp_type: vec![1; count],
            key_len: vec![-1; count],
            value_len: values.iter().map(|value| value.len() as i32).collect(),
            header_count: vec![0; count],
            data: values.concat().into(),
            ..Consumed::default()
        });
    }

    fn has_put(&self, line: &str) -> bool {
        self.task.log().iter().any(|entry| entry == line)
    }

    fn kafka_saw(&self, line: &str) -> bool {
        self.kafka.log().iter().any(|entry| entry == line)
    }

    async fn stop(self) -> Result<(), TaskFailure> {
        self.wanted.send_replace(Wanted::Stop);
        self.ended.await.unwrap()
    }
}

#[tokio::test]
async fn a_fetch_asks_for_each_of_its_schemas_once() {
    let registry = MemoryRegistry::default();
    registry.put("t-value", r#""string""#);
    let run = start(&registry, tolerance("all", "0"));
    run.fetched(0, &[text(1, "a"), text(9, "x"), text(1, "b"), text(9, "y"), b"{}".to_vec(), text(1, "c")]);
    eventually("the good ones are put", SOON, || run.has_put("put a b c")).await;
    assert_eq!(registry.asked(), ["id 1", "find t-value", "id 9"]);
    run.fetched(6, &[text(9, "x"), text(1, "d")]);
    eventually("the next is put", SOON, || run.has_put("put d")).await;
    assert_eq!(registry.asked()[3..], ["id 9"]);
    run.stop().await.unwrap();
}

#[tokio::test]
async fn an_unknown_id_fails_the_task_if_nothing_is_tolerated() {
    let registry = MemoryRegistry::default();
    let run = start(&registry, tolerance("none", "0"));
    run.fetched(7, &[text(9, "x")]);
    let failure = run.ended.await.unwrap().unwrap_err().to_string();
    let expected = "record t-0@7 failed at stage VALUE_CONVERTER: Error retrieving Avro schema for id 9\n\
                    caused by: schema with id 9: Schema not found";
    assert!(failure.starts_with(expected), "{failure}");
}

#[tokio::test]
async fn what_may_pass_is_tried_again_within_the_time_out() {
    let registry = MemoryRegistry::default();
    registry.put("t-value", r#""string""#);
    registry.fail([RegistryError::Retriable("busy".to_owned()), RegistryError::Retriable("busy".to_owned())]);
    let run = start(&registry, tolerance("none", "600000"));
    run.fetched(0, &[text(1, "a")]);
    eventually("it is put", SOON, || run.has_put("put a")).await;
    assert_eq!(registry.asked(), ["id 1", "id 1", "id 1", "find t-value"]);
    run.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_hangs_keeps_no_task_from_pausing_or_stopping() {
    let registry = MemoryRegistry::default();
    registry.put("t-value", r#""string""#);
    registry.hang();
    let run = start(&registry, tolerance("none", "-1"));
    run.fetched(5, &[text(1, "a")]);
    eventually("it is asked", SOON, || registry.asked().len() == 1).await;
    run.wanted.send_replace(Wanted::Paused);
    eventually("it is paused", SOON, || run.pauses.are(&["paused"])).await;
    assert!(run.kafka_saw("seek t-0@5"), "{:?}", run.kafka.log());
    run.wanted.send_replace(Wanted::Running);
    run.fetched(5, &[text(1, "a")]);
    eventually("it is asked again", SOON, || registry.asked().len() == 2).await;
    let kafka = run.kafka.clone();
    run.stop().await.unwrap();
    assert!(!kafka.log().iter().any(|line| line.starts_with("commit")), "{:?}", kafka.log());
}

#[tokio::test]
async fn tombstones_need_no_schema() {
    let registry = MemoryRegistry::default();
    let run = start(&registry, tolerance("none", "0"));
    run.kafka.records_or_null("t", 0, &[None]);
    eventually("it is put", SOON, || run.has_put("put ")).await;
    assert!(registry.asked().is_empty());
    run.stop().await.unwrap();
}
