//! Sink tasks: what they get, what they refuse, how they fail.

use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_model::{ConnectorName, config::ConfigValue};
use bulkhead_pipeline::batch::{Batch, Encoding, SinkBatch, Values};
use bulkhead_pipeline::ports::{Connector, PluginError, Plugins, Rejection, SinkTask};
use bulkhead_sandbox::SandboxedSink;
use bytes::Bytes;

use crate::{Bench, HOSTILE, HOSTILE_SINK, source_config};

/// So many texts at offsets from 0.
fn batch(texts: &[&str]) -> SinkBatch {
    let count = texts.len();
    SinkBatch {
        records: Batch {
            count,
            topics: vec!["t".into()],
            values: Values {
                encoding: vec![Encoding::Text; count],
                len: texts.iter().map(|text| text.len() as u32).collect(),
                ..Values::default()
            },
            keys: Values { encoding: vec![Encoding::None; count], ..Values::default() },
            data: Bytes::from(texts.concat()),
            ..Batch::default()
        },
        offset: (0..count as i64).collect(),
        timestamp_type: Vec::new(),
        ..SinkBatch::default()
    }
}

async fn sink(bench: &Bench, mode: &str) -> SandboxedSink {
    let config = RawConfig::from([("connector.class", HOSTILE_SINK), ("mode", mode)]);
    let task = ConnectorName::new("s").task(0);
    let sink = bench.sandbox.sink_task(&task, &config).await.expect("the sink is there");
    sink.start(&config).await.expect("the sink starts");
    sink.open(&[TopicPartition::new("t", 0)]).await.expect("the sink opens");
    sink
}

#[tokio::test]
async fn a_sink_gets_its_records_and_its_metrics_are_seen() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let sink = sink(&bench, "ok").await;
    assert_eq!(sink.put(&batch(&["a", "b", "c"])).await, Ok(vec![]));
    assert_eq!(sink.put(&batch(&[])).await, Ok(vec![]));
    let stats = &bench.sandbox.instances()[0];
    assert_eq!((stats.metrics[0].name.as_str(), stats.metrics[0].value), ("hostile-records", 3.0));
    let offered = TopicOffset { partition: TopicPartition::new("t", 0), offset: 3 };
    assert_eq!(sink.pre_commit(std::slice::from_ref(&offered)).await, Ok(vec![offered]));
    assert_eq!(sink.close(&[TopicPartition::new("t", 0)]).await, Ok(()));
    assert_eq!(sink.stop().await, Ok(()));
}

#[tokio::test]
async fn rejections_come_back_by_place() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let sink = sink(&bench, "reject-odd").await;
    let refused = sink.put(&batch(&["a", "b", "c", "d"])).await.unwrap();
    let rejection = |index: u32| Rejection { index, message: format!("offset {index} is odd") };
    assert_eq!(refused, [rejection(1), rejection(3)]);
}

#[tokio::test]
async fn a_sink_fails_in_each_way_with_the_reason() {
    let bench = Bench::open(
        &["bulkhead_test_guests"],
        &[("sandbox.put.timeout.ms", "6000"), ("sandbox.call.timeout.ms", "6000")],
    )
    .await;
    for (mode, expected) in [
        ("fail", "the sink fails, as it was asked to"),
        ("retriable", "not yet, at the 1. try"),
        ("panic-put", "a panic in put) in put"),
        ("spin-put", "task s-0 used up its CPU budget of 500ms in put"),
        ("block-put", "task s-0 did not return from put within 6s and was dropped"),
    ] {
        let sink = sink(&bench, mode).await;
        let error = sink.put(&batch(&["a"])).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{mode}: {error}");
        assert_eq!(matches!(error, PluginError::Retriable(_)), mode == "retriable", "{mode}");
    }
    let sink = sink(&bench, "panic-commit").await;
    sink.put(&batch(&["a"])).await.unwrap();
    let error = sink.pre_commit(&[]).await.unwrap_err().to_string();
    assert!(error.contains("a panic in pre-commit) in pre-commit"), "{error}");
}

#[tokio::test]
async fn a_connector_validates_starts_and_plans() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let config = source_config("ok", &[]);
    let connector = bench.sandbox.connector(&ConnectorName::new("c"), &config).await.unwrap();
    let verdicts: Vec<ConfigValue> = connector.validate(&config).await.unwrap();
    assert!(verdicts.iter().all(|value| value.errors.is_empty()), "{verdicts:?}");
    connector.start(&config).await.unwrap();
    assert_eq!(connector.task_configs(3).await.unwrap().len(), 3);
    assert_eq!(connector.stop().await, Ok(()));
    for (mode, expected) in [
        ("panic-connector-start", "connector c panicked ("),
        ("connector-error", "the connector fails to start, as it was asked to"),
    ] {
        let config = source_config(mode, &[]);
        let connector = bench.sandbox.connector(&ConnectorName::new("c"), &config).await.unwrap();
        let error = connector.start(&config).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{mode}: {error}");
    }
    let spinning = RawConfig::from([("connector.class", HOSTILE), ("mode", "spin-validate")]);
    let connector = bench.sandbox.connector(&ConnectorName::new("c"), &spinning).await.unwrap();
    let error = connector.validate(&spinning).await.unwrap_err().to_string();
    assert!(error.contains("used up its CPU budget of 500ms in validate"), "{error}");
    let crashed = connector.wants_reconfiguration().await.unwrap_err();
    assert!(matches!(crashed, PluginError::Crashed(_)), "{crashed:?}");
}

/// Schemas are told by pointer, so a test has to hold one.
#[tokio::test]
async fn schemas_are_defined_once_and_then_known() {
    use bulkhead_model::value::{Schema, SchemaType};
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let sink = sink(&bench, "bench").await;
    let schema = Arc::new(Schema::optional(SchemaType::String));
    let mut batch = batch(&["a", "b"]);
    batch.records.schemas = Arc::new(vec![schema]);
    batch.records.values.schema = vec![1, 1];
    for _ in 0..3 {
        assert_eq!(sink.put(&batch).await, Ok(vec![]));
    }
}
