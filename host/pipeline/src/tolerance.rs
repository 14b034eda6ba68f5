//! What happens to a record that could not be processed (KIP-298).

use std::fmt;
use std::time::Duration;

use bulkhead_model::RawConfig;

/// Where a record was when it failed; the names are Connect's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    Transformation,
    KeyConverter,
    ValueConverter,
    HeaderConverter,
    TaskPut,
    TaskPoll,
    KafkaProduce,
}

/// The `errors.*` keys of a connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tolerance {
    /// `errors.tolerance=all`.
    pub all: bool,
    /// `errors.retry.delay.max.ms`.
    pub max_delay: Duration,
    /// `errors.log.enable`.
    pub log: bool,
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
const FIRST_DELAY: Duration = Duration::from_millis(300);

impl Tolerance {
    /// Reads the keys; validation has refused wrong values before, so that unreadable ones count as
    /// absent.
    pub fn from_config(config: &RawConfig) -> Self {
        let millis = |key, default| config.get(key).and_then(|text| text.trim().parse().ok()).unwrap_or(default);
        Self {
            all: config.get("errors.tolerance").is_some_and(|text| text.trim() == "all"),
            max_delay: Duration::from_millis(millis("errors.retry.delay.max.ms", 60_000)),
            log: config.get("errors.log.enable").is_some_and(|text| text.trim().eq_ignore_ascii_case("true")),
        }
    }

    pub fn decide(&self) -> Verdict {
        if self.all { Verdict::Skip } else { Verdict::Fail }
    }

    /// How long to wait before try number `attempt` (from 1) is repeated.
    pub fn delay(&self, attempt: u32) -> Duration {
        FIRST_DELAY.saturating_mul(1 << attempt.saturating_sub(1).min(16)).min(self.max_delay)
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Transformation => "TRANSFORMATION",
            Self::KeyConverter => "KEY_CONVERTER",
            Self::ValueConverter => "VALUE_CONVERTER",
            Self::HeaderConverter => "HEADER_CONVERTER",
            Self::TaskPut => "TASK_PUT",
            Self::TaskPoll => "TASK_POLL",
            Self::KafkaProduce => "KAFKA_PRODUCE",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_wait_longer_each_time_up_to_the_limit() {
        let tolerance = Tolerance::from_config(&RawConfig::from([("errors.retry.delay.max.ms", "1000")]));
        let waits: Vec<_> = (1..=4).map(|attempt| tolerance.delay(attempt).as_millis()).collect();
        assert_eq!(waits, [300, 600, 1000, 1000]);
        assert_eq!(tolerance.delay(u32::MAX).as_millis(), 1000);
    }

    #[test]
    fn without_tolerance_a_bad_record_fails_the_task() {
        assert_eq!(Tolerance::from_config(&RawConfig::new()).decide(), Verdict::Fail);
        let all = RawConfig::from([("errors.tolerance", "all")]);
        assert_eq!(Tolerance::from_config(&all).decide(), Verdict::Skip);
    }
}
