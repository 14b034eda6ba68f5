//! Random requests and troubles, by seeds: whatever happens in whatever order, certain things hold.
//!
//! `HERDER_SEED` plays one seed, `HERDER_SEEDS` as many as it says.

use std::collections::BTreeSet;

use bulkhead_model::offset::OffsetEntry;
use bulkhead_model::{ConnectorName, Instance, TargetState};

use crate::api::{ConfigRecord, Event, Request, RequestId, RestartRequest};
use crate::cluster_config::ClusterConfig;
use crate::testing::{AppendError, Dice, Next, Sim, create, patch, source};

const SEEDS: u64 = 400;
const STEPS: usize = 120;

struct Run {
    sim: Sim,
    dice: Dice,
    requests: Vec<RequestId>,
}

#[test]
fn whatever_happens_every_request_has_one_answer_and_what_should_run_runs() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().unwrap());
    let seeds = match number("HERDER_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("HERDER_SEEDS").unwrap_or(SEEDS),
    };
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| Run::new(seed).play());
        assert!(outcome.is_ok(), "replay: HERDER_SEED={seed} cargo test -p bulkhead-herder whatever_happens");
    }
}

impl Run {
    fn new(seed: u64) -> Self {
        Self { sim: Sim::new(), dice: Dice::new(seed), requests: Vec::new() }
    }

    fn play(&mut self) {
        for _ in 0..STEPS {
            self.step();
        }
        self.calm_down();
        self.check_answers();
        self.check_instances();
        self.check_tasks();
        self.check_statuses();
    }

    fn step(&mut self) {
        match self.dice.below(8) {
            0 | 1 => {
                let request = self.any_request();
                let id = self.sim.send(request);
                self.requests.push(id);
            }
            2 => self.trouble(),
            _ => self.something_happens(),
        }
    }

    fn something_happens(&mut self) {
        let choices = self.sim.choices();
        if !choices.is_empty() {
            match self.dice.pick(&choices) {
                Next::Command => self.sim.carry_out(self.dice.below(self.sim.pending.commands.len())),
                next => self.sim.happen(next),
            }
        }
    }

    fn trouble(&mut self) {
        let running: Vec<_> = self.sim.worker.running.keys().cloned().collect();
        match self.dice.below(8) {
            0 => self.sim.append_errors.push_back(AppendError::Lost),
            1 => self.sim.append_errors.push_back(AppendError::Unacknowledged),
            2 => self.sim.status_errors += 1,
            3 => self.pass_time(),
            choice if !running.is_empty() => {
                let instance = running[self.dice.below(running.len())].clone();
                let news = match choice {
                    4 => self.sim.worker.break_down(&instance),
                    5 => self.sim.worker.want_reconfiguration(instance.connector()).into_iter().collect(),
                    _ => self.sim.worker.use_topic(&instance, "t").into_iter().collect(),
                };
                self.sim.pending.news.extend(news);
            }
            _ => {}
        }
    }

    fn pass_time(&mut self) {
        if let Some(due) = self.sim.herder.next_deadline() {
            self.sim.now = self.sim.now.max(due);
            self.sim.deliver(Event::Tick);
        }
    }

    fn any_request(&mut self) -> Request {
        let name = self.dice.pick(&["a", "b"]);
        let connector = ConnectorName::new(name);
        match self.dice.below(14) {
            0..=2 => create(name, &self.any_config()),
            3 => Request::CreateConnector {
                name: connector,
                config: source(&self.any_config()),
                initial_state: Some(self.dice.pick(&STATES)),
                offsets: None,
            },
            4 => Request::PutConfig { name: connector, config: source(&self.any_config()) },
            5 => Request::PatchConfig { name: connector, patch: patch(&self.any_config()) },
            6 => Request::DeleteConnector { name: connector },
            7 | 8 => Request::SetTargetState { name: connector, state: self.dice.pick(&STATES) },
            9 => Request::RestartConnector { name: connector },
            10 => Request::RestartTask { id: connector.task(u32::from(self.dice.one_in(2))) },
            11 => Request::Restart(RestartRequest {
                connector,
                only_failed: self.dice.one_in(2),
                include_tasks: self.dice.one_in(2),
            }),
            12 => Request::AlterOffsets { name: connector, offsets: self.any_offsets() },
            _ => Request::ResetTopics { name: connector },
        }
    }

    fn any_offsets(&mut self) -> Option<Vec<OffsetEntry>> {
        self.dice.one_in(2).then(|| vec![OffsetEntry { partition: None, offset: None }])
    }

    fn any_config(&mut self) -> Vec<(&'static str, &'static str)> {
        let mut config = vec![("tasks.max", self.dice.pick(&["1", "2", "3"]))];
        let special = [
            ("test.start", "no disk"),
            ("test.task.start", "no folder"),
            ("test.configs", "no tables"),
            ("test.tasks", "0"),
            ("test.tasks", "5"),
            ("test.validate", "no"),
            ("test.validate", "crash"),
            ("note", "x"),
        ];
        if self.dice.one_in(2) {
            config.push(self.dice.pick(&special));
        }
        config
    }

    /// No more trouble: everything that is on its way arrives, in any order.
    fn calm_down(&mut self) {
        self.sim.append_errors.clear();
        self.sim.status_errors = 0;
        // Connectors that can't say their tasks are asked again for ever.
        for _ in 0..5 {
            while !self.sim.choices().is_empty() {
                self.something_happens();
            }
            self.pass_time();
        }
        while !self.sim.choices().is_empty() {
            self.something_happens();
        }
    }

    fn check_answers(&self) {
        for id in &self.requests {
            assert!(self.sim.answer(*id).is_some(), "request {id:?} has no answer; {}", self.sim.herder.stage());
        }
        assert_eq!(self.sim.herder.stage(), "waiting for something to do");
    }

    fn check_instances(&self) {
        let log = fold(&self.sim.log);
        for name in log.names() {
            let target = log.target(name);
            let connector = Instance::Connector(name.clone());
            let tasks = log.get(name).unwrap().task_numbers().map(|number| Instance::Task(name.task(number)));
            let all: Vec<_> = std::iter::once(connector).chain(tasks).collect();
            for instance in &all {
                let present = self.sim.worker.running.get(instance).map(|(_, target)| *target);
                assert!(present == Some(target) || self.shown(instance) == "FAILED", "{instance} should be {target:?}");
            }
        }
        for instance in self.sim.worker.running.keys() {
            assert!(log.has(instance), "{instance} runs though it isn't configured");
        }
    }

    /// Connectors that run have the tasks they want.
    fn check_tasks(&self) {
        let log = fold(&self.sim.log);
        for name in log.names() {
            let connector = log.get(name).unwrap();
            let running = self.shown(&Instance::Connector(name.clone())) == "RUNNING";
            if !running || connector.config.contains("test.configs") {
                continue;
            }
            let wanted = connector.config.get("test.tasks").or(connector.config.get("tasks.max")).unwrap();
            assert_eq!(connector.tasks.configs.len().to_string(), wanted, "tasks of {name}");
            assert_eq!(
                connector.tasks.applied,
                if wanted == "0" { connector.tasks.applied.clone() } else { connector.config.clone() }
            );
        }
    }

    fn check_statuses(&self) {
        let view = self.sim.herder.view();
        let configured = fold(&self.sim.log);
        let names: BTreeSet<_> = configured.names().cloned().collect();
        assert_eq!(view.connectors.keys().cloned().collect::<BTreeSet<_>>(), names);
        assert_eq!(view.statuses.keys().cloned().collect::<BTreeSet<_>>(), names);
        for (instance, (_, target)) in &self.sim.worker.running {
            let expected = match target {
                TargetState::Started => "RUNNING",
                TargetState::Paused => "PAUSED",
                TargetState::Stopped => "STOPPED",
            };
            assert_eq!(self.shown(instance), expected, "{instance}");
        }
        for (name, status) in &view.statuses {
            let tasks: Vec<_> = status.tasks.iter().map(|(number, _)| *number).collect();
            let configured: Vec<_> = configured.get(name).unwrap().task_numbers().collect();
            assert_eq!(tasks, configured, "{name} shows other tasks than it has");
        }
    }

    fn shown(&self, instance: &Instance) -> &'static str {
        let view = self.sim.herder.view();
        match instance {
            Instance::Connector(name) => view.statuses.get(name).map_or("none", |status| status.connector.state),
            Instance::Task(task) => view.task_status(task).map_or("none", |task| task.state),
        }
    }
}

const STATES: [TargetState; 3] = [TargetState::Started, TargetState::Paused, TargetState::Stopped];

fn fold(log: &[ConfigRecord]) -> ClusterConfig {
    let mut config = ClusterConfig::default();
    log.iter().for_each(|record| config.apply(record));
    config
}
