//! What must hold when nothing goes wrong any more and nothing is under way.

use std::collections::{BTreeMap, BTreeSet};

use bulkhead_herder::{ClusterView, GroupView};
use bulkhead_model::{ConnectorName, Instance, TargetState};

use crate::conditions::worker_id;
use crate::expected::{Connector, Expected};
use crate::worker::{Life, task_configs};
use crate::world::World;

/// After the last trouble, so long until everything must be in its place. The longest waits are those
/// of workers that try in vain to reach the leader (a minute) and of sessions that have to end.
const CALM: u64 = 400_000;
/// For so long nothing may have been rebalanced by then.
const REST: u64 = 60_000;

impl World {
    /// Lets everything come to rest, then looks at it.
    pub fn check_at_rest(&mut self) {
        self.heal();
        self.run_for(CALM - REST);
        let before = self.rebalances();
        self.run_for(REST);
        if !self.problems.is_empty() {
            return;
        }
        if self.rebalances() != before {
            return self.problem("workers go on rebalancing though nothing happens".to_owned());
        }
        for problem in self.problems_at_rest() {
            self.problem(problem);
        }
    }

    fn rebalances(&self) -> Vec<u64> {
        self.living().map(|process| process.herder.view().group.rebalances).collect()
    }

    fn problems_at_rest(&self) -> Vec<String> {
        let mut expected = Expected::of(&self.config.history);
        expected.beyond_repair = self.beyond_repair(&expected);
        let mut problems = Vec::new();
        problems.extend(self.unanswered());
        problems.extend(self.members());
        problems.extend(self.owners_at_rest(&expected));
        problems.extend(self.restarts());
        problems.extend(expected.connectors.iter().filter_map(|(name, connector)| self.tasks(name, connector)));
        for process in self.living() {
            let view = process.herder.view();
            let seen = self.view_at_rest(&view, &expected);
            problems.extend(seen.into_iter().map(|problem| format!("w{}: {problem}", process.id.worker)));
        }
        problems
    }

    /// Connectors whose tasks compaction has taken from those who begin to read now, and that don't run, so
    /// that nobody can ask them: workers may have different views of their tasks.
    fn beyond_repair(&self, expected: &Expected) -> BTreeSet<ConnectorName> {
        let present = Expected::of(self.config.present());
        let names = expected.connectors.iter().filter(|(name, connector)| {
            let runs = self.runs(&Instance::Connector((*name).clone())).next();
            let runs = runs.is_some_and(|(_, life)| life.target == TargetState::Started);
            !runs && present.connectors.get(*name) != Some(connector)
        });
        names.map(|(name, _)| name.clone()).collect()
    }

    fn unanswered(&self) -> Vec<String> {
        let unanswered = (1..=self.rest.asked).filter(|number| !self.rest.outcomes.contains_key(number));
        let mut problems: Vec<_> = unanswered.map(|number| format!("request {number} has no answer")).collect();
        for process in self.living() {
            let owed = self.owes(process.id);
            if !owed.is_empty() {
                let stage = process.herder.stage();
                problems.push(format!("w{} owes answers to {owed:?}; {stage}", process.id.worker));
            }
        }
        problems
    }

    /// All are in one generation, settled, and there is one leader.
    fn members(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut leaders = 0;
        for process in self.living() {
            let view = process.herder.view();
            let GroupView { generation, settled, leads, .. } = view.group;
            leaders += u32::from(leads);
            if !settled || generation != Some(self.group.generation) {
                let stage = process.herder.stage();
                let worker = process.id.worker;
                problems.push(format!("w{worker} is not settled in generation {}: {stage}", self.group.generation));
            }
        }
        if leaders != 1 {
            problems.push(format!("there are {leaders} leaders"));
        }
        problems
    }

    /// Everything runs once, as it should, or has failed for a reason.
    fn owners_at_rest(&self, expected: &Expected) -> Vec<String> {
        let mut problems = Vec::new();
        let wanted = expected.instances();
        let unclear = |instance: &Instance| {
            instance.task_number().is_some() && expected.beyond_repair.contains(instance.connector())
        };
        let running: BTreeSet<_> = self.living().flat_map(|process| process.worker.running.keys().cloned()).collect();
        for instance in wanted.union(&running).filter(|instance| !unclear(instance)) {
            let owners: Vec<_> = self.runs(instance).collect();
            match owners.as_slice() {
                _ if !wanted.contains(instance) => problems.push(format!("{instance} runs, but isn't configured")),
                [] if self.may_have_failed(instance, expected) => {}
                [] => problems.push(format!("{instance} doesn't run")),
                [(_, life)] => {
                    let target = expected.target(instance.connector());
                    if life.target != target {
                        problems.push(format!("{instance} is {:?}, but should be {target:?}", life.target));
                    }
                }
                several => {
                    let workers: Vec<_> = several.iter().map(|(worker, _)| worker).collect();
                    problems.push(format!("{instance} runs on workers {workers:?}"));
                }
            }
        }
        problems
    }

    fn runs(&self, instance: &Instance) -> impl Iterator<Item = (usize, Life)> {
        self.living().filter_map(|process| Some((process.id.worker, *process.worker.running.get(instance)?)))
    }

    fn may_have_failed(&self, instance: &Instance, expected: &Expected) -> bool {
        let Some(connector) = expected.connectors.get(instance.connector()) else { return false };
        let config = &connector.config;
        let failure = match instance {
            Instance::Connector(_) => config.contains("test.start") || config.contains("test.tasks"),
            Instance::Task(_) => {
                config.contains("test.task.start")
                    || connector.applied.as_ref().is_some_and(|applied| applied.contains("test.task.start"))
            }
        };
        failure || self.living().any(|process| self.broken.contains(&(process.id, instance.clone())))
    }

    /// No restart request was passed over.
    fn restarts(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for process in self.living() {
            for (instance, run) in &process.restarts.doomed {
                if process.worker.running.get(instance).is_some_and(|life| life.run == *run) {
                    problems.push(format!("w{}: {instance} was not restarted as asked", process.id.worker));
                }
            }
        }
        problems
    }

    /// A connector that runs has the tasks that it wants.
    fn tasks(&self, name: &ConnectorName, connector: &Connector) -> Option<String> {
        let (_, life) = self.runs(&Instance::Connector(name.clone())).next()?;
        if life.target != TargetState::Started || connector.config.contains("test.configs") {
            return None;
        }
        let wanted = task_configs(&connector.config, self.demand(name));
        let same = connector.tasks.len() == wanted.len()
            && connector
                .tasks
                .iter()
                .zip(&wanted)
                .all(|(is, wanted)| wanted.iter().all(|(key, value)| is.get(key) == Some(value)));
        if connector.inconsistent {
            return Some(format!("the tasks of {name} are inconsistent"));
        }
        (!same).then(|| format!("{name} has the tasks {:?}, but wants {wanted:?}", connector.tasks))
    }

    /// What a worker shows is what there is.
    fn view_at_rest(&self, view: &ClusterView, expected: &Expected) -> Vec<String> {
        let mut problems = Vec::new();
        let count = |name: &ConnectorName, tasks: usize| (!expected.beyond_repair.contains(name)).then_some(tasks);
        let shown: BTreeMap<_, _> = view
            .connectors
            .iter()
            .map(|(name, connector)| (name, (&connector.info.config, count(name, connector.info.tasks.len()))))
            .collect();
        let configured: BTreeMap<_, _> = expected
            .connectors
            .iter()
            .map(|(name, connector)| (name, (&connector.config, count(name, connector.tasks.len()))))
            .collect();
        if shown != configured {
            problems.push(format!("shows {shown:?}, but configured is {configured:?}"));
        }
        let with_status: BTreeSet<_> = view.statuses.keys().collect();
        if with_status != expected.connectors.keys().collect() {
            problems.push(format!("shows statuses of {with_status:?}"));
        }
        for (name, status) in view.statuses.iter().filter(|(name, _)| !expected.beyond_repair.contains(*name)) {
            let numbers: Vec<_> = status.tasks.iter().map(|(number, _)| *number).collect();
            let count = expected.connectors.get(name).map_or(0, |connector| connector.tasks.len());
            if numbers != (0..u32::try_from(count).unwrap_or(u32::MAX)).collect::<Vec<_>>() {
                problems.push(format!("shows the tasks {numbers:?} of {name}, which has {count}"));
            }
            let tasks = status.tasks.iter().map(|(number, state)| (Instance::Task(name.task(*number)), state));
            let all = std::iter::once((Instance::Connector(name.clone()), &status.connector)).chain(tasks);
            for (instance, reported) in all {
                let present = self.runs(&instance).next();
                let right = match present {
                    Some((worker, life)) => (state(life.target), Some(worker_id(worker))),
                    None => ("FAILED", None),
                };
                let same_worker = right.1.as_ref().is_none_or(|worker| *worker == reported.worker);
                if reported.state != right.0 || !same_worker {
                    let (is, on) = (reported.state, &reported.worker);
                    problems.push(format!("shows {instance} as {is} on {on}, but it is {right:?}"));
                }
            }
        }
        problems
    }
}

fn state(target: TargetState) -> &'static str {
    match target {
        TargetState::Started => "RUNNING",
        TargetState::Paused => "PAUSED",
        TargetState::Stopped => "STOPPED",
    }
}
