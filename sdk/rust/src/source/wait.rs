use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use crate::{Result, host};

/// How often a paced source hands over records, if its rate allows.
const BEAT: Duration = Duration::from_millis(100);

/// The longest pause that a paced source makes up for, so that a stopped worker isn't flooded later.
const MOST_ARREARS: Duration = Duration::from_secs(1);

/// How long a `poll` may wait when it has nothing to hand over. All waits end early when the worker says stop.
#[derive(Debug)]
pub struct Wait {
    deadline: Duration,
    room: Rc<Cell<usize>>,
    pace: Rc<Pace>,
}

/// Since when records are due; outlives the polls of a task.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    due_since: Cell<Option<Duration>>,
}

impl Wait {
    pub(crate) fn new(max_wait: Duration, room: Rc<Cell<usize>>, pace: Rc<Pace>) -> Self {
        Self { deadline: host::now() + max_wait, room, pace }
    }

    /// What is left of the time that this `poll` may take.
    pub fn remaining(&self) -> Duration {
        self.deadline.saturating_sub(host::now())
    }

    /// True once the worker wants the task to stop, or the time is up: return from `poll` then.
    pub fn is_over(&self) -> bool {
        self.remaining().is_zero() || host::should_stop()
    }

    /// Waits `duration`, but never beyond the time that this `poll` may take, nor once the worker says stop.
    pub async fn sleep(&self, duration: Duration) {
        let duration = duration.min(self.remaining());
        if !duration.is_zero() {
            host::wait(duration).await;
        }
    }

    /// Waits as long as this `poll` may take: for a source that has nothing more to give.
    pub async fn rest(&self) {
        self.sleep(self.remaining()).await;
    }

    /// Holds the task to `rate` records a second: waits until some are due, and gives the batch room for those and no
    /// more. If none are due in the time that this `poll` may take, or the worker says stop, there is no room.
    pub async fn pace(&self, rate: u32) -> Result<()> {
        let rate = f64::from(rate.max(1));
        let since = self.pace.due_since.get().unwrap_or_else(host::now);
        let enough = Duration::from_secs_f64(1.0 / rate).max(BEAT);
        self.sleep((since + enough).saturating_sub(host::now())).await;

        let now = host::now();
        let since = since.max(now.saturating_sub(MOST_ARREARS.max(enough)));
        let elapsed = now.saturating_sub(since).as_secs_f64();
        let due = ((elapsed * rate + 1e-6) as usize).min(self.room.get());
        self.pace.due_since.set(Some(since + Duration::from_secs_f64(due as f64 / rate)));
        self.room.set(if host::should_stop() { 0 } else { due });
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::block_on;

    fn paced(rate: u32, pace: &Rc<Pace>) -> usize {
        let room = Rc::new(Cell::new(10_000));
        let wait = Wait::new(Duration::from_secs(1), Rc::clone(&room), Rc::clone(pace));
        block_on(wait.pace(rate)).expect("pacing never fails");
        room.get()
    }

    #[test]
    fn a_second_holds_as_many_records_as_the_rate_says() {
        for rate in [1, 3, 10, 1_000, 50_000] {
            let pace = Rc::default();
            let start = host::now();
            let mut records = 0;
            while host::now() < start + Duration::from_secs(4) {
                records += paced(rate, &pace);
            }
            let seconds = (host::now() - start).as_secs_f64();
            let expected = seconds * f64::from(rate);
            assert!((records as f64 - expected).abs() <= 1.5, "{records} in {seconds} s at {rate}");
        }
    }

    #[test]
    fn a_long_pause_is_not_made_up_for() {
        let pace = Rc::default();
        paced(1_000, &pace);
        block_on(host::wait(Duration::from_secs(3_600)));
        assert!(paced(1_000, &pace) <= 1_000);
    }

    #[test]
    fn stop_ends_a_wait_and_leaves_no_room() {
        let start = host::now();
        host::native::with(|host| host.stop_at = Some(start + Duration::from_millis(50)));
        assert_eq!(paced(1, &Rc::default()), 0);
        assert_eq!(host::now(), start + Duration::from_millis(50));
        host::native::with(|host| host.stop_at = None);
    }
}
