//! Which topics are taken, made and refused.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use bulkhead_kafka::admin::{Creation, NewTopic};
use bulkhead_kafka::topic_log::{LogSettings, Purpose};

use super::Worker;
use crate::support::{Broker, fresh};

async fn make(worker: &Worker, name: &str, partitions: i32, policy: &str) {
    let settings = BTreeMap::from([("cleanup.policy".to_owned(), policy.to_owned())]);
    let topic = NewTopic { name: name.to_owned(), partitions, replication_factor: -1, settings };
    assert_eq!(worker.admin.create_topic(topic).await, Ok(Creation::Created));
}

/// The refusal, which has to come quickly and to change nothing.
async fn refusal(worker: &Worker, settings: LogSettings) -> String {
    let before = worker.admin.topic_settings(&settings.topic).await;
    let (topic, begun) = (settings.topic.clone(), Instant::now());
    let error = worker.try_open(settings).await.err().expect("it is refused");
    assert!(begun.elapsed() < Duration::from_secs(5), "{error} after {:?}", begun.elapsed());
    assert_eq!(worker.admin.topic_settings(&topic).await, before);
    error.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn missing_topics_are_made_as_the_worker_says() {
    let Some(broker) = Broker::real() else { return };
    let more = [
        ("config.storage.partitions", "9"),
        ("config.storage.cleanup.policy", "delete"),
        ("config.storage.max.message.bytes", "2000000"),
        ("offset.storage.partitions", "3"),
        ("status.storage.partitions", "-1"),
        ("status.storage.replication.factor", "-1"),
    ];
    let worker = Worker::new(&broker, &more);
    for (purpose, partitions) in [(Purpose::Config, 1), (Purpose::Offset, 3), (Purpose::Status, 1)] {
        let log = worker.open(purpose).await;
        let topic = log.log.topic();
        assert_eq!(worker.admin.partition_count(topic).await, Ok(Some(partitions)));
        let settings = worker.admin.topic_settings(topic).await.unwrap();
        assert_eq!(settings["cleanup.policy"], "compact");
        if purpose == Purpose::Config {
            assert_eq!(settings["max.message.bytes"], "2000000");
        }
        drop(log);
        worker.open(purpose).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn topics_of_another_kind_are_refused_by_name() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    for (purpose, policy) in
        [(Purpose::Config, "delete"), (Purpose::Offset, "compact,delete"), (Purpose::Status, "delete")]
    {
        let settings = worker.log_settings(purpose);
        let topic = settings.topic.clone();
        make(&worker, &topic, 1, policy).await;
        let setting = purpose.topic_key();
        assert_eq!(
            refusal(&worker, settings).await,
            format!(
                "topic `{topic}` (`{setting}`) has `cleanup.policy` = `{policy}`, but it has to be `compact`: with \
                 another policy the broker deletes what the worker needs"
            )
        );
    }
    let settings = LogSettings { topic: fresh("config"), ..worker.log_settings(Purpose::Config) };
    let topic = settings.topic.clone();
    make(&worker, &topic, 2, "compact").await;
    assert_eq!(
        refusal(&worker, settings).await,
        format!("topic `{topic}` (`config.storage.topic`) has 2 partitions, but it has to have 1")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_missing_topic_is_refused_if_it_may_not_be_made() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[("internal.topics.automatic.creation.enable", "false")]);
    let settings = worker.log_settings(Purpose::Offset);
    let topic = settings.topic.clone();
    assert_eq!(
        refusal(&worker, settings).await,
        format!(
            "topic `{topic}` (`offset.storage.topic`) doesn't exist, and `internal.topics.automatic.creation.enable` \
             is false"
        )
    );
    assert_eq!(worker.admin.partition_count(&topic).await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_topic_that_the_broker_does_not_make_is_named_with_the_reason() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[("status.storage.replication.factor", "3")]);
    let settings = worker.log_settings(Purpose::Status);
    let topic = settings.topic.clone();
    let error = worker.try_open(settings).await.err().expect("there is one broker");
    assert_eq!(error.to_string(), format!("topic `{topic}` (`status.storage.topic`) can't be used"));
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.starts_with(&format!("creating topic `{topic}` failed: ")), "{source}");
    assert!(source.to_lowercase().contains("replication factor"), "{source}");
    assert_eq!(worker.admin.partition_count(&topic).await, Ok(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_not_there_is_named_in_time() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let servers = free.local_addr().unwrap().to_string();
    drop(free);
    let worker = Worker::new(&Broker::at(&servers), &[]);
    let wait = Duration::from_millis(500);
    let settings = LogSettings { connect_timeout: wait, ..worker.log_settings(Purpose::Config) };
    let begun = Instant::now();
    let error = worker.try_open(settings).await.err().expect("there is no broker").to_string();
    assert!(error.starts_with(&format!("no Kafka broker answers at {servers} within 500ms")), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn making_a_topic_that_exists_says_so() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[]);
    let name = fresh("twice");
    make(&worker, &name, 2, "delete").await;
    let again = NewTopic { name: name.clone(), partitions: 5, replication_factor: 1, settings: BTreeMap::new() };
    assert_eq!(worker.admin.create_topic(again).await, Ok(Creation::Exists));
    assert_eq!(worker.admin.end_offsets(&name).await, Ok(vec![(0, 0), (1, 0)]));
    let missing = worker.admin.end_offsets("no-such-topic").await.unwrap_err().to_string();
    assert_eq!(missing, "topic `no-such-topic` doesn't exist");
}
