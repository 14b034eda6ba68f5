//! What a task sees after its own calls and the thread's.

use std::time::Duration;

use super::super::columns::Record;
use super::*;

const LIMITS: FetchLimits = FetchLimits { max_records: 10, max_bytes: 1000, max_wait: Duration::ZERO };

fn batch(records: &[(&str, i64)]) -> Columns {
    let mut columns = Columns::default();
    for (topic, offset) in records {
        columns.push(Record {
            topic,
            partition: 0,
            offset: *offset,
            timestamp: 0,
            timestamp_type: 1,
            key: None,
            value: Some(b"v"),
            headers: std::iter::empty(),
        });
    }
    columns
}

/// What the task gets next, as text.
fn next(shared: &Shared) -> String {
    match shared.take(LIMITS) {
        None => "nothing".to_owned(),
        Some(Err(error)) => error.to_string(),
        Some(Ok(ConsumerEvent::Records(records))) => {
            let offsets = records.topic.iter().zip(&records.offset);
            let texts: Vec<_> =
                offsets.map(|(topic, offset)| format!("{}@{offset}", records.topics[*topic as usize])).collect();
            texts.join(" ")
        }
        Some(Ok(event)) => format!("{event:?}"),
    }
}

#[test]
fn records_of_a_paused_partition_wait_for_its_resumption() {
    let shared = Shared::default();
    shared.put(batch(&[("a", 0), ("b", 0)]));
    shared.change(|inbox| inbox.pause(&[TopicPartition::new("a", 0)]));
    shared.put(batch(&[("a", 1), ("b", 1)]));
    assert_eq!(next(&shared), "b@0");
    assert_eq!(next(&shared), "b@1");
    assert_eq!(next(&shared), "nothing");
    shared.put(batch(&[("b", 2)]));
    shared.change(|inbox| inbox.resume(&[TopicPartition::new("a", 0)]));
    assert_eq!(next(&shared), "a@0 a@1");
    assert_eq!(next(&shared), "b@2");
}

#[test]
fn no_record_from_before_a_seek_comes_after_it() {
    let shared = Shared::default();
    let target = TopicOffset { partition: TopicPartition::new("a", 0), offset: 7 };
    shared.put(batch(&[("a", 0), ("b", 0)]));
    let (answer, _answered) = oneshot::channel();
    shared.change(|inbox| inbox.seek(std::slice::from_ref(&target), answer));
    shared.put(batch(&[("a", 1)]));
    shared.sought(&[target]);
    shared.put(batch(&[("a", 7)]));
    assert_eq!(next(&shared), "b@0");
    assert_eq!(next(&shared), "a@7");
}

#[test]
fn records_of_revoked_partitions_are_dropped_parked_or_not() {
    let shared = Shared::default();
    let partition = TopicPartition::new("a", 0);
    shared.put(batch(&[("a", 0), ("b", 0)]));
    shared.change(|inbox| inbox.pause(std::slice::from_ref(&partition)));
    shared.revoke(std::slice::from_ref(&partition));
    shared.change(|inbox| inbox.resume(std::slice::from_ref(&partition)));
    assert_eq!(next(&shared), "b@0");
    assert_eq!(next(&shared), "nothing");
}

#[test]
fn two_batches_are_kept_and_the_last_one_grows() {
    let shared = Shared::default();
    assert!(shared.room((0, 0)).is_none(), "nothing is fetched before the first call");
    assert_eq!(next(&shared), "nothing");
    let full: Vec<_> = (0..10).map(|offset| ("a", offset)).collect();
    shared.put(batch(&full));
    shared.put(batch(&[("a", 10)]));
    assert_eq!(shared.room((0, 0)).map(|room| room.columns.count()), Some(1));
    shared.put(batch(&full));
    assert!(shared.room((0, 0)).is_none());
}

#[test]
fn a_fatal_failure_is_told_after_the_records_and_again() {
    let shared = Shared::default();
    shared.put(batch(&[("a", 0)]));
    shared.fail(ConsumeError::Fatal("over".to_owned()));
    assert_eq!(next(&shared), "a@0");
    assert_eq!(next(&shared), "over");
    assert_eq!(next(&shared), "over");
}
