//! Guests that do what they should.

use std::fs;

use bulkhead_model::RawConfig;
use bulkhead_pipeline::batch::SourceBatch;
use bulkhead_pipeline::ports::{Plugins, SourceTask};

use crate::{Bench, POLL};

fn texts(batch: &SourceBatch) -> Vec<String> {
    let values = batch.records.records().map(|record| String::from_utf8_lossy(record.value.bytes).into_owned());
    values.collect()
}

#[tokio::test]
async fn a_file_is_read_through_the_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("lines.txt");
    fs::write(&file, "one\ntwo\nthree\n").unwrap();
    let bench = Bench::open(&["file_source"], &[]).await;
    assert_eq!(bench.sandbox.broken_files(), []);
    let config = RawConfig::from([
        ("connector.class", "FileStreamSource".to_owned()),
        ("file", file.display().to_string()),
        ("topic", "t".to_owned()),
        ("sandbox.files", format!("{}:ro", folder.path().display())),
    ]);
    assert_eq!(bench.sandbox.refused_grants(&config), []);
    let source = bench.source("files", &config).await.unwrap();
    let batch = source.poll(POLL).await.unwrap();
    assert_eq!(texts(&batch), ["one", "two", "three"]);
    assert_eq!(bench.sandbox.gauge().instances, 1);
    source.stop().await.unwrap();
    assert_eq!(bench.sandbox.gauge(), bulkhead_sandbox::Gauge::default());
}
