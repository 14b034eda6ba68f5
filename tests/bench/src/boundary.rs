//! What a record costs on its way between guest and worker, both ways.

use std::time::{Duration, Instant};

use anyhow::ensure;
use bulkhead_model::offset::TopicPartition;
use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::batch::{Batch, Encoding, SinkBatch, Values};
use bulkhead_pipeline::ports::{Plugins, PollLimits, SinkTask, SourceTask};
use bulkhead_sandbox_tests::{Bench, HOSTILE_SINK, source_config};
use bytes::Bytes;

use crate::figures::{Report, Samples};

const RECORDS: usize = 1_000;
const VALUE: usize = 100;
const BATCHES: usize = 1_000;
/// The quietest of which counts.
const ROUNDS: usize = 5;

/// The limits, for each record.
const POLL_NS: f64 = 180.0;
const PUT_NS: f64 = 60.0;

const LIMITS: PollLimits = PollLimits { max_wait_ms: 1_000, max_records: 2_000, max_bytes: 4 << 20 };

pub(crate) async fn run() -> anyhow::Result<Report> {
    let mut report = Report::default();
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    poll(&bench, &mut report).await?;
    put(&bench, &mut report).await?;
    Ok(report)
}

async fn poll(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let config = source_config("tick", &[("batch.records", "1000"), ("value.bytes", "100")]);
    let source = bench.source("poll", &config).await?;
    let mut rounds = Vec::with_capacity(ROUNDS);
    let before = bench.sandbox.cpu_time();
    for _ in 0..ROUNDS {
        let mut samples = Vec::with_capacity(BATCHES);
        for _ in 0..BATCHES {
            let begun = Instant::now();
            let batch = source.poll(LIMITS).await?;
            samples.push(each(begun));
            ensure!(batch.records.count == RECORDS, "a batch has {} records", batch.records.count);
        }
        rounds.push(samples);
    }
    let used = bench.sandbox.cpu_time() - before;
    let samples = Samples::quietest(rounds);
    report.samples("poll, 1,000 records of 100 bytes", "ns/record", &samples, Some(POLL_NS));
    report.figure("  of it computing in the sandbox", "ns/record", of_all(used), None);
    source.stop().await?;
    Ok(())
}

async fn put(bench: &Bench, report: &mut Report) -> anyhow::Result<()> {
    let config = RawConfig::from([("connector.class", HOSTILE_SINK), ("mode", "bench")]);
    let sink = bench.sandbox.sink_task(&ConnectorName::new("put").task(0), &config).await?;
    sink.start(&config).await?;
    sink.open(&[TopicPartition::new("t", 0)]).await?;
    let batch = batch();
    let mut rounds = Vec::with_capacity(ROUNDS);
    let before = bench.sandbox.cpu_time();
    for _ in 0..ROUNDS {
        let mut samples = Vec::with_capacity(BATCHES);
        for _ in 0..BATCHES {
            let begun = Instant::now();
            let refused = sink.put(&batch).await?;
            samples.push(each(begun));
            ensure!(refused.is_empty(), "the sink refuses records");
        }
        rounds.push(samples);
    }
    let used = bench.sandbox.cpu_time() - before;
    let samples = Samples::quietest(rounds);
    report.samples("put, 1,000 records of 100 bytes", "ns/record", &samples, Some(PUT_NS));
    report.figure("  of it computing in the sandbox", "ns/record", of_all(used), None);
    sink.stop().await?;
    Ok(())
}

/// As the pipeline makes it of consumed records: a key of 12 bytes, a value, a time, an offset.
fn batch() -> SinkBatch {
    const KEY: usize = 12;
    SinkBatch {
        records: Batch {
            count: RECORDS,
            topics: vec!["t".into()],
            topic: vec![0; RECORDS],
            partition: vec![0; RECORDS],
            timestamp: vec![1_700_000_000_000; RECORDS],
            keys: Values {
                encoding: vec![Encoding::Text; RECORDS],
                len: vec![KEY as u32; RECORDS],
                ..Values::default()
            },
            values: Values {
                encoding: vec![Encoding::Text; RECORDS],
                len: vec![VALUE as u32; RECORDS],
                ..Values::default()
            },
            data: Bytes::from(vec![b'x'; RECORDS * (KEY + VALUE)]),
            ..Batch::default()
        },
        offset: (0..RECORDS as i64).collect(),
        timestamp_type: Vec::new(),
        ..SinkBatch::default()
    }
}

fn each(begun: Instant) -> f64 {
    begun.elapsed().as_nanos() as f64 / RECORDS as f64
}

fn of_all(used: Duration) -> f64 {
    used.as_nanos() as f64 / (ROUNDS * BATCHES * RECORDS) as f64
}
