//! Tasks of stopped connectors, which must not be.
//!
//! A stop that was written but not acknowledged lets the next change begin too early, so that task
//! configurations that were on their way may be committed behind it. And a leader that claims the config
//! log writes a stop in two parts, between which another leader may publish tasks. They are taken back, and
//! as long as that can't be written, it is tried again.

use std::collections::BTreeMap;

use bulkhead_model::{ConnectorName, TargetState};

use crate::Herder;
use crate::api::{ConfigRecord, Millis};
use crate::changes::{Change, Then};

const RETRY_MILLIS: u64 = 1_000;

/// When to try again for which connector.
#[derive(Debug, Default)]
pub(crate) struct Leftovers {
    retries: BTreeMap<ConnectorName, Millis>,
}

impl Leftovers {
    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        self.retries.values().min().copied()
    }
}

impl Herder {
    pub(crate) fn drop_leftovers(&mut self, name: &ConnectorName) {
        if self.has_leftovers(name) {
            self.submit(name, Change::DropTasks);
        }
    }

    /// What was read before this worker led was another's business then.
    pub(crate) fn drop_all_leftovers(&mut self) {
        if !self.leads() {
            return;
        }
        let names: Vec<_> = self.cluster.names().filter(|name| self.has_leftovers(name)).cloned().collect();
        for name in names {
            self.drop_leftovers(&name);
        }
    }

    pub(crate) fn begin_drop_tasks(&mut self, name: &ConnectorName) {
        if self.has_leftovers(name) {
            let commit = ConfigRecord::Commit { name: name.clone(), tasks: 0 };
            self.write(name, [vec![commit]], Then::TasksDropped);
        }
    }

    fn has_leftovers(&self, name: &ConnectorName) -> bool {
        let has_tasks = self.cluster.get(name).is_some_and(|connector| connector.has_task(0));
        has_tasks && self.cluster.target(name) == TargetState::Stopped
    }

    pub(crate) fn tasks_not_dropped(&mut self, name: &ConnectorName) {
        self.leftovers.retries.insert(name.clone(), self.now.plus(RETRY_MILLIS));
    }

    pub(crate) fn retry_leftovers(&mut self) {
        let now = self.now;
        let due: Vec<_> = self.leftovers.retries.extract_if(.., |_, due| *due <= now).collect();
        for (name, _) in due {
            self.drop_leftovers(&name);
        }
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_model::RawConfig;

    use super::*;
    use crate::api::{Event, Request};
    use crate::testing::{AppendError, Sim, orders, text};

    /// A stopped connector.
    fn stopped() -> Sim {
        let mut sim = Sim::new();
        sim.create(&[]);
        sim.set_target(TargetState::Stopped);
        sim
    }

    /// A task is committed behind the stop.
    fn overtake(sim: &mut Sim) {
        let task = ConfigRecord::Task { id: orders().task(0), config: RawConfig::new() };
        sim.log(task);
        sim.log(ConfigRecord::Commit { name: orders(), tasks: 1 });
        sim.settle();
    }

    #[test]
    fn tasks_committed_behind_a_stop_never_run_and_are_taken_back() {
        let mut sim = stopped();
        sim.take_told();
        overtake(&mut sim);
        assert_eq!(sim.take_told(), "");
        assert_eq!(sim.status("orders"), "STOPPED []");
        assert_eq!(text(sim.ask(Request::TaskInfos { name: orders() })), "");
    }

    #[test]
    fn what_could_not_be_taken_back_is_tried_again() {
        let mut sim = stopped();
        sim.append_errors.push_back(AppendError::Lost);
        overtake(&mut sim);
        assert_eq!(sim.herder.next_deadline(), Some(Millis(RETRY_MILLIS)));
        sim.now = Millis(RETRY_MILLIS);
        sim.deliver(Event::Tick);
        sim.settle();
        assert_eq!(text(sim.ask(Request::TaskInfos { name: orders() })), "");
        assert_eq!(sim.herder.next_deadline(), None);
    }
}
