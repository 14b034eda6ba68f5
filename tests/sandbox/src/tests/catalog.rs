//! Files that are of no use, each with its reason, beside one that is.

use std::fs;
use std::path::Path;

use bulkhead_pipeline::ports::Plugins;

use crate::{Bench, plugin};

/// A component with all functions that a plugin needs, of wrong types, and a start function of its own.
fn component(start: &str) -> String {
    let functions = |names: &str| {
        let exports = names.split(' ').map(|name| format!("(export \"{name}\" (func $f))"));
        exports.collect::<Vec<_>>().join(" ")
    };
    let manifest = functions("plugins config-keys");
    let connector = functions(
        "validate start task-configs stop exactly-once-support transaction-boundaries \
         alter-source-offsets alter-sink-offsets",
    );
    format!(
        "(component
            (core module $m
                (memory 1)
                (func (export \"f\"))
                (func $start {start})
                (start $start))
            (core instance $i (instantiate $m))
            (func $f (canon lift (core func $i \"f\")))
            (instance $manifest {manifest})
            (instance $connector {connector})
            (export \"bulkhead:connect/manifest@0.1.0\" (instance $manifest))
            (export \"bulkhead:connect/connector@0.1.0\" (instance $connector)))"
    )
}

fn reason(bench: &Bench, file: &str) -> String {
    let broken = bench.sandbox.broken_files().into_iter().find(|broken| broken.path.ends_with(file));
    broken.map_or_else(|| format!("{file} is not broken"), |broken| broken.reason)
}

fn write(folder: &Path, name: &str, content: impl AsRef<[u8]>) {
    fs::write(folder.join(name), content).unwrap();
}

#[tokio::test]
async fn a_broken_file_is_listed_with_its_reason_and_the_others_are_usable() {
    let folder = tempfile::tempdir().unwrap();
    let wat = |text: &str| wat::parse_str(text).unwrap();
    let good = fs::read(plugin("file_source")).unwrap();
    write(folder.path(), "a_good.wasm", &good);
    write(folder.path(), "again.wasm", &good);
    write(folder.path(), "cut.wasm", &good[..good.len() / 2]);
    write(folder.path(), "empty.wasm", "");
    write(folder.path(), "text.wasm", "not a component at all");
    write(folder.path(), "module.wasm", wat("(module)"));
    write(folder.path(), "alien.wasm", wat("(component)"));
    let later = "(component (instance $i) (export \"bulkhead:connect/manifest@0.2.0\" (instance $i)))";
    write(folder.path(), "later.wasm", wat(later));
    write(folder.path(), "types.wasm", wat(&component("nop")));
    write(folder.path(), "spins.wasm", wat(&component("(loop $l br $l)")));
    let greedy = "(loop $l (drop (memory.grow (i32.const 64))) br $l)";
    write(folder.path(), "greedy.wasm", wat(&component(greedy)));

    let bench = Bench::over(&[folder.path().to_owned()], &[]).await;
    for (file, expected) in [
        ("cut.wasm", "is no valid component"),
        ("empty.wasm", "is no WebAssembly file"),
        ("text.wasm", "is no WebAssembly file"),
        ("module.wasm", "is a core module; a component is needed"),
        ("alien.wasm", "is no connector plugin: it exports nothing of the package `bulkhead:connect`"),
        ("later.wasm", "was built for version 0.2.0 of the package `bulkhead:connect`; this worker speaks 0.1.0"),
        ("types.wasm", "cannot tell what it is"),
        ("spins.wasm", "cannot tell what it is: plugin file spins used up its CPU budget of 2s"),
        ("greedy.wasm", "cannot tell what it is: plugin file greedy used more than "),
    ] {
        let reason = reason(&bench, file);
        assert!(reason.contains(expected), "{file}: {reason}");
    }
    assert_eq!(bench.sandbox.broken_files().len(), 9);
    let catalog = bench.sandbox.catalog();
    let classes: Vec<_> = catalog.iter().map(|plugin| plugin.class.as_str()).collect();
    assert_eq!(classes, ["io.bulkhead.FileStreamSourceConnector"]);
    assert!(catalog.connector("FileStreamSource").unwrap().config.get("topic").is_some());
}

#[tokio::test]
async fn code_from_the_cache_is_as_good_as_compiled_code_and_a_damaged_entry_is_replaced() {
    let cache = tempfile::tempdir().unwrap();
    let properties = [("sandbox.cache.dir", cache.path().to_str().unwrap())];
    let open = async || Bench::open(&["file_source"], &properties).await;
    let first = open().await.sandbox.catalog();
    assert_eq!(*open().await.sandbox.catalog(), *first);
    for entry in fs::read_dir(cache.path()).unwrap() {
        let path = entry.unwrap().path();
        let half = fs::read(&path).unwrap();
        fs::write(&path, &half[..half.len() / 2]).unwrap();
    }
    assert_eq!(*open().await.sandbox.catalog(), *first);
    assert_eq!(open().await.sandbox.broken_files(), []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_may_fill_one_cache_at_the_same_time() {
    let cache = tempfile::tempdir().unwrap();
    let properties = [("sandbox.cache.dir", cache.path().to_str().unwrap())];
    let open = async || Bench::open(&["file_source", "file_sink"], &properties).await;
    let (one, two) = tokio::join!(open(), open());
    assert_eq!(*one.sandbox.catalog(), *two.sandbox.catalog());
    assert_eq!(open().await.sandbox.broken_files(), []);
}
