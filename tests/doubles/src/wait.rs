//! Waiting for what is to become true.

use std::time::{Duration, Instant};

/// Looks every few milliseconds until the condition holds; fails the test, naming what was awaited,
/// once the deadline is over.
pub async fn eventually(what: &str, deadline: Duration, mut condition: impl FnMut() -> bool) {
    let end = Instant::now() + deadline;
    while !condition() {
        assert!(Instant::now() < end, "not within {deadline:?}: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
