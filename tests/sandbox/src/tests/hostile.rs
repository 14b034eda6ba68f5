//! One line for each way to misbehave: what the task is told of it, and that nothing is left behind.

use bulkhead_pipeline::ports::{PluginError, PollLimits, SourceTask};

use crate::{Bench, SOON};

/// When a mode strikes.
#[derive(Clone, Copy, Debug)]
enum At {
    Start,
    Poll,
}

/// What the worker is told by a guest that goes on living.
#[derive(Clone, Copy, Debug)]
enum Told {
    /// The guest said so, or broke a rule that leaves it standing.
    Failed(&'static str),
    Config(&'static str),
    Data(&'static str),
}

const BRIEFLY: PollLimits = PollLimits { max_wait_ms: 100, max_records: 2000, max_bytes: 4 << 20 };

/// Deaths: the instance is gone, the trace says why and where.
#[rustfmt::skip]
const DEATHS: &[(&str, At, &str)] = &[
    ("spin",        At::Poll,  "task x-0 used up its CPU budget of 500ms in poll"),
    ("spin-start",  At::Start, "task x-0 used up its CPU budget of 500ms in start"),
    ("block-poll",  At::Poll,  "task x-0 did not return from poll within 2.1s and was dropped"),
    ("oom",         At::Poll,  "task x-0 used more than 64 MiB of memory (limit 67108864 bytes, asked for "),
    ("recursion",   At::Poll,  "task x-0 ran out of stack"),
    ("exit",        At::Poll,  "task x-0 called exit("),
    ("exit-start",  At::Start, "task x-0 called exit("),
    ("abort",       At::Poll,  "task x-0 called abort in poll"),
    ("unreachable", At::Poll,  "task x-0 trapped (wasm trap: wasm `unreachable` instruction executed) in poll"),
    ("panic-poll",  At::Poll,  "a panic in poll) in poll"),
    ("panic-start", At::Start, "a panic in the task's start) in start"),
];

/// Failures that leave the instance standing, to be stopped like any other.
#[rustfmt::skip]
const FAILURES: &[(&str, &str, At, Told)] = &[
    ("start-error",  "", At::Start, Told::Failed("the task fails to start, as it was asked to")),
    ("config-error", "", At::Start, Told::Config("mode")),
    ("fail-once",    "", At::Poll,  Told::Failed("the task fails once, as it was asked to")),
    ("schema-flood", "", At::Poll,  Told::Data("too many schemas: at most 100000")),
    ("huge-batch",   "bytes", At::Poll, Told::Failed("at most 4194304 were asked for")),

    ("out-of-bounds", "length-past-data",       At::Poll, Told::Failed("the lengths add up to 403 bytes, the buffer has 6")),
    ("out-of-bounds", "length-overflow",        At::Poll, Told::Failed("the lengths add up to 8589934590 bytes")),
    ("out-of-bounds", "data-left-over",         At::Poll, Told::Failed("the lengths add up to 6 bytes, the buffer has 15")),
    ("out-of-bounds", "topic-index",            At::Poll, Told::Failed("column `topic` refers to entry 1 of a pool of 1")),
    ("out-of-bounds", "short-column",           At::Poll, Told::Failed("column `timestamp` has 1 entries where 2 are due")),
    ("out-of-bounds", "long-column",            At::Poll, Told::Failed("column `partition` has 3 entries where 2 are due")),
    ("out-of-bounds", "header-count",           At::Poll, Told::Failed("column `header-key` has 0 entries where 1000000 are due")),
    ("out-of-bounds", "header-index",           At::Poll, Told::Failed("column `header-key` refers to entry 9 of a pool of 0")),
    ("out-of-bounds", "source-partition-index", At::Poll, Told::Failed("column `source-partition` refers to entry 7 of a pool of 1")),
    ("out-of-bounds", "offset-past-buffer",     At::Poll, Told::Failed("the lengths add up to 9009 bytes")),
    ("out-of-bounds", "encoding",               At::Poll, Told::Failed("column `values` has the unknown encoding 9")),
    ("out-of-bounds", "count",                  At::Poll, Told::Failed("the batch has 4294967295 records, at most 250000 are allowed")),

    ("bad-schema", "circle",       At::Poll, Told::Data("refers to node 0, which is not before it")),
    ("bad-schema", "missing-node", At::Poll, Told::Data("refers to node 77, which is not before it")),
    ("bad-schema", "no-element",   At::Poll, Told::Data("has no element")),
    ("bad-schema", "same-field",   At::Poll, Told::Data("has two fields `a`")),
    ("bad-schema", "default",      At::Poll, Told::Data("the default value is no such value")),
    ("bad-schema", "empty",        At::Poll, Told::Data("a schema needs a node")),
    ("bad-schema", "unregistered", At::Poll, Told::Failed("column `values` refers to entry 999 of a pool of 0")),
];

/// Starts a source in a mode and polls it until it strikes.
async fn strike(bench: &Bench, mode: &str, variant: &str, at: At) -> PluginError {
    let mut more = vec![("variant", variant)];
    if mode == "block-poll" {
        // Nothing but the deadline ends it.
        more.push(("sandbox.call.timeout.ms", "2000"));
    }
    let started = bench.hostile("x", mode, &more).await;
    let source = match (at, started) {
        (At::Start, Err(error)) => return error,
        (At::Start, Ok(_)) => panic!("{mode}: the start succeeded"),
        (At::Poll, started) => started.expect("the source starts"),
    };
    for _ in 0..10 {
        match source.poll(BRIEFLY).await {
            Ok(_) => continue,
            Err(error) => {
                let stopped = source.stop().await;
                assert_eq!(stopped.is_err(), matches!(error, PluginError::Crashed(_)), "{mode}: {stopped:?}");
                return error;
            }
        }
    }
    panic!("{mode}: ten polls succeeded");
}

#[tokio::test]
async fn a_death_is_the_instances_own_and_its_trace_says_why_and_where() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    for (mode, at, cause) in DEATHS {
        let error = strike(&bench, mode, "", *at).await;
        let PluginError::Crashed(crash) = error else { panic!("{mode}: {error:?}") };
        println!("{mode}:\n{}\n", crash.trace);
        assert!(crash.cause.contains(cause), "{mode}: {}", crash.cause);
        assert_eq!(crash.cause.lines().count(), 1, "{mode}: {}", crash.cause);
        assert!(crash.trace.starts_with(&crash.cause), "{mode}: {}", crash.trace);
        assert_eq!(bench.sandbox.gauge(), bulkhead_sandbox::Gauge::default(), "{mode}");
    }
}

#[tokio::test]
async fn a_trace_shows_the_guests_own_functions() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    for (mode, function) in [
        ("spin", "stuck::spin"),
        ("oom", "death::out_of_memory"),
        ("recursion", "death::deeper"),
        ("exit", "death::exit"),
        ("panic-poll", "HostileTask"),
    ] {
        let PluginError::Crashed(crash) = strike(&bench, mode, "", At::Poll).await else {
            panic!("{mode}: no crash");
        };
        let frames: Vec<_> = crash.trace.lines().filter(|line| line.starts_with("    at ")).collect();
        assert!(frames.iter().any(|frame| frame.contains(function)), "{mode}: {}", crash.trace);
        assert!(!frames.iter().any(|frame| frame.contains("core::panicking")), "{mode}: {}", crash.trace);
    }
}

#[tokio::test]
async fn a_failure_leaves_the_instance_standing_and_says_what_was_wrong() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    for (mode, variant, at, told) in FAILURES {
        let error = strike(&bench, mode, variant, *at).await;
        let (found, expected) = match (&error, told) {
            (PluginError::Failed(info), Told::Failed(expected)) | (PluginError::Data(info), Told::Data(expected)) => {
                (info.to_string(), expected)
            }
            (PluginError::Config { key, .. }, Told::Config(expected)) => (key.clone().unwrap_or_default(), expected),
            _ => panic!("{mode} {variant}: {error:?}"),
        };
        assert!(found.contains(expected), "{mode} {variant}: {found}");
    }
    bulkhead_doubles::eventually("all instances are gone", SOON, || bench.sandbox.gauge().instances == 0).await;
}

#[tokio::test]
async fn a_retriable_error_is_told_as_one_and_the_next_poll_succeeds() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let source = bench.hostile("x", "retriable", &[("times", "2")]).await.unwrap();
    for _ in 0..2 {
        let error = source.poll(BRIEFLY).await.unwrap_err();
        assert!(matches!(error, PluginError::Retriable(_)), "{error:?}");
    }
    assert_eq!(source.poll(BRIEFLY).await.unwrap().records.count, 1);
}

#[tokio::test]
async fn an_instance_killed_for_its_memory_runs_with_a_larger_limit() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let batch = [("batch.records", "2000"), ("value.bytes", "4000")];
    let large = PollLimits { max_bytes: 32 << 20, ..BRIEFLY };
    let mut tight = batch.to_vec();
    tight.push(("sandbox.memory", "4MiB"));
    let source = bench.hostile("x", "tick", &tight).await.unwrap();
    let error = source.poll(large).await.unwrap_err().to_string();
    assert!(error.contains("used more than 4 MiB of memory"), "{error}");
    let source = bench.hostile("x", "tick", &batch).await.unwrap();
    assert_eq!(source.poll(large).await.unwrap().records.count, 2000);
}
