//! What transactional writers leave in a log: control records, and ends that are open.

use std::time::Duration;

use bulkhead_kafka::topic_log::{LogEvent, Purpose};
use rdkafka::producer::{FutureProducer, FutureRecord, Producer};

use super::{Log, PATIENCE, Worker, client, line, produce};
use crate::support::{Broker, fresh};

/// A producer with an open transaction.
async fn transactional(broker: &Broker) -> FutureProducer {
    let producer: FutureProducer = client(broker).set("transactional.id", fresh("txn")).create().unwrap();
    blocking(&producer, |producer| {
        producer.init_transactions(PATIENCE).unwrap();
        producer.begin_transaction().unwrap();
    })
    .await;
    producer
}

async fn blocking(producer: &FutureProducer, work: impl FnOnce(&FutureProducer) + Send + 'static) {
    let producer = producer.clone();
    tokio::task::spawn_blocking(move || work(&producer)).await.unwrap();
}

async fn write(producer: &FutureProducer, topic: &str, key: &str) {
    produce(producer, FutureRecord::to(topic).key(key.as_bytes()).payload(b"t")).await;
}

/// Everything up to the marker, as text.
async fn until_end(log: &mut Log) -> Vec<String> {
    let mut lines = Vec::new();
    loop {
        match log.next().await {
            LogEvent::Record(record) => lines.push(line(&record)),
            LogEvent::ReadToEnd { outcome, .. } => {
                outcome.unwrap();
                return lines;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_waits_for_open_transactions_where_only_committed_records_are_read() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[("exactly.once.source.support", "enabled")]);
    let mut committed = worker.open(Purpose::Config).await;
    let mut settings = worker.log_settings(Purpose::Config);
    settings.isolation = bulkhead_kafka::topic_log::Isolation::ReadUncommitted;
    let mut uncommitted = worker.try_open(settings).await.unwrap();
    let topic = committed.log.topic().to_owned();
    let producer = transactional(&broker).await;
    write(&producer, &topic, "a").await;
    committed.append(&[("plain", Some("1"))]).await;

    assert_eq!(uncommitted.rest_as_text().await, ["a=t", "plain=1"]);
    committed.log.read_to_end(7);
    let early = tokio::time::timeout(Duration::from_secs(1), committed.events.next()).await;
    assert!(early.is_err(), "{early:?} although a transaction is open");
    blocking(&producer, |producer| producer.commit_transaction(PATIENCE).unwrap()).await;
    assert_eq!(until_end(&mut committed).await, ["a=t", "plain=1"]);
    assert_eq!(committed.rest_as_text().await, [""; 0], "the last offset is that of a control record");
    assert_eq!(uncommitted.rest_as_text().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn records_of_an_aborted_transaction_are_passed_over() {
    let Some(broker) = Broker::real() else { return };
    let worker = Worker::new(&broker, &[("exactly.once.source.support", "enabled")]);
    let mut log = worker.open(Purpose::Offset).await;
    let topic = log.log.topic().to_owned();
    let producer = transactional(&broker).await;
    for key in ["a", "b", "c"] {
        write(&producer, &topic, key).await;
    }
    blocking(&producer, |producer| producer.abort_transaction(PATIENCE).unwrap()).await;
    assert_eq!(log.rest_as_text().await, [""; 0]);
    let mut late = worker.open(Purpose::Offset).await;
    assert_eq!(late.rest_as_text().await, [""; 0], "nothing but gaps from the beginning to the end");
    log.append(&[("d", Some("1"))]).await;
    assert_eq!(log.rest_as_text().await, ["d=1"]);
    assert_eq!(late.rest_as_text().await, ["d=1"]);
}
