use bulkhead_doubles::{MemoryOffsets, MemoryProducer, ScriptedSource, eventually, texts};
use bulkhead_model::ConnectorName;
use bulkhead_pipeline::control::{TaskFailure, Wanted};
use bulkhead_pipeline::convert::Converters;
use bulkhead_pipeline::ports::RegistryError;
use bulkhead_pipeline::source::{Acks, Encoder, SourceLoop, SourceSettings};
use bulkhead_pipeline::transform::Chain;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::*;

struct Run {
    producer: MemoryProducer,
    offsets: MemoryOffsets,
    pauses: Pauses,
    wanted: watch::Sender<Wanted>,
    ended: JoinHandle<Result<(), TaskFailure>>,
}

/// A loop that sends two texts, in one batch.
fn start(registry: &MemoryRegistry, tolerance: Tolerance) -> Run {
    let acks = Arc::new(Acks::default());
    let producer = MemoryProducer::new(acks.clone());
    let (offsets, pauses) = (MemoryOffsets::default(), Pauses::default());
    let (wanted, receiver) = watch::channel(Wanted::Running);
    let source = SourceLoop {
        id: ConnectorName::new("c").task(0),
        task: Arc::new(ScriptedSource::new([Ok(texts(1, &["a", "b"]))])),
        producer: producer.handle(),
        acks,
        encoder: Encoder::new(
            Chain::default(),
            Converters {
                key: strings(Role::Key),
                value: converter(registry, Role::Value, &[]),
                header: strings(Role::Header),
                guests: Vec::new(),
            },
        ),
        topics: None,
        offsets: Arc::new(offsets.clone()),
        observer: pauses.clone(),
        tolerance,
        settings: SourceSettings { flush_interval: Duration::from_millis(20), ..SourceSettings::default() },
        wanted: receiver,
    };
    let ended = tokio::spawn(async move { source.run(&RawConfig::new()).await });
    Run { producer, offsets, pauses, wanted, ended }
}

impl Run {
    /// The texts that were sent, each behind the id of the schema of values without schema.
    fn sent(&self) -> Vec<String> {
        let text = |value: &[u8]| {
            let rest = value.strip_prefix(&[0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 2]).unwrap();
            String::from_utf8(rest.strip_suffix(&[0, 0]).unwrap().to_vec()).unwrap()
        };
        self.producer.sent().iter().map(|sent| text(sent.value.as_ref().unwrap())).collect()
    }

    fn offset(&self) -> Option<String> {
        self.offsets.get("c", r#"{"p":1}"#)
    }

    async fn stop(self) -> Result<(), TaskFailure> {
        self.wanted.send_replace(Wanted::Stop);
        self.ended.await.unwrap()
    }
}

fn busy() -> RegistryError {
    RegistryError::Retriable("busy".to_owned())
}

#[tokio::test]
async fn a_batch_asks_for_its_schema_once() {
    let registry = MemoryRegistry::default();
    let run = start(&registry, tolerance("none", "0"));
    eventually("both are committed", SOON, || run.offset().as_deref() == Some(r#"{"at":2}"#)).await;
    assert_eq!(
        (run.sent(), registry.asked()),
        (vec!["a".to_owned(), "b".to_owned()], vec!["register t-value".to_owned()])
    );
    run.stop().await.unwrap();
}

#[tokio::test]
async fn a_refusal_fails_the_task_and_names_the_stage() {
    let registry = MemoryRegistry::default();
    registry.fail([RegistryError::Refused("incompatible".to_owned())]);
    let failure = start(&registry, tolerance("none", "0")).ended.await.unwrap().unwrap_err().to_string();
    let expected = "failed at stage VALUE_CONVERTER: Error registering Avro schema\ncaused by: incompatible";
    assert!(failure.contains(expected), "{failure}");
}

#[tokio::test]
async fn where_all_is_tolerated_a_refusal_counts_for_the_rest_of_the_batch() {
    let registry = MemoryRegistry::default();
    registry.fail([RegistryError::Refused("incompatible".to_owned())]);
    let run = start(&registry, tolerance("all", "0"));
    eventually("both are skipped", SOON, || run.offset().as_deref() == Some(r#"{"at":2}"#)).await;
    assert_eq!((run.sent().len(), registry.asked().len()), (0, 1));
    run.stop().await.unwrap();
}

#[tokio::test]
async fn what_may_pass_is_tried_again_only_within_the_time_out() {
    let registry = MemoryRegistry::default();
    registry.fail([busy()]);
    let failure = start(&registry, tolerance("none", "0")).ended.await.unwrap().unwrap_err().to_string();
    assert!(failure.contains("caused by: busy"), "{failure}");
    registry.fail([busy(), busy(), busy()]);
    let run = start(&registry, tolerance("none", "600000"));
    eventually("both are sent", SOON, || run.sent() == ["a", "b"]).await;
    run.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_hangs_keeps_no_task_from_stopping() {
    let registry = MemoryRegistry::default();
    registry.hang();
    let run = start(&registry, tolerance("none", "-1"));
    eventually("it is asked", SOON, || registry.asked().len() == 1).await;
    let offsets = run.offsets.clone();
    run.stop().await.unwrap();
    assert_eq!(offsets.get("c", r#"{"p":1}"#), None);
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_hangs_keeps_no_task_from_pausing() {
    let registry = MemoryRegistry::default();
    registry.hang();
    let run = start(&registry, tolerance("none", "-1"));
    eventually("it is asked", SOON, || registry.asked().len() == 1).await;
    run.wanted.send_replace(Wanted::Paused);
    eventually("it is paused", SOON, || run.pauses.are(&["paused"])).await;
    registry.answer();
    assert_eq!(run.sent().len(), 0);
    run.wanted.send_replace(Wanted::Running);
    eventually("both are sent", SOON, || run.sent() == ["a", "b"]).await;
    assert!(run.pauses.are(&["paused", "resumed"]));
    run.stop().await.unwrap();
}
