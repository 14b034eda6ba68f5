//! Random clusters, by seeds: nothing is ever given to two, and in the end everything runs, evenly spread.

use std::collections::BTreeMap;

use bulkhead_model::ConnectorName;

use super::*;
use crate::assignor::Configured;
use crate::testing::Dice;

const SEEDS: u64 = 100;
const STEPS: usize = 60;
const MAX_DELAY_MS: u32 = 10_000;

/// Members that do as they are told, most of the time.
struct Cluster {
    dice: Dice,
    assignor: Assignor,
    configured: Configured,
    members: BTreeMap<String, Work>,
    /// Members that were taken for dead and still hold what they held.
    frozen: Vec<Work>,
    now: Millis,
    joined: usize,
    generation: i32,
    completed: i32,
}

impl Cluster {
    fn new(seed: u64) -> Self {
        let mut cluster = Self {
            dice: Dice::new(seed),
            assignor: Assignor::default(),
            configured: Configured::new(),
            members: BTreeMap::new(),
            frozen: Vec::new(),
            now: Millis(1_000_000),
            joined: 0,
            generation: 0,
            completed: -1,
        };
        cluster.join(Work::default());
        cluster
    }

    fn join(&mut self, held: Work) {
        self.joined += 1;
        self.members.insert(format!("member-{}", self.joined), held);
    }

    fn trouble(&mut self) {
        match self.dice.below(9) {
            0 | 1 => self.join(Work::default()),
            2 if self.members.len() > 1 => {
                let id = self.members.keys().nth(self.dice.below(self.members.len())).unwrap().clone();
                self.frozen.extend(self.members.remove(&id));
            }
            3 => {
                let held = self.frozen.pop().unwrap_or_default();
                self.join(held);
            }
            4 | 5 => {
                let (name, tasks) = (self.any_name(), self.dice.below(12));
                self.configured.insert(name, tasks.try_into().unwrap());
            }
            6 => {
                let name = self.any_name();
                self.configured.remove(&name);
            }
            7 => self.assignor = Assignor::default(),
            _ => self.now = self.now.plus(self.dice.below(15_000).try_into().unwrap()),
        }
    }

    fn any_name(&mut self) -> ConnectorName {
        ConnectorName::new(self.dice.pick(&["a", "b", "c-1", "d"]))
    }

    fn round(&mut self) -> Outcome {
        self.generation += 1;
        let outcome = self.assignor.assign(&Round {
            configured: &self.configured,
            members: &self.members.clone().into_iter().collect(),
            last_completed_generation: self.completed,
            generation: self.generation,
            now: self.now,
            max_delay_ms: MAX_DELAY_MS,
        });
        self.check_assigned(&outcome);
        outcome
    }

    /// What is handed out is configured, and nobody runs it yet or is given it as well.
    fn check_assigned(&self, outcome: &Outcome) {
        let mut taken = Work::default();
        self.members.values().for_each(|held| taken.add(held));
        for instance in outcome.members.values().flat_map(|share| share.assigned.instances()) {
            assert!(!taken.contains(&instance), "{instance} is given away while somebody has it");
            let tasks = self.configured.get(instance.connector());
            let exists = tasks.is_some_and(|tasks| instance.task_number().is_none_or(|number| number < *tasks));
            assert!(exists, "{instance} is given away, but not configured");
            taken.insert(instance);
        }
    }

    fn obey(&mut self, outcome: &Outcome) {
        self.completed = self.generation;
        for (id, share) in &outcome.members {
            let held = self.members.get_mut(id).unwrap();
            held.subtract(&share.revoked);
            held.add(&share.assigned);
        }
    }

    fn step(&mut self) {
        self.trouble();
        let outcome = self.round();
        if self.dice.one_in(10) {
            return; // Nobody hears of it.
        }
        self.obey(&outcome);
    }

    /// Until there is nothing to do and nothing to wait for.
    fn settle(&mut self) {
        for _ in 0..30 {
            let outcome = self.round();
            self.obey(&outcome);
            self.now = self.now.plus(outcome.delay_ms.into());
            if outcome.delay_ms == 0 && outcome.members.values().all(|share| *share == Share::default()) {
                return;
            }
        }
        panic!("no end of rounds: {:?}", self.members);
    }

    fn check_settled(&self) {
        let connectors = self.configured.keys().cloned();
        let tasks = self.configured.iter().flat_map(|(name, tasks)| (0..*tasks).map(|number| name.task(number)));
        let all = Work { connectors: connectors.collect(), tasks: tasks.collect() };
        let mut held = Work::default();
        self.members.values().for_each(|work| held.add(work));
        assert_eq!(held, all);
        assert_eq!(self.members.values().map(Work::len).sum::<usize>(), all.len(), "something runs twice");
        for count in [|work: &Work| work.connectors.len(), |work: &Work| work.tasks.len()] {
            let counts = self.members.values().map(count);
            let (least, most) = (counts.clone().min().unwrap(), counts.max().unwrap());
            assert!(most - least <= 1, "{least} to {most}");
        }
    }

    /// A newcomer gets its part, and nothing else moves.
    fn check_movement(&mut self) {
        let before = self.members.clone();
        self.join(Work::default());
        self.settle();
        self.check_settled();
        for (id, held) in before {
            let mut more = self.members[&id].clone();
            more.subtract(&held);
            assert_eq!(more, Work::default(), "{id} got what it had not");
        }
    }
}

#[test]
fn whatever_happens_everything_runs_once_and_evenly_in_the_end() {
    let seeds = match std::env::var("ASSIGNOR_SEED") {
        Ok(seed) => seed.parse().unwrap()..=seed.parse().unwrap(),
        Err(_) => 0..=SEEDS,
    };
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| {
            let mut cluster = Cluster::new(seed);
            for _ in 0..STEPS {
                cluster.step();
            }
            for _ in 0..3 {
                cluster.trouble();
            }
            cluster.settle();
            cluster.check_settled();
            cluster.check_movement();
        });
        assert!(outcome.is_ok(), "replay: ASSIGNOR_SEED={seed} cargo test -p bulkhead-herder whatever_happens");
    }
}
