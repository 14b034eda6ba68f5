//! Stopping: polite where the guest listens, certain where it doesn't.

use std::time::{Duration, Instant};

use bulkhead_pipeline::ports::{PluginError, SourceTask};

use crate::{Bench, POLL, SOON};

/// Far more than the grace time of 1 s, far less than what the guests' calls are given.
const GRACE_AND_A_BIT: Duration = Duration::from_secs(8);

#[tokio::test]
async fn a_poll_that_waits_hears_of_the_stop() {
    let patient = ("task.shutdown.graceful.timeout.ms", "20000");
    let bench = Bench::open(&["bulkhead_test_guests"], &[patient]).await;
    let source = bench.hostile("x", "ok", &[("interval.ms", "60000")]).await.unwrap();
    let begun = Instant::now();
    let (polled, stopped) = tokio::join!(source.poll(POLL), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        source.stop().await
    });
    assert!(polled.is_ok(), "{polled:?}");
    assert_eq!(stopped, Ok(()));
    assert!(begun.elapsed() < Duration::from_secs(8), "{:?}", begun.elapsed());
    assert_eq!(bench.sandbox.gauge().instances, 0);
}

#[tokio::test]
async fn a_call_made_while_a_poll_waits_is_answered() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let source = bench.hostile("x", "ok", &[("interval.ms", "300")]).await.unwrap();
    let (polled, told) = tokio::join!(source.poll(POLL), source.offsets_committed());
    assert_eq!(polled.unwrap().records.count, 1);
    assert_eq!(told, Ok(()));
}

#[tokio::test]
async fn a_guest_that_does_not_listen_is_dropped_after_the_grace_time() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[("sandbox.cpu.burst.ms", "60000")]).await;
    for mode in ["block-poll", "spin", "spin-stop"] {
        let source = bench.hostile("x", mode, &[]).await.unwrap();
        let begun = Instant::now();
        let (polled, stopped) = tokio::join!(source.poll(POLL), async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            source.stop().await
        });
        let Err(PluginError::Crashed(crash)) = stopped else { panic!("{mode}: {stopped:?}") };
        assert_eq!(crash.cause, "task x-0 did not stop within 1s and was dropped", "{mode}");
        assert!(begun.elapsed() < GRACE_AND_A_BIT, "{mode}: {:?}", begun.elapsed());
        assert_eq!(polled.is_err(), mode != "spin-stop", "{mode}: {polled:?}");
        assert_eq!(bench.sandbox.gauge(), bulkhead_sandbox::Gauge::default(), "{mode}");
    }
}

#[tokio::test]
async fn a_stopped_instance_answers_that_it_was_stopped() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let source = bench.hostile("x", "ok", &[]).await.unwrap();
    source.stop().await.unwrap();
    let error = source.poll(POLL).await.unwrap_err().to_string();
    assert_eq!(error, "task x-0 was stopped");
    assert_eq!(source.stop().await, Ok(()), "to stop twice is fine");
}

#[tokio::test]
async fn dropping_the_handle_drops_the_instance_whatever_it_does() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[("sandbox.cpu.burst.ms", "60000")]).await;
    for mode in ["ok", "spin", "block-poll"] {
        let source = bench.hostile("x", mode, &[("interval.ms", "60000")]).await.unwrap();
        let polling = tokio::time::timeout(Duration::from_millis(50), source.poll(POLL)).await;
        assert!(polling.is_err(), "{mode}: the poll is under way");
        assert_eq!(bench.sandbox.gauge().instances, 1, "{mode}");
        drop(source);
        bulkhead_doubles::eventually("the instance is gone", SOON, || bench.sandbox.gauge().instances == 0).await;
    }
}
