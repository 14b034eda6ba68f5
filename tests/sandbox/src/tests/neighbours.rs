//! A hostile guest's neighbours keep their pace, and the worker its memory.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use bulkhead_pipeline::ports::{PluginError, SourceTask};

use crate::{Bench, POLL};

/// Between two records of the good neighbour.
const INTERVAL: Duration = Duration::from_millis(50);

/// How long the good neighbour is measured without the others: machines have other things to do.
const ALONE: Duration = Duration::from_secs(2);

/// Polls a good source for as long as `meanwhile` takes; answers with how many of the records due it
/// handed over, in percent.
async fn pace(bench: &Bench, meanwhile: impl Future<Output = ()>) -> u32 {
    let good = bench.hostile("good", "ok", &[("interval.ms", "50")]).await.unwrap();
    let records = AtomicU32::new(0);
    let begun = Instant::now();
    let polling = async {
        loop {
            let batch = good.poll(POLL).await.expect("the good neighbour polls");
            records.fetch_add(batch.records.count as u32, Ordering::Relaxed);
        }
    };
    tokio::select! {
        () = meanwhile => {}
        () = polling => unreachable!("polling has no end"),
    }
    let due = begun.elapsed().as_millis() / INTERVAL.as_millis();
    (u128::from(records.load(Ordering::Relaxed)) * 100 / due.max(1)) as u32
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn spinning_guests_do_not_slow_a_good_one() {
    let properties = [("sandbox.threads", "2"), ("sandbox.cpu.burst.ms", "1500"), ("sandbox.call.timeout.ms", "60000")];
    let bench = Bench::open(&["bulkhead_test_guests"], &properties).await;
    let spin = async |number: u32| {
        let name = format!("spin{number}");
        let source = bench.hostile(&name, "spin", &[]).await.unwrap();
        let error = source.poll(POLL).await.unwrap_err().to_string();
        assert!(error.starts_with(&format!("task {name}-0 used up its CPU budget of 1.5s in poll")), "{error}");
    };
    let alone = pace(&bench, tokio::time::sleep(ALONE)).await;
    let kept = pace(&bench, async {
        tokio::join!(spin(0), spin(1), spin(2), spin(3));
    });
    let kept = kept.await;
    assert!(kept >= alone * 7 / 10, "{kept} % of the records due, and {alone} % without neighbours");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn greedy_guests_get_their_limit_and_no_more() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let eat = async |number: u32| {
        let source = bench.hostile(&format!("oom{number}"), "oom", &[]).await.unwrap();
        let error = source.poll(POLL).await.unwrap_err();
        let PluginError::Crashed(crash) = error else { panic!("{error:?}") };
        assert!(crash.cause.contains("(limit 67108864 bytes, asked for "), "{}", crash.cause);
    };
    let alone = pace(&bench, tokio::time::sleep(ALONE)).await;
    let kept = pace(&bench, async {
        tokio::join!(eat(0), eat(1), eat(2), eat(3), eat(4), eat(5), eat(6), eat(7));
        tokio::time::sleep(Duration::from_millis(500)).await;
    });
    let kept = kept.await;
    assert!(kept >= alone * 7 / 10, "{kept} % of the records due, and {alone} % without neighbours");
}

#[tokio::test]
async fn the_budget_of_all_instances_bounds_each_of_them() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[("sandbox.memory.budget", "16MiB")]).await;
    let source = bench.hostile("x", "oom", &[]).await.unwrap();
    let error = source.poll(POLL).await.unwrap_err().to_string();
    assert!(error.contains("than the worker has left for plugins"), "{error}");
    assert!(error.contains("of 16777216 bytes are in use; `sandbox.memory.budget`"), "{error}");
}

#[tokio::test]
async fn one_instance_too_many_is_refused_with_the_reason() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[("sandbox.max.instances", "2")]).await;
    let _first = bench.hostile("a", "ok", &[]).await.unwrap();
    let _second = bench.hostile("b", "ok", &[]).await.unwrap();
    let Err(error) = bench.hostile("c", "ok", &[]).await else { panic!("a third instance started") };
    assert!(error.to_string().starts_with("the worker has 2 instances already"), "{error}");
}
