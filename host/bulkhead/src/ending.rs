//! The end of a worker: in order, but not for ever.

use std::future::Future;
use std::time::Duration;

use anyhow::bail;

use crate::signals::Signals;

/// What the end may take beside the time that connectors and tasks have for theirs.
const AROUND_THE_TASKS: Duration = Duration::from_secs(10);

/// The time that the whole end has, if connectors and tasks have `graceful` for theirs.
pub fn limit(graceful: Duration) -> Duration {
    graceful + AROUND_THE_TASKS
}

/// Waits for what ends, but no longer than `limit`, and only until the next signal.
pub async fn bounded(
    ending: impl Future<Output = anyhow::Result<()>>,
    signals: &mut Signals,
    limit: Duration,
) -> anyhow::Result<()> {
    tokio::select! {
        outcome = ending => outcome,
        () = signals.next() => bail!("a second signal ended the worker before it had stopped"),
        () = tokio::time::sleep(limit) => bail!("the worker did not stop within {limit:?}"),
    }
}
