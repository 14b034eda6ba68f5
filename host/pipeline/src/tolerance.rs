//! What happens to a record that could not be processed (KIP-298).
//!
//! Start at [`Tolerance::judge`], which both loops ask about every [`Fault`].
//!
//! `errors.retry.timeout` bounds the tries of what failed in a way that may pass. Of records that is
//! sending, and asking a schema registry; transforms, and converters otherwise, never fail so. A `poll`
//! or `put` is bounded as well, unlike in Connect, but only by a time-out above 0: with the default it is
//! repeated until it succeeds.

mod fault;

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use bulkhead_model::{RawConfig, TaskId};

pub use fault::{Fault, Stage};

use crate::control::TaskFailure;

/// The `errors.*` keys of a connector, without the dead-letter queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// `errors.tolerance=all`.
    pub all: bool,
    /// `errors.retry.timeout`; none: without end.
    pub retry_timeout: Option<Duration>,
    /// `errors.retry.delay.max.ms`.
    pub max_delay: Duration,
    pub log: Log,
}

/// What is logged of a record that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Log {
    Nothing,
    /// `errors.log.enable`: stage, class and error.
    Fault,
    /// `errors.log.include.messages`: the record as well.
    FaultAndRecord,
}

/// What to do about a record that failed for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Go on without it.
    Skip,
    /// The task fails.
    Fail,
}

/// The first wait before something retriable is tried again; doubled each time.
const FIRST_DELAY_MS: u64 = 300;

impl Tolerance {
    /// Reads the keys; validation has refused wrong values before, so that unreadable ones count as
    /// absent.
    pub fn from_config(config: &RawConfig) -> Self {
        let number = |key, default: i64| config.get(key).and_then(|text| text.trim().parse().ok()).unwrap_or(default);
        let switch = |key| config.get(key).is_some_and(|text| text.trim().eq_ignore_ascii_case("true"));
        Self {
            all: config.get("errors.tolerance").is_some_and(|text| text.trim() == "all"),
            retry_timeout: u64::try_from(number("errors.retry.timeout", 0)).ok().map(Duration::from_millis),
            max_delay: Duration::from_millis(number("errors.retry.delay.max.ms", 60_000).max(0).unsigned_abs()),
            log: match (switch("errors.log.enable"), switch("errors.log.include.messages")) {
                (false, _) => Log::Nothing,
                (true, false) => Log::Fault,
                (true, true) => Log::FaultAndRecord,
            },
        }
    }

    /// Logs what happened to a record, if that is wanted, and decides. `name` is the record in few words,
    /// `details` says all of it.
    pub fn judge(
        &self,
        task: &TaskId,
        fault: &Fault,
        name: impl FnOnce() -> String,
        details: impl FnOnce() -> String,
    ) -> Result<(), TaskFailure> {
        match self.log {
            Log::Nothing => {}
            Log::Fault => tracing::error!(error = %fault, "{}.", sentence(task, fault)),
            Log::FaultAndRecord => tracing::error!(error = %fault, "{}, where {}.", sentence(task, fault), details()),
        }
        match self.decide() {
            Verdict::Skip => Ok(()),
            Verdict::Fail => {
                Err(TaskFailure::Record { record: name(), stage: fault.stage, message: fault.to_string() })
            }
        }
    }

    pub fn decide(&self) -> Verdict {
        if self.all { Verdict::Skip } else { Verdict::Fail }
    }

    /// How long to wait before a record's operation that failed for the `attempt`th time (from 1) is tried
    /// again; none if `errors.retry.timeout` is over.
    pub fn retry(&self, attempt: u32, elapsed: Duration, random: u64) -> Option<Duration> {
        within(self.retry_timeout, elapsed, self.delay(attempt, random))
    }

    /// The same for a call into the task, which is tried without end unless there is a time-out above 0.
    /// `asked` is the wait that the task asks for.
    pub fn retry_call(
        &self,
        attempt: u32,
        elapsed: Duration,
        random: u64,
        asked: Option<Duration>,
    ) -> Option<Duration> {
        let timeout = self.retry_timeout.filter(|timeout| !timeout.is_zero());
        within(timeout, elapsed, asked.unwrap_or_else(|| self.delay(attempt, random)))
    }

    /// The wait after failure number `attempt` (from 1): 300 ms, doubled each time; once that is above
    /// `errors.retry.delay.max.ms`, anything below it.
    pub fn delay(&self, attempt: u32, random: u64) -> Duration {
        let max = u64::try_from(self.max_delay.as_millis()).unwrap_or(u64::MAX);
        let doubled = FIRST_DELAY_MS.saturating_mul(1 << attempt.saturating_sub(1).min(40));
        Duration::from_millis(if doubled > max { random % max.max(1) } else { doubled })
    }
}

/// The wait, or what is left of the time; none if it is over.
fn within(timeout: Option<Duration>, elapsed: Duration, wait: Duration) -> Option<Duration> {
    let Some(timeout) = timeout else { return Some(wait) };
    let left = timeout.saturating_sub(elapsed);
    (left > Duration::ZERO).then_some(wait.min(left))
}

/// As Connect begins its line.
fn sentence(task: &TaskId, fault: &Fault) -> String {
    let Fault { stage, class, .. } = fault;
    format!("Error encountered in task {task}. Executing stage '{stage}' with class '{class}'")
}

/// Spreads waits, nothing else: the keys of a fresh hasher are random.
pub(crate) fn random() -> u64 {
    RandomState::new().hash_one(0_u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_wait_twice_as_long_each_time_and_above_the_limit_for_anything_below_it() {
        let tolerance = Tolerance::from_config(&RawConfig::from([("errors.retry.delay.max.ms", "1200")]));
        let waits: Vec<_> = (1..=5).map(|attempt| tolerance.delay(attempt, 10_007).as_millis()).collect();
        assert_eq!(waits, [300, 600, 1200, 407, 407]);
        assert_eq!(tolerance.delay(u32::MAX, 1199).as_millis(), 1199);
        let none = Tolerance::from_config(&RawConfig::from([("errors.retry.delay.max.ms", "0")]));
        assert_eq!(none.delay(1, 7), Duration::ZERO);
    }

    #[test]
    fn the_last_wait_ends_with_the_time_out_and_none_comes_after_it() {
        let millis = Duration::from_millis;
        let tolerance = |timeout| Tolerance::from_config(&RawConfig::from([("errors.retry.timeout", timeout)]));
        assert_eq!(tolerance("1000").retry(2, millis(300), 0), Some(millis(600)));
        assert_eq!(tolerance("1000").retry(3, millis(900), 0), Some(millis(100)));
        assert_eq!(tolerance("1000").retry(4, millis(1000), 0), None);
        assert_eq!(tolerance("0").retry(1, Duration::ZERO, 0), None);
        assert_eq!(tolerance("-1").retry(3, Duration::MAX, 0), Some(millis(1200)));
    }

    #[test]
    fn calls_are_tried_without_end_unless_a_time_out_is_set() {
        let millis = Duration::from_millis;
        let tolerance = |timeout| Tolerance::from_config(&RawConfig::from([("errors.retry.timeout", timeout)]));
        for endless in ["0", "-1"] {
            assert_eq!(tolerance(endless).retry_call(1, Duration::MAX, 0, None), Some(millis(300)));
        }
        assert_eq!(tolerance("1000").retry_call(1, millis(0), 0, Some(millis(7))), Some(millis(7)));
        assert_eq!(tolerance("1000").retry_call(2, millis(999), 0, None), Some(millis(1)));
        assert_eq!(tolerance("1000").retry_call(9, millis(1000), 0, None), None);
    }

    #[test]
    fn without_tolerance_a_bad_record_fails_the_task() {
        assert_eq!(Tolerance::from_config(&RawConfig::new()).decide(), Verdict::Fail);
        let all = RawConfig::from([("errors.tolerance", "all")]);
        assert_eq!(Tolerance::from_config(&all).decide(), Verdict::Skip);
    }

    #[test]
    fn a_fault_names_what_was_at_work() {
        let fault = Fault::transforming(crate::transform::StageError {
            transform: "extract".to_owned(),
            class: "a.B".to_owned(),
            source: crate::convert::ConvertError::Data("no struct".to_owned()),
        });
        assert_eq!(
            sentence(&bulkhead_model::ConnectorName::new("c").task(1), &fault),
            "Error encountered in task c-1. Executing stage 'TRANSFORMATION' with class 'a.B'"
        );
        assert_eq!(
            fault.trace(),
            "org.apache.kafka.connect.errors.DataException: no struct\n\tat TRANSFORMATION (a.B, transform `extract`)\n"
        );
        assert_eq!(fault.message, "no struct");
    }
}
