//! How many records a second go through, printed; asked for by `--ignored`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bulkhead_model::RawConfig;
use bulkhead_pipeline::ports::{
    Clients, Consumer, ConsumerEvent, Delivery, FetchLimits, Outgoing, ProduceError, Producer, Sent, Written,
};

use crate::support::{Broker, LIMITS, fresh, record, sink, task};

const RECORDS: u64 = 3_000_000;

#[derive(Default)]
struct Counted(AtomicU64);

impl Delivery for Counted {
    fn delivered(&self, _sequence: u64, outcome: Result<Written, ProduceError>) {
        outcome.unwrap();
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn wants_written(&self) -> bool {
        false
    }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "measures"]
async fn records_of_100_bytes() {
    let Some(broker) = Broker::real() else { return };
    let clients = broker.clients(&[]);
    let topic = broker.topic("throughput");
    let counted = Arc::new(Counted::default());
    let producer = clients.producer(&task("a", 0), &RawConfig::new(), counted.clone()).unwrap();
    let value = [7; 100];
    let record = Outgoing { value: Some(&value), ..record(&topic, b"") };
    let begun = Instant::now();
    for sequence in 0..RECORDS {
        while producer.send(&record, sequence).unwrap() == Sent::Full {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    }
    while counted.0.load(Ordering::Relaxed) < RECORDS {
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    println!("produced {:.0} records/s", RECORDS as f64 / begun.elapsed().as_secs_f64());

    for max_records in ["500", "5000"] {
        let clients = broker.clients(&[("consumer.max.poll.records", max_records)]);
        let mut consumer = clients.consumer(&task(&fresh("sink"), 0), &sink(&topic)).unwrap();
        let limits = FetchLimits { max_records: 5_000, max_bytes: 4_000_000, ..LIMITS };
        let (mut seen, mut begun) = (0, Instant::now());
        while seen < RECORDS {
            match consumer.next(limits).await.unwrap() {
                ConsumerEvent::Records(records) => seen += records.count() as u64,
                ConsumerEvent::Assigned(_) => begun = Instant::now(),
                ConsumerEvent::Revoked(_) | ConsumerEvent::Idle => {}
            }
        }
        let speed = RECORDS as f64 / begun.elapsed().as_secs_f64();
        println!("consumed {speed:.0} records/s in batches of {max_records}");
        consumer.close().await;
    }
}
