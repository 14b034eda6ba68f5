//! Source offsets in a topic, against a real broker.

use std::time::Duration;

use bulkhead_kafka::offset_store::OwnTopic;
use bulkhead_kafka::topic_log::{LogRecord, Purpose};
use bulkhead_kafka::{LogSettings, OffsetTopic, OffsetTopics};
use bulkhead_model::offset::{SourceOffset, SourcePartition};
use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::ports::OffsetStore;

use crate::logs::Worker;
use crate::support::{Broker, fresh};

const PATIENCE: Duration = Duration::from_secs(60);

fn partition(text: &str) -> SourcePartition {
    SourcePartition(text.into())
}

async fn open(worker: &Worker) -> OffsetTopic {
    let settings = worker.log_settings(Purpose::Offset);
    OffsetTopic::open(&worker.admin, settings, PATIENCE, |record, why| panic!("{record:?} {why}")).await.unwrap()
}

async fn commit(store: &impl OffsetStore, connector: &str, writes: &[(&str, Option<&str>)]) {
    let offset = |text: &str| SourceOffset(text.into());
    let writes = writes.iter().map(|(key, value)| (partition(key), value.map(offset)));
    store.write(&ConnectorName::new(connector), writes.collect()).await.unwrap();
}

async fn check(store: &impl OffsetStore, connector: &str) -> Vec<String> {
    let all = store.all(&ConnectorName::new(connector)).await.unwrap();
    all.into_iter().map(|(partition, offset)| format!("{} at {}", partition.0, offset.0)).collect()
}

async fn get(store: &impl OffsetStore, connector: &str, key: &str) -> Option<String> {
    let found = store.read(&ConnectorName::new(connector), vec![partition(key)]).await.unwrap();
    found[0].as_ref().map(|offset| offset.0.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_committed_is_there_at_once_for_others_and_after_a_restart() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let (one, two) = (open(&worker).await, open(&worker).await);
    commit(&one, "c", &[(r#"{"f":"a"}"#, Some(r#"{"at":1}"#)), (r#"{"f":"b"}"#, Some(r#"{"at":1}"#))]).await;
    assert_eq!(get(&one, "c", r#"{"f":"a"}"#).await.as_deref(), Some(r#"{"at":1}"#));
    assert_eq!(get(&two, "c", r#"{ "f": "a" }"#).await.as_deref(), Some(r#"{"at":1}"#));
    for at in 2..50 {
        let writer = if at % 2 == 0 { &one } else { &two };
        let offset = format!(r#"{{"at":{at}}}"#);
        commit(writer, "c", &[(r#"{"f":"a"}"#, Some(&offset))]).await;
        assert_eq!(get(&one, "c", r#"{"f":"a"}"#).await.as_deref(), Some(&*offset));
    }
    commit(&two, "c", &[(r#"{"f":"b"}"#, None)]).await;
    commit(&two, "d", &[(r#"{"f":"a"}"#, Some(r#"{"at":7}"#))]).await;
    assert_eq!(check(&one, "c").await, [r#"{"f":"a"} at {"at":49}"#]);
    drop((one, two));
    let again = open(&worker).await;
    assert_eq!(check(&again, "c").await, [r#"{"f":"a"} at {"at":49}"#]);
    assert_eq!(check(&again, "d").await, [r#"{"f":"a"} at {"at":7}"#]);
    assert_eq!(check(&again, "e").await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_keeps_the_key_that_it_has_in_the_topic() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let mut log = worker.open(Purpose::Offset).await;
    let store = open(&worker).await;
    // As Java's map may order them.
    log.append(&[(r#"["c",{"b":2,"a":1}]"#, Some(r#"{"at":1}"#))]).await;
    assert_eq!(get(&store, "c", r#"{"a":1,"b":2}"#).await.as_deref(), Some(r#"{"at":1}"#));
    commit(&store, "c", &[(r#"{"a":1,"b":2}"#, Some(r#"{"at":2}"#))]).await;
    commit(&store, "c", &[(r#"{"a":1,"b":3}"#, Some(r#"{ "at" : 9 }"#))]).await;
    let mut lines = log.rest_as_text().await;
    lines.sort();
    assert_eq!(
        lines,
        [r#"["c",{"a":1,"b":3}]={"at":9}"#, r#"["c",{"b":2,"a":1}]={"at":1}"#, r#"["c",{"b":2,"a":1}]={"at":2}"#,]
    );

    // Another writer gave it a second key: the newest stays, the other goes.
    log.append(&[(r#"["c",{"a":1,"b":2}]"#, Some(r#"{"at":3}"#))]).await;
    assert_eq!(get(&store, "c", r#"{"b":2,"a":1}"#).await.as_deref(), Some(r#"{"at":3}"#));
    commit(&store, "c", &[(r#"{"b":2,"a":1}"#, Some(r#"{"at":4}"#))]).await;
    assert_eq!(get(&store, "c", r#"{"b":2,"a":1}"#).await.as_deref(), Some(r#"{"at":4}"#));
    let mut lines = log.rest_as_text().await;
    lines.sort();
    assert_eq!(
        lines,
        [r#"["c",{"a":1,"b":2}]={"at":3}"#, r#"["c",{"a":1,"b":2}]={"at":4}"#, r#"["c",{"b":2,"a":1}]=null"#,]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_offset_is_told_and_what_is_no_object_is_refused() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let log = worker.open(Purpose::Offset).await;
    log.append(&[("what", Some("x")), (r#"["c",{"f":"a"}]"#, Some("[]")), (r#"["c"]"#, None)]).await;
    let (refuse, refused) = std::sync::mpsc::channel();
    let note = move |record: &LogRecord, why: &str| refuse.send(format!("{} {why}", record.offset)).unwrap();
    let settings = worker.log_settings(Purpose::Offset);
    let store = OffsetTopic::open(&worker.admin, settings, PATIENCE, note).await.unwrap();
    assert_eq!(check(&store, "c").await.len(), 0);
    let mut reasons: Vec<_> = refused.try_iter().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect();
    reasons.sort();
    let (key, value) = ("its key is not that of a source offset", "its value is not a source offset");
    assert_eq!(reasons, [key, key, value]);
    let writes = vec![
        (partition(r#"{"f":"a"}"#), Some(SourceOffset("{}".into()))),
        (partition(r#"{"f":"b"}"#), Some(SourceOffset("[1]".into()))),
    ];
    let error = store.write(&ConnectorName::new("c"), writes).await.unwrap_err();
    assert_eq!(error.to_string(), "the source offset `[1]` is not a JSON object");
    assert_eq!(check(&store, "c").await, [""; 0], "nothing was written");
}

#[tokio::test(flavor = "multi_thread")]
async fn g39_a_connectors_own_topic_comes_first_and_forgetting_reaches_both() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let shared = open(&worker).await;
    let settings = LogSettings { topic: fresh("own"), ..worker.log_settings(Purpose::Offset) };
    let own = OffsetTopic::open(&worker.admin, settings, PATIENCE, |_, _| {}).await.unwrap();
    let both = OwnTopic::new(own.clone(), shared.clone());
    commit(&shared, "c", &[(r#"{"f":"a"}"#, Some(r#"{"at":1}"#)), (r#"{"f":"b"}"#, Some(r#"{"at":1}"#))]).await;
    assert_eq!(get(&both, "c", r#"{"f":"a"}"#).await.as_deref(), Some(r#"{"at":1}"#), "from before it had a topic");

    commit(&own, "c", &[(r#"{"f":"a"}"#, Some(r#"{"at":5}"#))]).await;
    assert_eq!(check(&both, "c").await, [r#"{"f":"a"} at {"at":5}"#, r#"{"f":"b"} at {"at":1}"#]);
    commit(&both, "c", &[(r#"{"f":"a"}"#, Some(r#"{"at":6}"#)), (r#"{"f":"b"}"#, None)]).await;
    assert_eq!(check(&own, "c").await, [r#"{"f":"a"} at {"at":6}"#]);
    // The shared topic is written behind the caller's back.
    let deadline = std::time::Instant::now() + PATIENCE;
    while check(&shared, "c").await != [r#"{"f":"a"} at {"at":6}"#] {
        assert!(std::time::Instant::now() < deadline, "{:?}", check(&shared, "c").await);
    }
    commit(&both, "c", &[(r#"{"f":"a"}"#, None)]).await;
    for found in [check(&both, "c").await, check(&own, "c").await, check(&shared, "c").await] {
        assert_eq!(found, [""; 0]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn g39_a_connector_that_names_a_topic_has_its_offsets_in_both() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let shared = open(&worker).await;
    let settings = worker.log_settings(Purpose::Offset);
    let topics = OffsetTopics::new(shared.clone(), worker.admin.clone(), settings.clone(), PATIENCE, |_, _| {});
    let name = ConnectorName::new("c");
    let topic = fresh("own");
    let config = RawConfig::from([("offsets.storage.topic", topic.as_str())]);
    topics.configure(&name, &config).await.unwrap();
    commit(&topics, "c", &[(r#"{"f":"a"}"#, Some(r#"{"at":1}"#))]).await;
    let own = LogSettings { topic: topic.clone(), ..settings };
    let own = OffsetTopic::open(&worker.admin, own, PATIENCE, |_, _| {}).await.unwrap();
    assert_eq!(check(&own, "c").await, check(&topics, "c").await);
    assert_eq!(check(&own, "c").await.len(), 1);

    topics.configure(&name, &RawConfig::new()).await.unwrap();
    assert_eq!(get(&topics, "c", r#"{"f":"a"}"#).await.as_deref(), Some(r#"{"at":1}"#), "it goes on where it was");
    topics.configure(&name, &RawConfig::from([("offsets.storage.topic", shared.topic())])).await.unwrap();
    commit(&topics, "c", &[(r#"{"f":"a"}"#, None)]).await;
    assert_eq!((check(&shared, "c").await.len(), check(&own, "c").await.len()), (0, 1), "the worker's own is no other");
}
