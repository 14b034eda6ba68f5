//! Restarts of what failed, without anybody asking (`restart.policy`).
//!
//! Each failure in a row waits twice as long as the one before it, up to a cap; an instance that ran
//! quietly for a while begins anew.

use std::collections::BTreeMap;

use bulkhead_model::{Instance, RawConfig};

use crate::Herder;
use crate::api::Millis;
use crate::instances::Progress;
use crate::view::RestartView;

/// When a failed instance is restarted by itself. Times are in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestartPolicy {
    /// `restart.policy`: `on-failure`, or `none`.
    pub on_failure: bool,
    /// `restart.backoff.ms`: the wait before the first restart.
    pub backoff: u64,
    /// `restart.backoff.max.ms`
    pub max_backoff: u64,
    /// `restart.reset.ms`: after running so long without a failure, the wait is that of the first again.
    pub reset: u64,
}

impl Default for RestartPolicy {
    fn default() -> Self {
        Self { on_failure: false, backoff: 1_000, max_backoff: 60_000, reset: 600_000 }
    }
}

/// Where automatic restarts stand, for every instance of this worker that has failed.
#[derive(Debug, Default)]
pub(crate) struct AutoRestarts {
    failed: BTreeMap<Instance, Failures>,
    changed: bool,
}

#[derive(Debug)]
struct Failures {
    restarts: u32,
    next: Option<Millis>,
    last_restart: Option<Millis>,
    last_error: String,
}

impl RestartPolicy {
    /// The worker's, with what a connector's configuration says instead. Values that can't be read were
    /// refused by validation; the worker's stand for them.
    fn of(self, config: &RawConfig) -> Self {
        let millis = |key, default| config.get(key).and_then(|text| text.trim().parse().ok()).unwrap_or(default);
        Self {
            on_failure: match config.get("restart.policy").map(str::trim) {
                Some(policy) if policy.eq_ignore_ascii_case("on-failure") => true,
                Some(policy) if policy.eq_ignore_ascii_case("none") => false,
                Some(_) | None => self.on_failure,
            },
            backoff: millis("restart.backoff.ms", self.backoff),
            max_backoff: millis("restart.backoff.max.ms", self.max_backoff),
            reset: millis("restart.reset.ms", self.reset),
        }
    }

    /// How long to wait after so many restarts.
    fn wait(&self, restarts: u32) -> u64 {
        self.backoff.saturating_mul(1 << restarts.min(32)).min(self.max_backoff)
    }
}

impl AutoRestarts {
    pub(crate) fn forget(&mut self, instance: &Instance) {
        self.changed |= self.failed.remove(instance).is_some();
    }

    fn next_deadline(&self) -> Option<Millis> {
        self.failed.values().filter_map(|failures| failures.next).min()
    }

    fn note(&mut self, instance: &Instance, trace: &str, policy: RestartPolicy, now: Millis) {
        let last_error = trace.lines().next().unwrap_or_default().to_owned();
        let failures = self.failed.entry(instance.clone()).or_insert(Failures {
            restarts: 0,
            next: None,
            last_restart: None,
            last_error: String::new(),
        });
        if failures.last_restart.is_some_and(|last| last.plus(policy.reset) <= now) {
            failures.restarts = 0;
        }
        failures.next = policy.on_failure.then(|| now.plus(policy.wait(failures.restarts)));
        failures.last_error = last_error;
        self.changed = true;
    }

    fn due(&mut self, now: Millis) -> Vec<Instance> {
        let mut due = Vec::new();
        for (instance, failures) in &mut self.failed {
            if failures.next.is_some_and(|next| next <= now) {
                failures.next = None;
                failures.restarts = failures.restarts.saturating_add(1);
                failures.last_restart = Some(now);
                due.push(instance.clone());
            }
        }
        self.changed |= !due.is_empty();
        due
    }

    /// What is to be seen from outside, if it is not what was seen last.
    pub(crate) fn view(&mut self) -> Option<BTreeMap<Instance, RestartView>> {
        let view = |failures: &Failures| RestartView {
            restarts: failures.restarts,
            next: failures.next,
            last_error: failures.last_error.clone(),
        };
        std::mem::take(&mut self.changed)
            .then(|| self.failed.iter().map(|(instance, failures)| (instance.clone(), view(failures))).collect())
    }
}

impl Herder {
    /// An instance of this worker has failed.
    pub(crate) fn note_failure(&mut self, instance: &Instance) {
        let Progress::Failed { trace, .. } = self.instances.progress(instance) else {
            return;
        };
        let Some(connector) = self.cluster.get(instance.connector()) else {
            return;
        };
        let policy = self.settings.restart.of(&connector.config);
        self.auto_restarts.note(instance, trace, policy, self.now);
    }

    /// When the next one may be carried out: not beside a change of what runs here.
    pub(crate) fn auto_restarts_due(&self) -> Option<Millis> {
        self.auto_restarts.next_deadline().filter(|_| self.is_settled())
    }

    pub(crate) fn run_auto_restarts(&mut self) {
        if !self.is_settled() {
            return;
        }
        for instance in self.auto_restarts.due(self.now) {
            if let Progress::Failed { .. } = self.instances.progress(&instance) {
                tracing::info!(%instance, "Restarting what failed.");
                self.restart_instance(&instance);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_model::TargetState;

    use super::*;
    use crate::api::Event;
    use crate::testing::{Sim, orders};

    const POLICY: [(&str, &str); 3] =
        [("restart.policy", "on-failure"), ("restart.backoff.ms", "100"), ("restart.backoff.max.ms", "250")];

    fn fail(sim: &mut Sim) -> Option<Millis> {
        sim.break_down(&Instance::Task(orders().task(0)));
        sim.herder.next_deadline()
    }

    fn wake(sim: &mut Sim, at: u64) {
        sim.now = Millis(at);
        sim.deliver(Event::Tick);
        sim.settle();
    }

    fn restarts(sim: &Sim) -> Option<u32> {
        let view = sim.herder.view();
        view.restarts.get(&Instance::Task(orders().task(0))).map(|restarts| restarts.restarts)
    }

    #[test]
    fn failures_in_a_row_wait_longer_up_to_the_cap() {
        let mut sim = Sim::new();
        sim.create(&POLICY);
        assert_eq!(fail(&mut sim), Some(Millis(100)));
        wake(&mut sim, 100);
        assert_eq!(sim.status("orders"), "RUNNING [0 RUNNING]");
        assert_eq!(fail(&mut sim), Some(Millis(300)));
        wake(&mut sim, 300);
        assert_eq!(fail(&mut sim), Some(Millis(550)));
        assert_eq!(restarts(&sim), Some(2));
    }

    #[test]
    fn who_ran_quietly_begins_anew() {
        let mut sim = Sim::new();
        sim.create(&[("restart.policy", "on-failure"), ("restart.reset.ms", "5000")]);
        assert_eq!(fail(&mut sim), Some(Millis(1_000)));
        wake(&mut sim, 1_000);
        sim.now = Millis(6_000);
        assert_eq!(fail(&mut sim), Some(Millis(7_000)));
        assert_eq!(restarts(&sim), Some(0));
    }

    #[test]
    fn nothing_is_restarted_without_the_policy_or_once_it_is_paused_away() {
        let mut sim = Sim::new();
        sim.create(&[]);
        assert_eq!(fail(&mut sim), None);
        assert_eq!(sim.status("orders"), "RUNNING [0 FAILED]");
        let mut sim = Sim::new();
        sim.create(&POLICY);
        assert!(fail(&mut sim).is_some());
        sim.set_target(TargetState::Stopped);
        wake(&mut sim, 100);
        assert_eq!(sim.status("orders"), "STOPPED []");
        assert_eq!(restarts(&sim), None);
    }

    #[test]
    fn a_restart_by_hand_forgets_what_was() {
        let mut sim = Sim::new();
        sim.create(&POLICY);
        fail(&mut sim);
        sim.ask(crate::api::Request::RestartTask { id: orders().task(0) }).unwrap();
        assert_eq!(restarts(&sim), None);
        assert_eq!(sim.herder.next_deadline(), None);
    }
}
