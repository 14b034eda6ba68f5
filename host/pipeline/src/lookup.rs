//! Asking a schema registry on behalf of a loop.

use std::future::Future;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::control::Wanted;
use crate::convert::{ConvertError, Lookup, Lookups};
use crate::tolerance::{Tolerance, random};

/// How long a task that is to pause or stop waits for an answer that is under way.
const PATIENCE: Duration = Duration::from_secs(1);

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// The answer is there, or the converter knows that there will be none.
    Settled,
    /// The task is to pause or to stop.
    Interrupted,
}

/// Asks until there is an answer, or for as long as `errors.retry.timeout` says.
pub(crate) async fn ask(
    lookups: &dyn Lookups,
    lookup: Lookup,
    tolerance: &Tolerance,
    wanted: &watch::Receiver<Wanted>,
) -> Asked {
    let since = Instant::now();
    let mut attempt = 1;
    loop {
        let Some(answer) = unless_interrupted(lookups.look_up(lookup.clone()), wanted).await else {
            return Asked::Interrupted;
        };
        let (error, delay) = match answer {
            Ok(()) => return Asked::Settled,
            Err(error @ ConvertError::Retriable(_)) => (error, tolerance.retry(attempt, since.elapsed(), random())),
            Err(error) => (error, None),
        };
        let Some(delay) = delay else {
            lookups.give_up(lookup, error);
            return Asked::Settled;
        };
        tracing::warn!(%error, attempt, ?delay, "A schema could not be looked up and is asked for again.");
        attempt += 1;
        if timeout(delay, interrupted(wanted)).await.is_ok() {
            return Asked::Interrupted;
        }
    }
}

async fn unless_interrupted<T>(work: impl Future<Output = T>, wanted: &watch::Receiver<Wanted>) -> Option<T> {
    let interrupted = async {
        interrupted(wanted).await;
        sleep(PATIENCE).await;
    };
    tokio::select! {
        done = work => Some(done),
        () = interrupted => None,
    }
}

/// A closed channel means stop.
async fn interrupted(wanted: &watch::Receiver<Wanted>) {
    let _ = wanted.clone().wait_for(|wanted| *wanted != Wanted::Running).await;
}
