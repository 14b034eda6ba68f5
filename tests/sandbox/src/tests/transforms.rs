//! Transforms and predicates in instances of their own: what they do to records, and what their misdeeds come to.

use std::sync::Arc;

use bulkhead_doubles::eventually;
use bulkhead_model::{ConnectorName, Instance, RawConfig, TaskId};
use bulkhead_pipeline::batch::{Batch, Encoding, Values};
use bulkhead_pipeline::ports::{Aliased, Fate, PluginError, Plugins, PredicateTask, TransformTask, Transformed};
use bulkhead_sandbox::Part;

use crate::{Bench, SOON};

const TRANSFORM: &str = "io.bulkhead.test.HostileTransform";
const PREDICATE: &str = "io.bulkhead.test.HostilePredicate";

fn task() -> TaskId {
    ConnectorName::new("x").task(0)
}

fn aliased(class: &str, mode: &str, more: &[(&str, &str)]) -> Aliased {
    let mut config = RawConfig::from([("mode", mode)]);
    for (key, value) in more {
        config.set(*key, *value);
    }
    Aliased { alias: "h".to_owned(), class: class.to_owned(), config }
}

async fn transform(bench: &Bench, mode: &str, more: &[(&str, &str)]) -> Result<Arc<dyn TransformTask>, PluginError> {
    bench.sandbox.transform(&task(), &aliased(TRANSFORM, mode, more), &RawConfig::new()).await
}

async fn predicate(bench: &Bench, mode: &str) -> Result<Arc<dyn PredicateTask>, PluginError> {
    bench.sandbox.predicate(&task(), &aliased(PREDICATE, mode, &[]), &RawConfig::new()).await
}

fn texts(values: &[&str]) -> Arc<Batch> {
    Arc::new(Batch {
        count: values.len(),
        topics: vec!["t".into()],
        values: Values {
            encoding: vec![Encoding::Text; values.len()],
            len: values.iter().map(|value| value.len() as u32).collect(),
            ..Values::default()
        },
        keys: Values { encoding: vec![Encoding::None; values.len()], ..Values::default() },
        data: values.concat().into(),
        ..Batch::default()
    })
}

fn kept(transformed: &Transformed) -> Vec<String> {
    let records = transformed.records.records();
    records.map(|record| String::from_utf8_lossy(record.value.bytes).into_owned()).collect()
}

#[tokio::test]
async fn records_are_changed_dropped_and_refused_one_by_one() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let transform = transform(&bench, "behave", &[]).await.unwrap();
    for _ in 0..2 {
        let transformed = transform.apply(texts(&["a", "drop", "bad", "b"]), vec![4, 5, 6, 7]).await.unwrap();
        let bad = Fate::Failed("a bad value".to_owned());
        assert_eq!(transformed.fates, [Fate::Kept, Fate::Dropped, bad, Fate::Kept]);
        assert_eq!(kept(&transformed), [">a", ">b"]);
    }
    let predicate = predicate(&bench, "behave").await.unwrap();
    assert_eq!(predicate.test(texts(&["a", "b"]), vec![]).await.unwrap(), [Ok(true), Ok(false)]);
}

#[tokio::test]
async fn a_transform_counts_as_an_instance_beside_its_task_and_goes_when_it_is_dropped() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let transform = transform(&bench, "behave", &[]).await.unwrap();
    transform.apply(texts(&["a"]), vec![]).await.unwrap();
    let instances = bench.sandbox.instances();
    let [stats] = instances.as_slice() else { panic!("{instances:?}") };
    assert_eq!(stats.part, Some(Part::Transform("h".to_owned())));
    assert_eq!((&stats.instance, stats.plugin.as_str()), (&Instance::Task(task()), TRANSFORM));
    assert!(stats.memory > 0 && !stats.cpu.is_zero());
    assert!(bench.sandbox.instance(&Instance::Task(task())).is_none(), "the task itself isn't there");
    drop(transform);
    eventually("it is gone", SOON, || bench.sandbox.gauge().instances == 0).await;
}

/// Deaths: the instance is gone, the trace names alias, class and task, and what it was doing.
#[tokio::test]
async fn a_transform_that_dies_says_which_it_was() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let who = format!("transform `h` ({TRANSFORM}) of task x-0");
    for (mode, how) in [
        ("spin", " used up its CPU budget of 500ms in apply"),
        ("oom", " used more than 64 MiB of memory (limit 67108864 bytes"),
        ("panic", " panicked ("),
        ("unreachable", " trapped (wasm trap: wasm `unreachable` instruction executed) in apply"),
        ("sleep", " did not return from apply within 2s and was dropped"),
    ] {
        let more = if mode == "sleep" { &[("sandbox.call.timeout.ms", "2000")][..] } else { &[] };
        let transform = transform(&bench, mode, more).await.unwrap();
        let error = transform.apply(texts(&["a"]), vec![]).await.unwrap_err();
        let PluginError::Crashed(crash) = &error else { panic!("{mode}: {error:?}") };
        assert!(crash.cause.starts_with(&format!("{who}{how}")), "{mode}: {}", crash.cause);
        let again = transform.apply(texts(&["a"]), vec![]).await;
        assert!(matches!(again, Err(PluginError::Crashed(_))), "{mode}: {again:?}");
    }
    let started = transform(&bench, "panic-start", &[]).await.err().unwrap();
    assert!(started.to_string().contains("a panic in configure"), "{started}");
    let predicate = predicate(&bench, "panic").await.unwrap();
    let error = predicate.test(texts(&["a"]), vec![]).await.unwrap_err().to_string();
    assert!(error.starts_with(&format!("predicate `h` ({PREDICATE}) of task x-0 panicked")), "{error}");
    eventually("nothing is left", SOON, || bench.sandbox.gauge().instances == 0).await;
}

/// Failures that leave the instance standing.
#[tokio::test]
async fn an_answer_that_makes_no_sense_fails_the_call() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    for (mode, told) in [
        ("too-many", "the answer has 2 records where 1 are due"),
        ("twice", "the answer names place 0 twice, or after a later one"),
        ("beyond", "the answer names place 1 of 1"),
        ("two-fates", "the answer names place 0 twice, or after a later one"),
        ("length-past-data", "the lengths add up to 400 bytes, the buffer has 6"),
        ("unknown-schema", "column `values` refers to entry 999 of a pool of 0"),
        ("fail", "record 0 of the batch"),
    ] {
        let transform = transform(&bench, mode, &[]).await.unwrap();
        let error = transform.apply(texts(&["a"]), vec![]).await.unwrap_err();
        assert!(matches!(error, PluginError::Failed(_)), "{mode}: {error:?}");
        assert!(error.to_string().contains(told), "{mode}: {error}");
    }
    for (mode, told) in
        [("too-few", "the answer has 0 answers where 1 are due"), ("beyond", "the answer names place 7 of 1")]
    {
        let error = predicate(&bench, mode).await.unwrap().test(texts(&["a"]), vec![]).await.unwrap_err();
        assert!(error.to_string().contains(told), "{mode}: {error}");
    }
    let wrong = transform(&bench, "config-error", &[]).await.err().unwrap();
    assert!(matches!(&wrong, PluginError::Config { key: Some(key), .. } if key == "mode"), "{wrong:?}");
}

#[tokio::test]
async fn a_transform_has_no_network_files_or_environment_that_it_was_not_given() {
    // What the worker gives to connectors that say nothing isn't meant for transforms.
    let defaults = [("sandbox.default.network", "*:*"), ("sandbox.default.files", "/tmp:ro")];
    let bench = Bench::open(&["bulkhead_test_guests"], &defaults).await;
    let transform = transform(&bench, "look-around", &[]).await.unwrap();
    let seen = kept(&transform.apply(texts(&["?"]), vec![]).await.unwrap());
    assert!(seen[0].ends_with(" 0 0"), "{seen:?}");
    assert!(!seen[0].contains("connect"), "{seen:?}");
}

#[tokio::test]
async fn what_a_transform_asks_for_and_may_not_have_is_said_under_its_own_key() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let config = RawConfig::from([
        ("transforms", "h"),
        ("transforms.h.type", TRANSFORM),
        ("transforms.h.mode", "behave"),
        ("transforms.h.sandbox.memory", "4GiB"),
    ]);
    let refused = bench.sandbox.refused_grants(&config);
    let [refused] = refused.as_slice() else { panic!("{refused:?}") };
    assert_eq!((refused.name.as_str(), refused.value.as_deref()), ("transforms.h.sandbox.memory", Some("4GiB")));
    let error = transform(&bench, "behave", &[("sandbox.memory", "4GiB")]).await.err().unwrap();
    assert!(matches!(&error, PluginError::Config { key: Some(key), .. } if *key == refused.name), "{error:?}");
}
