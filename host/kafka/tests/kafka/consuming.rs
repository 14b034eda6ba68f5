//! Members of groups.

use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::RawConfig;
use bulkhead_model::offset::TopicPartition;
use bulkhead_pipeline::ports::{Clients, Consumer, ConsumerEvent, FetchLimits, Outgoing, Revocation};

use crate::support::{
    Broker, Kept, LIMITS, assigned, at, fill, fresh, next, offsets, record, records, send, sink, task,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_record_arrives_as_it_was_sent() {
    for broker in Broker::all() {
        let clients = broker.clients(&[]);
        let topic = broker.topic("fidelity");
        let kept = Arc::new(Kept::default());
        let producer = clients.producer(&task("a", 0), &RawConfig::new(), kept.clone()).unwrap();
        let full = Outgoing {
            topic: &topic,
            partition: Some(0),
            timestamp: Some(1_700_000_000_123),
            key: Some(b""),
            value: Some(b"value"),
            headers: &[("h", Some(b"1")), ("h", None), ("g", Some(b""))],
        };
        let bare = Outgoing { value: None, timestamp: Some(1), partition: Some(0), ..record(&topic, b"") };
        let empty = Outgoing { key: Some(b"key"), value: Some(b""), partition: Some(0), ..record(&topic, b"") };
        for (sequence, record) in [full, bare, empty].iter().enumerate() {
            send(&producer, record, sequence as u64);
        }
        kept.wait(3);

        let name = fresh("sink");
        let mut consumer = clients.consumer(&task(&name, 0), &sink(&topic)).unwrap();
        assert_eq!(assigned(&mut consumer).await, [TopicPartition::new(&topic, 0)]);
        let seen = records(&mut consumer).await;
        assert_eq!(seen.offset, [0, 1, 2]);
        assert_eq!(seen.topics, [topic.as_str().into()]);
        assert_eq!(seen.timestamp[..2], [1_700_000_000_123, 1]);
        assert_eq!(seen.timestamp_type, [1, 1, 1]);
        assert_eq!(seen.key_len, [0, -1, 3]);
        assert_eq!(seen.value_len, [5, -1, 0]);
        assert_eq!(seen.header_count, [3, 0, 0]);
        assert_eq!(seen.header_keys, ["h".into(), "g".into()]);
        assert_eq!(seen.header_key, [0, 0, 1]);
        assert_eq!(seen.header_len, [1, -1, 0]);
        assert_eq!(&seen.data[..], b"value1key");
        consumer.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_member_goes_on_where_the_last_one_committed() {
    for broker in Broker::all() {
        let clients = broker.clients(&[]);
        let topic = broker.topic("resume");
        fill(&clients, &topic, 10);
        let name = fresh("sink");
        let mut consumer = clients.consumer(&task(&name, 0), &sink(&topic)).unwrap();
        assigned(&mut consumer).await;
        assert_eq!(offsets(&mut consumer, 10).await, (0..10).collect::<Vec<_>>());
        consumer.commit(vec![at(&topic, 0, 6)]).await.unwrap();
        consumer.close().await;

        let mut consumer = clients.consumer(&task(&name, 0), &sink(&topic)).unwrap();
        assigned(&mut consumer).await;
        assert_eq!(offsets(&mut consumer, 4).await, [6, 7, 8, 9]);
        consumer.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_that_has_committed_nothing_may_begin_at_the_end() {
    for broker in Broker::all() {
        let clients = broker.clients(&[("consumer.auto.offset.reset", "latest")]);
        let topic = broker.topic("latest");
        fill(&clients, &topic, 10);
        let mut consumer = clients.consumer(&task(&fresh("sink"), 0), &sink(&topic)).unwrap();
        assigned(&mut consumer).await;
        let mut first = None;
        for _ in 0..600 {
            // What is written before the broker has said where the end is passes by.
            fill(&clients, &topic, 1);
            match consumer.next(LIMITS).await.unwrap() {
                ConsumerEvent::Idle => {}
                ConsumerEvent::Records(records) => first = records.offset.first().copied(),
                event => panic!("{event:?} instead of records"),
            }
            if first.is_some() {
                break;
            }
        }
        assert!(first.is_some_and(|first| first >= 10), "{first:?}");
        consumer.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seek_right_after_the_assignment_is_obeyed() {
    for broker in Broker::all() {
        let clients = broker.clients(&[]);
        let topic = broker.topic("seek");
        fill(&clients, &topic, 10);
        let mut consumer = clients.consumer(&task(&fresh("sink"), 0), &sink(&topic)).unwrap();
        assigned(&mut consumer).await;
        consumer.seek(&[at(&topic, 0, 7)]).await.unwrap();
        assert_eq!(offsets(&mut consumer, 3).await, [7, 8, 9]);
        consumer.seek(&[at(&topic, 0, 0)]).await.unwrap();
        assert_eq!(offsets(&mut consumer, 10).await, (0..10).collect::<Vec<_>>());
        consumer.seek(&[]).await.unwrap();
        let foreign = consumer.seek(&[at("other", 0, 0)]).await.unwrap_err();
        assert!(foreign.to_string().contains("other-0"), "{foreign}");
        consumer.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_partition_is_silent_and_loses_nothing() {
    for broker in Broker::all() {
        let clients = broker.clients(&[]);
        let topic = broker.topic("pause");
        fill(&clients, &topic, 10);
        let mut consumer = clients.consumer(&task(&fresh("sink"), 0), &sink(&topic)).unwrap();
        let partitions = assigned(&mut consumer).await;
        let few = FetchLimits { max_records: 2, max_wait: Duration::from_secs(20), ..LIMITS };
        let ConsumerEvent::Records(first) = consumer.next(few).await.unwrap() else { panic!() };
        assert_eq!(first.offset, [0, 1]);
        consumer.pause(&partitions).unwrap();
        for _ in 0..5 {
            assert!(matches!(consumer.next(LIMITS).await, Ok(ConsumerEvent::Idle)));
        }
        consumer.resume(&partitions).unwrap();
        assert_eq!(offsets(&mut consumer, 8).await, (2..10).collect::<Vec<_>>());
        consumer.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn batches_keep_to_the_limits() {
    let broker = Broker::mock();
    let clients = broker.clients(&[("consumer.max.poll.records", "7")]);
    let topic = broker.topic("limits");
    fill(&clients, &topic, 100);
    let mut consumer = clients.consumer(&task(&fresh("sink"), 0), &sink(&topic)).unwrap();
    assigned(&mut consumer).await;
    let mut seen = Vec::new();
    while seen.len() < 100 {
        let batch = records(&mut consumer).await;
        assert!(batch.count() <= 7);
        seen.extend(batch.offset);
    }
    assert_eq!(seen, (0..100).collect::<Vec<_>>());
    consumer.close().await;
}

/// Longer than a consumer waits before it pauses its partitions.
#[tokio::test(flavor = "multi_thread")]
async fn a_slow_task_stays_a_member_and_loses_nothing() {
    for broker in Broker::all() {
        let clients = broker.clients(&[
            ("consumer.max.poll.interval.ms", "6000"),
            ("consumer.session.timeout.ms", "6000"),
            ("consumer.queued.max.messages.kbytes", "1024"),
        ]);
        let topic = broker.topic("slow");
        fill(&clients, &topic, 20_000);
        let mut consumer = clients.consumer(&task(&fresh("sink"), 0), &sink(&topic)).unwrap();
        assigned(&mut consumer).await;
        let mut seen = offsets(&mut consumer, 1).await;
        tokio::time::sleep(Duration::from_secs(8)).await;
        while seen.len() < 20_000 {
            seen.extend(records(&mut consumer).await.offset);
        }
        assert_eq!(seen, (0..20_000).collect::<Vec<_>>());
        consumer.commit(vec![at(&topic, 0, 20_000)]).await.unwrap();
        consumer.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_member_gets_its_share_after_the_first_has_committed() {
    let Some(broker) = Broker::real() else { return };
    let clients = broker.clients(&[]);
    let (one, two) = (broker.topic("share"), broker.topic("share"));
    fill(&clients, &one, 5);
    fill(&clients, &two, 5);
    let name = fresh("sink");
    let config = RawConfig::from([
        ("topics", format!("{one},{two}").as_str()),
        ("consumer.override.partition.assignment.strategy", "roundrobin"),
    ]);
    let mut first = clients.consumer(&task(&name, 0), &config).unwrap();
    assert_eq!(assigned(&mut first).await.len(), 2);
    offsets(&mut first, 10).await;

    let mut second = clients.consumer(&task(&name, 1), &config).unwrap();
    let ConsumerEvent::Revoked(Revocation { partitions, lost, release }) = next(&mut first).await else { panic!() };
    assert_eq!((partitions.len(), lost), (2, false));
    // The rebalance waits for the release, which waits for the commit.
    assert!(matches!(second.next(LIMITS).await, Ok(ConsumerEvent::Idle)));
    first.commit(vec![at(&one, 0, 5), at(&two, 0, 5)]).await.unwrap();
    drop(release);
    assert_eq!(assigned(&mut first).await.len(), 1);
    assert_eq!(assigned(&mut second).await.len(), 1);
    assert!(matches!(second.next(LIMITS).await, Ok(ConsumerEvent::Idle)), "all was committed");

    // A member that leaves gives its share back at once.
    second.close().await;
    let begun = std::time::Instant::now();
    assert!(matches!(next(&mut first).await, ConsumerEvent::Revoked(_)));
    assert_eq!(assigned(&mut first).await.len(), 2);
    assert!(begun.elapsed() < Duration::from_secs(10));
    first.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_expression_subscribes_to_whole_names() {
    for broker in Broker::all() {
        let clients = broker.clients(&[]);
        let prefix = fresh("regex");
        let (wanted, unwanted) = (format!("{prefix}.a1"), format!("{prefix}.a1b"));
        for topic in [&wanted, &unwanted] {
            fill(&clients, topic, 1);
        }
        let config = RawConfig::from([("topics.regex", format!(r"{prefix}\.a\d").as_str())]);
        let mut consumer = clients.consumer(&task(&fresh("sink"), 0), &config).unwrap();
        let partitions = assigned(&mut consumer).await;
        assert!(partitions.iter().all(|partition| *partition.topic == *wanted), "{partitions:?}");
        consumer.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_members_leave_at_once() {
    let broker = Broker::mock();
    let clients = broker.clients(&[]);
    let topic = broker.topic("leave");
    let joining: Vec<_> = (0..20)
        .map(|_| {
            let mut consumer = clients.consumer(&task(&fresh("sink"), 0), &sink(&topic)).unwrap();
            tokio::spawn(async move {
                assigned(&mut consumer).await;
                consumer
            })
        })
        .collect();
    let mut consumers = Vec::new();
    for joined in joining {
        consumers.push(joined.await.unwrap());
    }
    let begun = std::time::Instant::now();
    let closing: Vec<_> = consumers.into_iter().map(|consumer| tokio::spawn(consumer.close())).collect();
    for closed in closing {
        closed.await.unwrap();
    }
    println!("20 members left within {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(10));
}
