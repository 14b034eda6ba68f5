//! Sending, and what comes back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bulkhead_model::RawConfig;
use bulkhead_pipeline::ports::{Clients, Outgoing, ProduceError, Producer, Sent};

use crate::support::{Broker, Kept, fill, fresh, record, send, task};

#[test]
fn deliveries_come_in_the_order_of_sending_with_rising_offsets() {
    for broker in Broker::all() {
        let clients = broker.clients(&[]);
        let topic = broker.topic("order");
        let kept = Arc::new(Kept::default());
        let producer = clients.producer(&task("a", 0), &RawConfig::new(), kept.clone()).unwrap();
        for sequence in 0..5_000 {
            let record = Outgoing { partition: Some(0), ..record(&topic, b"value") };
            send(&producer, &record, sequence);
        }
        for (index, (sequence, outcome)) in kept.wait(5_000).into_iter().enumerate() {
            let written = outcome.unwrap();
            assert_eq!(sequence, index as u64);
            assert_eq!((written.offset, written.partition), (index as i64, 0));
            assert_eq!(&*written.topic, topic);
        }
    }
}

#[test]
fn each_session_hears_of_its_own_records_only() {
    let broker = Broker::mock();
    let clients = broker.clients(&[]);
    let topic = broker.topic("sessions");
    let (first, second) = (Arc::new(Kept::default()), Arc::new(Kept::default()));
    let a = clients.producer(&task("a", 0), &RawConfig::new(), first.clone()).unwrap();
    let b = clients.producer(&task("b", 0), &RawConfig::new(), second.clone()).unwrap();
    for sequence in 0..100 {
        send(&a, &record(&topic, b"a"), sequence);
        send(&b, &record(&topic, b"b"), 1_000 + sequence);
    }
    assert!(first.wait(100).iter().all(|(sequence, _)| *sequence < 100));
    assert!(second.wait(100).iter().all(|(sequence, _)| *sequence >= 1_000));
    assert_eq!(format!("{clients:?}").matches("Pool(1 producers)").count(), 1);
}

#[test]
fn eight_tasks_share_a_producer_and_a_ninth_gets_another() {
    let broker = Broker::mock();
    let clients = broker.clients(&[]);
    let open = || clients.producer(&task("a", 0), &RawConfig::new(), Arc::new(Kept::default())).unwrap();
    let producers = || format!("{clients:?}").split_once("Pool(").unwrap().1.split_once(')').unwrap().0.to_owned();
    let mut sessions: Vec<_> = (0..8).map(|_| open()).collect();
    assert_eq!(producers(), "1 producers");
    sessions.push(open());
    assert_eq!(producers(), "2 producers");
    sessions.swap_remove(0);
    sessions.push(open());
    assert_eq!(producers(), "2 producers");
}

#[test]
fn records_of_a_session_that_has_gone_still_go_out() {
    let broker = Broker::mock();
    let clients = broker.clients(&[("producer.linger.ms", "200")]);
    let topic = broker.topic("gone");
    let kept = Arc::new(Kept::default());
    let producer = clients.producer(&task("a", 0), &RawConfig::new(), kept.clone()).unwrap();
    send(&producer, &record(&topic, b"value"), 0);
    drop(producer);
    kept.wait(1).remove(0).1.unwrap();
}

#[test]
fn a_session_with_its_quota_on_the_way_is_full_and_goes_on_after_deliveries() {
    let broker = Broker::mock();
    let clients = broker.clients(&[("producer.buffer.memory", "1000"), ("producer.linger.ms", "100")]);
    let topic = broker.topic("full");
    let kept = Arc::new(Kept::default());
    let producer = clients.producer(&task("a", 0), &RawConfig::new(), kept.clone()).unwrap();
    let value = [0; 400];
    let record = Outgoing { value: Some(&value), ..record(&topic, b"") };
    assert_eq!(producer.send(&record, 0), Ok(Sent::Queued));
    assert_eq!(producer.send(&record, 1), Ok(Sent::Queued));
    assert_eq!(producer.send(&record, 2), Ok(Sent::Full));
    kept.wait(2);
    send(&producer, &record, 2);
    kept.wait(3);
}

#[test]
fn a_record_at_fault_is_told_apart() {
    for broker in Broker::all() {
        let clients = broker.clients(&[]);
        let topic = broker.topic("fault");
        let producer = clients.producer(&task("a", 0), &RawConfig::new(), Arc::new(Kept::default())).unwrap();
        let large = vec![0; 2_000_000];
        let too_large = Outgoing { value: Some(&large), ..record(&topic, b"") };
        let before_time = Outgoing { timestamp: Some(-5), ..record(&topic, b"") };
        for record in [too_large, before_time] {
            let outcome = producer.send(&record, 0);
            assert!(matches!(&outcome, Err(ProduceError::Record(text)) if text.contains(&topic)), "{outcome:?}");
        }
    }
}

#[test]
fn a_topic_that_nobody_creates_is_named() {
    let Some(broker) = Broker::real() else { return };
    let clients = broker.clients(&[
        ("producer.allow.auto.create.topics", "false"),
        ("producer.topic.metadata.propagation.max.ms", "500"),
    ]);
    let topic = fresh("missing");
    let kept = Arc::new(Kept::default());
    let producer = clients.producer(&task("a", 0), &RawConfig::new(), kept.clone()).unwrap();
    send(&producer, &record(&topic, b"value"), 0);
    let outcome = kept.wait(1).remove(0).1.unwrap_err();
    assert_eq!(
        outcome.to_string(),
        format!("topic `{topic}` doesn't exist, and the broker doesn't create it (auto.create.topics.enable)")
    );
}

#[test]
fn a_broker_that_is_not_there_is_named_in_one_line() {
    let clients = bulkhead_kafka::KafkaClients::new(
        bulkhead_kafka::Settings::from_properties(&RawConfig::from([("bootstrap.servers", "127.0.0.1:9")])).unwrap(),
    );
    let begun = Instant::now();
    let error = clients.check_reachable(Duration::from_millis(1_500)).unwrap_err().to_string();
    assert!(error.starts_with("no Kafka broker answers at 127.0.0.1:9 within 1.5s ("), "{error}");
    assert!(error.contains("Connection refused"), "{error}");
    assert!(!error.contains('\n'), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn a_broker_that_is_there_tells_the_clusters_id() {
    for broker in Broker::all() {
        let id = broker.clients(&[]).check_reachable(Duration::from_secs(20)).unwrap();
        assert!(!id.is_empty());
    }
}

#[test]
fn an_idle_producer_is_there_for_a_restarted_task() {
    let broker = Broker::mock();
    let clients = broker.clients(&[]);
    let topic = broker.topic("idle");
    fill(&clients, &topic, 1);
    let begun = Instant::now();
    fill(&clients, &topic, 1);
    assert!(begun.elapsed() < Duration::from_secs(5));
}
