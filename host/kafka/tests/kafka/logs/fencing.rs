//! Who has claimed a log last can write to it, and nobody else who has claimed it.

use bulkhead_kafka::topic_log::{Isolation, LogEntry, Purpose, Unwritten};
use bulkhead_kafka::{FencableLog, LogSettings};
use bytes::Bytes;

use super::Worker;
use crate::support::{Broker, fresh};

fn entries(pairs: &[(&'static str, &'static str)]) -> Vec<LogEntry> {
    pairs.iter().map(|(key, value)| (Bytes::from(*key), Some(Bytes::from(*value)))).collect()
}

fn leader(worker: &Worker) -> FencableLog {
    FencableLog::of_leader(&worker.log_settings(Purpose::Config)).unwrap()
}

/// A worker in a group of its own: claims are made by the name of the group.
fn worker(broker: &Broker) -> Worker {
    Worker::new(broker, &[("group.id", &fresh("leaders"))])
}

#[tokio::test(flavor = "multi_thread")]
async fn g31_of_two_claimants_the_older_one_is_fenced_and_leaves_nothing() {
    let Some(broker) = Broker::real() else { return };
    let worker = worker(&broker);
    let mut log = worker.open(Purpose::Config).await;
    let (older, younger) = (leader(&worker), leader(&worker));
    older.claim().await.unwrap();
    older.append(entries(&[("connector-a", "1"), ("commit-a", "1")])).await.unwrap();
    assert_eq!(log.rest_as_text().await, ["connector-a=1", "commit-a=1"]);

    younger.claim().await.unwrap();
    let stale = older.append(entries(&[("connector-a", "stale"), ("commit-a", "stale")])).await;
    assert!(matches!(stale, Err(Unwritten::Fenced(_))), "{stale:?}");
    let closed = older.append(entries(&[("connector-a", "stale")])).await;
    assert_eq!(closed, Err(Unwritten::Unclaimed));
    younger.append(entries(&[("connector-a", "2")])).await.unwrap();
    // What was aborted would be seen here as well.
    assert_eq!(log.rest_as_text().await, ["connector-a=2"]);

    older.claim().await.unwrap();
    older.append(entries(&[("connector-a", "3")])).await.unwrap();
    let stale = younger.append(entries(&[("connector-a", "stale")])).await;
    assert!(matches!(stale, Err(Unwritten::Fenced(_))), "{stale:?}");
    assert_eq!(log.rest_as_text().await, ["connector-a=3"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_is_written_whole_or_is_nothing_and_costs_the_claim() {
    let Some(broker) = Broker::real() else { return };
    let worker = worker(&broker);
    let committed = LogSettings { isolation: Isolation::ReadCommitted, ..worker.log_settings(Purpose::Config) };
    let mut log = worker.try_open(committed).await.unwrap();
    let leader = leader(&worker);
    assert_eq!(leader.append(entries(&[("a", "1")])).await, Err(Unwritten::Unclaimed));
    leader.claim().await.unwrap();
    let mut one_too_many = entries(&[("a", "1")]);
    // Librdkafka takes no record of more than a megabyte.
    one_too_many.push((Bytes::from_static(b"b"), Some(Bytes::from(vec![b'x'; 2_000_000]))));
    let failed = leader.append(one_too_many).await;
    assert!(matches!(failed, Err(Unwritten::Failed(_))), "{failed:?}");
    leader.claim().await.unwrap();
    leader.append(entries(&[("a", "2"), ("b", "2")])).await.unwrap();
    assert_eq!(log.rest_as_text().await, ["a=2", "b=2"]);
    leader.forget();
    assert_eq!(leader.append(entries(&[("a", "3")])).await, Err(Unwritten::Unclaimed));
    assert_eq!(log.rest_as_text().await, [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn leaders_of_other_groups_and_plain_writers_are_no_concern_of_a_claim() {
    let Some(broker) = Broker::real() else { return };
    let (one, other) = (worker(&broker), worker(&broker));
    let mut log = one.open(Purpose::Config).await;
    other.open(Purpose::Config).await;
    let (ours, theirs) = (leader(&one), leader(&other));
    ours.claim().await.unwrap();
    theirs.claim().await.unwrap();
    log.append(&[("target-state-a", Some("plain"))]).await;
    ours.append(entries(&[("connector-a", "1")])).await.unwrap();
    theirs.append(entries(&[("connector-b", "1")])).await.unwrap();
    assert_eq!(log.rest_as_text().await, ["target-state-a=plain", "connector-a=1"]);
}
