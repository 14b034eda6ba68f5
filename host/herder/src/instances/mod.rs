//! The lives of the instances that run here.
//!
//! For every connector and task there is what is wanted and what is; [`Instances`] says what must be
//! done to bring the two together. **Invariant:** an instance is started only when nothing of it
//! exists, that is, never before the end of its previous run was reported.

mod life;

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use bulkhead_model::work::Run;
use bulkhead_model::{ConnectorName, Instance, State, TargetState};

use crate::cluster_config::Revision;
pub(crate) use life::Farewell;
use life::{Ending, Life};

/// What an instance is to run as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spec {
    /// A run of another revision is replaced.
    pub(crate) revision: Revision,
    pub(crate) target: TargetState,
}

/// What is to be done about an instance.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    Start {
        run: Run,
        target: TargetState,
    },
    Stop {
        run: Run,
    },
    SetTarget {
        run: Run,
        target: TargetState,
    },
    /// Tell the cluster its state; the version is known once it has started.
    Report {
        state: State,
        version: Option<String>,
    },
    /// It is no more: remove its status.
    Forget,
}

/// How far an instance has come, for whoever waits for it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Progress<'a> {
    /// Nothing is wanted of it here.
    Unwanted,
    /// On its way: to be stopped first, or into another target state.
    Pending,
    Starting {
        run: Run,
    },
    /// Up, and in the state of its target.
    Settled {
        run: Run,
    },
    Failed {
        run: Run,
        trace: &'a str,
    },
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Instances {
    slots: BTreeMap<Instance, Slot>,
    /// What is to start waits meanwhile; what is to stop doesn't.
    holds_starts: bool,
    last_run: u64,
}

#[derive(Debug, Default)]
struct Slot {
    wanted: Option<Spec>,
    life: Life,
}

impl Instances {
    /// Changes what is wanted; `farewell` is for an instance that is wanted no longer.
    pub(crate) fn want(&mut self, instance: &Instance, wanted: Option<Spec>, farewell: Farewell) -> Vec<Action> {
        match wanted {
            Some(spec) => {
                self.slots.entry(instance.clone()).or_default().wanted = Some(spec);
                self.settle(instance)
            }
            None => self.dismiss(instance, farewell),
        }
    }

    fn dismiss(&mut self, instance: &Instance, farewell: Farewell) -> Vec<Action> {
        let Some(slot) = self.slots.get_mut(instance) else {
            return Vec::new();
        };
        slot.wanted = None;
        match &mut slot.life {
            Life::Starting { .. } | Life::Up { .. } => slot.life.stop(Ending::Farewell(farewell)),
            Life::Stopping { ending, .. } => {
                ending.change(farewell);
                Vec::new()
            }
            Life::Failed { .. } => {
                self.slots.remove(instance);
                vec![farewell.action()]
            }
            Life::Gone => {
                self.slots.remove(instance);
                Vec::new()
            }
        }
    }

    /// Ends the present run, if any, and starts another.
    pub(crate) fn restart(&mut self, instance: &Instance) -> Vec<Action> {
        let Some(slot) = self.slots.get_mut(instance).filter(|slot| slot.wanted.is_some()) else {
            return Vec::new();
        };
        match &mut slot.life {
            Life::Starting { .. } | Life::Up { .. } => slot.life.stop(Ending::Farewell(Farewell::Restarting)),
            Life::Stopping { ending, .. } => {
                ending.change(Farewell::Restarting);
                Vec::new()
            }
            Life::Failed { .. } => {
                slot.life = Life::Gone;
                followed_by(Farewell::Restarting.action(), self.settle(instance))
            }
            Life::Gone => self.settle(instance),
        }
    }

    /// Ends a run that must not go on, and keeps it failed.
    pub(crate) fn fail(&mut self, instance: &Instance, trace: String) -> Vec<Action> {
        let Some(Slot { life, .. }) = self.slots.get_mut(instance) else {
            return Vec::new();
        };
        let Life::Up { run, spec, version, .. } = &*life else {
            return Vec::new();
        };
        let (run, spec, version) = (*run, *spec, version.clone());
        *life = Life::Stopping { run, ending: Ending::Failed { spec, trace: trace.clone() } };
        vec![Action::Report { state: State::Failed { trace }, version }, Action::Stop { run }]
    }

    /// The worker says that the instance is up.
    pub(crate) fn started(
        &mut self,
        instance: &Instance,
        run: Run,
        target: TargetState,
        version: Option<String>,
    ) -> Vec<Action> {
        let Some(slot) = self.slots.get_mut(instance) else {
            return Vec::new();
        };
        let (expected, spec) = match slot.life {
            Life::Starting { run: expected, spec } => (expected, spec),
            // What came up PAUSED says so once more when it is resumed and has really started.
            Life::Up { .. } => return self.target_reached(instance, run, target),
            Life::Gone | Life::Stopping { .. } | Life::Failed { .. } => return Vec::new(),
        };
        if run != expected {
            return Vec::new();
        }
        let report = Action::Report { state: state_of(target), version: version.clone() };
        slot.life = Life::Up { run, spec, reached: target, version };
        followed_by(report, self.settle(instance))
    }

    /// The worker says that a change of target state has taken effect.
    pub(crate) fn target_reached(&mut self, instance: &Instance, run: Run, target: TargetState) -> Vec<Action> {
        match self.slots.get_mut(instance).map(|slot| &mut slot.life) {
            Some(Life::Up { run: present, reached, version, .. }) if *present == run => {
                *reached = target;
                vec![Action::Report { state: state_of(target), version: version.clone() }]
            }
            _ => Vec::new(),
        }
    }

    /// The worker says that the instance ended by itself.
    pub(crate) fn failed(&mut self, instance: &Instance, run: Run, trace: String) -> Vec<Action> {
        let Some(slot) = self.slots.get_mut(instance) else {
            return Vec::new();
        };
        let (spec, version) = match &slot.life {
            Life::Starting { run: present, spec } if *present == run => (*spec, None),
            Life::Up { run: present, spec, version, .. } if *present == run => (*spec, version.clone()),
            Life::Gone | Life::Starting { .. } | Life::Up { .. } | Life::Stopping { .. } | Life::Failed { .. } => {
                return self.stopped(instance, run);
            }
        };
        slot.life = Life::Failed { run, spec, trace: trace.clone() };
        followed_by(Action::Report { state: State::Failed { trace }, version }, self.settle(instance))
    }

    /// The worker says that the instance is gone, as it was told.
    pub(crate) fn stopped(&mut self, instance: &Instance, run: Run) -> Vec<Action> {
        let Some(slot) = self.slots.get_mut(instance) else {
            return Vec::new();
        };
        if !matches!(slot.life, Life::Stopping { run: present, .. } if present == run) {
            return Vec::new();
        }
        let mut actions = slot.life.bury();
        actions.extend(self.settle(instance));
        actions
    }

    /// What waited is started when it is wanted the next time.
    pub(crate) fn allow_starts(&mut self, allowed: bool) {
        self.holds_starts = !allowed;
    }

    /// Says what must be done next, now that what is wanted or what is has changed.
    fn settle(&mut self, instance: &Instance) -> Vec<Action> {
        let Some(slot) = self.slots.get_mut(instance) else {
            return Vec::new();
        };
        let Some(wanted) = slot.wanted else {
            if !slot.life.is_live() {
                self.slots.remove(instance);
            }
            return Vec::new();
        };
        match &mut slot.life {
            Life::Gone | Life::Failed { .. } if self.holds_starts => Vec::new(),
            Life::Gone => vec![self.start(instance, wanted)],
            Life::Failed { spec, .. } if may_start_again(instance, *spec, wanted) => vec![self.start(instance, wanted)],
            Life::Starting { spec, .. } if spec.revision != wanted.revision => slot.life.stop(Ending::Replaced),
            Life::Up { spec, .. } if must_be_replaced(*spec, wanted) => slot.life.stop(Ending::Replaced),
            Life::Up { run, spec, .. } if spec.target != wanted.target => {
                spec.target = wanted.target;
                vec![Action::SetTarget { run: *run, target: wanted.target }]
            }
            // Starting: a change of target waits until it is up. Stopping: whatever is wanted comes after.
            Life::Starting { .. } | Life::Up { .. } | Life::Stopping { .. } | Life::Failed { .. } => Vec::new(),
        }
    }

    fn start(&mut self, instance: &Instance, spec: Spec) -> Action {
        self.last_run += 1;
        let run = Run(self.last_run);
        self.slots.entry(instance.clone()).or_default().life = Life::Starting { run, spec };
        Action::Start { run, target: spec.target }
    }

    pub(crate) fn progress(&self, instance: &Instance) -> Progress<'_> {
        let Some(Slot { wanted: Some(wanted), life }) = self.slots.get(instance) else {
            return Progress::Unwanted;
        };
        match life {
            Life::Gone | Life::Stopping { .. } => Progress::Pending,
            Life::Starting { run, .. } => Progress::Starting { run: *run },
            Life::Up { run, reached, .. } if reached == &wanted.target => Progress::Settled { run: *run },
            Life::Up { .. } => Progress::Pending,
            Life::Failed { run, trace, .. } => Progress::Failed { run: *run, trace },
        }
    }

    /// The run of an instance that is up, whatever its state.
    pub(crate) fn running(&self, instance: &Instance) -> Option<Run> {
        match self.slots.get(instance)?.life {
            Life::Up { run, .. } => Some(run),
            Life::Gone | Life::Starting { .. } | Life::Stopping { .. } | Life::Failed { .. } => None,
        }
    }

    /// Runs up to this one have been started.
    pub(crate) fn last_run(&self) -> Run {
        Run(self.last_run)
    }

    /// The state that it is in and the version it runs in, if it is up or has failed.
    pub(crate) fn state(&self, instance: &Instance) -> Option<(State, Option<String>)> {
        match &self.slots.get(instance)?.life {
            Life::Up { reached, version, .. } => Some((state_of(*reached), version.clone())),
            Life::Failed { trace, .. } => Some((State::Failed { trace: trace.clone() }, None)),
            Life::Gone | Life::Starting { .. } | Life::Stopping { .. } => None,
        }
    }

    /// Whether something of it exists in the worker.
    pub(crate) fn is_live(&self, instance: &Instance) -> bool {
        self.slots.get(instance).is_some_and(|slot| slot.life.is_live())
    }

    pub(crate) fn any_live(&self) -> bool {
        self.slots.values().any(|slot| slot.life.is_live())
    }

    /// Those of which something is known here, as often as there is something.
    pub(crate) fn connectors(&self) -> impl Iterator<Item = &ConnectorName> {
        self.slots.keys().map(Instance::connector)
    }

    /// Whether anything of the connector's tasks still exists in the worker.
    pub(crate) fn has_live_tasks(&self, name: &ConnectorName) -> bool {
        self.slots.range(tasks_of(name)).any(|(_, slot)| slot.life.is_live())
    }

    /// The connector and its tasks, as far as they are known here.
    pub(crate) fn of_connector(&self, name: &ConnectorName) -> Vec<Instance> {
        let connector = Instance::Connector(name.clone());
        let connector = self.slots.contains_key(&connector).then_some(connector);
        let tasks = self.slots.range(tasks_of(name)).map(|(instance, _)| instance.clone());
        connector.into_iter().chain(tasks).collect()
    }
}

fn followed_by(first: Action, rest: Vec<Action>) -> Vec<Action> {
    std::iter::once(first).chain(rest).collect()
}

fn tasks_of(name: &ConnectorName) -> RangeInclusive<Instance> {
    Instance::Task(name.task(0))..=Instance::Task(name.task(u32::MAX))
}

/// What failed stays failed until it is restarted or configured anew. A connector may also be stopped
/// and resumed.
fn may_start_again(instance: &Instance, failed: Spec, wanted: Spec) -> bool {
    let stop_or_resume = failed.target != wanted.target
        && (failed.target == TargetState::Stopped || wanted.target == TargetState::Stopped);
    failed.revision != wanted.revision || (stop_or_resume && instance.task_number().is_none())
}

/// A stopped connector has no instance that could be resumed.
fn must_be_replaced(present: Spec, wanted: Spec) -> bool {
    present.revision != wanted.revision
        || (present.target == TargetState::Stopped && wanted.target != TargetState::Stopped)
}

fn state_of(target: TargetState) -> State {
    match target {
        TargetState::Started => State::Running,
        TargetState::Paused => State::Paused,
        TargetState::Stopped => State::Stopped,
    }
}

#[cfg(test)]
mod tests;
