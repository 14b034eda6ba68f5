//! What dropped instances leave behind. A process of its own: it looks at the memory of the whole process,
//! where no other test may be at work.

#![allow(clippy::unwrap_used)]

use bulkhead_pipeline::ports::SourceTask;
use bulkhead_sandbox_tests::{Bench, POLL};

#[tokio::test]
async fn fifty_dropped_instances_leave_no_memory_behind() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[("task.shutdown.graceful.timeout.ms", "20")]).await;
    let life = async || {
        let source = bench.hostile("x", "block-poll", &[]).await.unwrap();
        let (_polled, stopped) = tokio::join!(source.poll(POLL), source.stop());
        assert!(stopped.is_err(), "{stopped:?}");
    };
    for _ in 0..10 {
        life().await;
    }
    let before = resident();
    for _ in 0..50 {
        life().await;
    }
    let after = resident();
    assert!(after <= before + before / 20, "{before} KiB before, {after} KiB after");
    assert_eq!(bench.sandbox.gauge(), bulkhead_sandbox::Gauge::default());
}

/// KiB of this process in main memory.
fn resident() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}
