//! An instance may do what its configuration asks for and the worker allows, and nothing else.

use std::fs;

use bulkhead_model::RawConfig;
use bulkhead_pipeline::ports::{PluginError, Plugins, SourceTask};

use crate::{Bench, POLL, source_config};

fn file_config(file: &str, more: &[(&str, &str)]) -> RawConfig {
    let mut config = RawConfig::from([("connector.class", "FileStreamSource"), ("file", file), ("topic", "t")]);
    for (key, value) in more {
        config.set(*key, *value);
    }
    config
}

/// Whether a file's lines come through.
async fn reads(bench: &Bench, config: &RawConfig) -> Result<usize, PluginError> {
    let source = bench.source("files", config).await?;
    let mut count = 0;
    for _ in 0..3 {
        count += source.poll(POLL).await?.records.count;
    }
    Ok(count)
}

#[tokio::test]
async fn only_granted_folders_can_be_read() {
    let folder = tempfile::tempdir().unwrap();
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).unwrap();
    for file in [inside.join("in.txt"), folder.path().join("out.txt")] {
        fs::write(file, "line\n").unwrap();
    }
    std::os::unix::fs::symlink(folder.path().join("out.txt"), inside.join("link.txt")).unwrap();
    let bench = Bench::open(&["file_source"], &[]).await;
    let grant = format!("{}:ro", inside.display());
    let path = |name: &str| folder.path().join(name).display().to_string();
    for (file, grants, readable) in [
        ("inside/in.txt", grant.as_str(), true),
        ("inside/in.txt", "", false),
        ("out.txt", &grant, false),
        ("inside/../out.txt", &grant, false),
        ("inside/link.txt", &grant, false),
    ] {
        let config = file_config(&path(file), &[("sandbox.files", grants)]);
        let read = reads(&bench, &config).await;
        assert_eq!(read.as_ref().is_ok_and(|lines| *lines > 0), readable, "{file} under `{grants}`: {read:?}");
    }
}

#[tokio::test]
async fn a_missing_folder_is_named() {
    let bench = Bench::open(&["file_source"], &[]).await;
    let config = file_config("/nowhere/x", &[("sandbox.files", "/nowhere:ro")]);
    let Err(PluginError::Config { key, message }) = bench.source("files", &config).await.map(drop) else {
        panic!("the source starts");
    };
    assert_eq!(key.as_deref(), Some("sandbox.files"));
    assert!(message.starts_with("the folder `/nowhere` cannot be opened: "), "{message}");
}

#[tokio::test]
async fn what_is_above_the_ceiling_is_refused_before_anything_starts() {
    let properties = [("sandbox.max.files", "/data:ro"), ("sandbox.max.memory", "128MiB")];
    let bench = Bench::open(&["file_source"], &properties).await;
    let config = file_config("/data/x", &[("sandbox.files", "/data:rw"), ("sandbox.memory", "256MiB")]);
    let refused = bench.sandbox.refused_grants(&config);
    let lines: Vec<_> = refused.iter().map(|value| format!("{}: {}", value.name, value.errors.join("; "))).collect();
    assert_eq!(
        lines,
        [
            "sandbox.memory: 256 MiB are asked for, 128 MiB are allowed (`sandbox.max.memory`)",
            "sandbox.files: `/data:rw` is asked for, allowed: `/data:ro` (`sandbox.max.files`)",
        ]
    );
    let Err(error) = bench.source("files", &config).await.map(drop) else { panic!("the source starts") };
    assert!(matches!(error, PluginError::Config { key: Some(key), .. } if key == "sandbox.memory"));
}

#[tokio::test]
async fn a_plugin_that_starts_with_more_memory_than_allowed_is_refused_with_both_values() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let config = source_config("ok", &[("sandbox.memory", "1MiB")]);
    let refused = bench.sandbox.refused_grants(&config);
    let error = &refused[0].errors[0];
    assert!(error.starts_with("the plugin needs "), "{error}");
    assert!(error.contains("1 MiB are allowed (`sandbox.memory` may ask for up to 512 MiB)"), "{error}");
}

#[tokio::test]
async fn an_unknown_class_is_said_to_be_one() {
    let bench = Bench::open(&["file_source"], &[]).await;
    let config = RawConfig::from([("connector.class", "org.example.Nothing")]);
    let Err(error) = bench.source("x", &config).await.map(drop) else { panic!("it starts") };
    assert_eq!(
        error.to_string(),
        "configuration `connector.class`: no plugin of the class `org.example.Nothing` is installed"
    );
}
