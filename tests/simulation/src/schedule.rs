//! What happens to a cluster, and when: made from a seed, and played.

use bulkhead_herder::ExactlyOnce;
use bulkhead_herder::api::{Request, RestartRequest};
use bulkhead_herder::protocol::ConnectProtocol;
use bulkhead_model::offset::OffsetEntry;
use bulkhead_model::{ConfigPatch, ConnectorName, TargetState};

use crate::conditions::{Conditions, Mutation, Pace};
use crate::dice::Dice;
use crate::plugins::SOURCE;
use crate::world::{AppendFault, Fault, Trouble, World};

/// One thing at one moment.
#[derive(Clone, Debug)]
pub struct Item {
    pub at: u64,
    pub what: Deed,
}

#[derive(Clone, Debug)]
pub enum Deed {
    Ask { worker: usize, request: Request },
    Inflict(Fault),
}

/// A cluster and all that happens to it.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub conditions: Conditions,
    pub items: Vec<Item>,
}

/// About so many events come to the herders for each item.
const STEPS_PER_ITEM: u64 = 6;

const NAMES: [&str; 4] = ["a", "b", "c", "a-1"];
const STATES: [TargetState; 3] = [TargetState::Started, TargetState::Paused, TargetState::Stopped];

impl Schedule {
    /// `steps`: about so many events are to come to the herders.
    pub fn new(seed: u64, steps: u64, mutation: Option<Mutation>) -> Self {
        let mut dice = Dice::of(seed, 0);
        let conditions = conditions(&mut dice, seed, mutation);
        let workers = conditions.workers.len();
        let connectors = 2 + dice.index(NAMES.len() - 1);
        let mut maker = Maker { dice, workers, names: &NAMES[..connectors] };
        let mut items = maker.starts();
        let mut at = 0;
        for _ in 0..steps / STEPS_PER_ITEM {
            at += maker.pause();
            items.push(Item { at, what: maker.deed() });
        }
        items.sort_by_key(|item| item.at);
        Self { conditions, items }
    }

    /// Plays it, and says what went wrong, if anything did, and how many events came to the herders.
    pub fn play(&self, trace: bool) -> (Option<String>, u64) {
        let mut world = World::new(self.conditions.clone());
        world.trace = trace;
        for item in &self.items {
            world.run_until(item.at);
            if !world.problems.is_empty() {
                break;
            }
            match &item.what {
                Deed::Ask { worker, request } => {
                    world.ask(*worker, request.clone());
                }
                Deed::Inflict(fault) => world.inflict(fault.clone()),
            }
        }
        world.check_at_rest();
        let problem = (!world.problems.is_empty()).then(|| world.problems.join("\n"));
        (problem, world.steps)
    }
}

fn conditions(dice: &mut Dice, seed: u64, mutation: Option<Mutation>) -> Conditions {
    let count = dice.pick(&[1, 2, 2, 3, 3, 3, 4]);
    let common = dice.pick(&[
        ConnectProtocol::Sessioned,
        ConnectProtocol::Sessioned,
        ConnectProtocol::Sessioned,
        ConnectProtocol::Compatible,
        ConnectProtocol::Eager,
    ]);
    let mut workers = vec![common; count];
    if dice.one_in(4) {
        workers[count - 1] = dice.pick(&[ConnectProtocol::Eager, ConnectProtocol::Compatible]);
    }
    Conditions {
        seed,
        workers,
        rebalance_delay: dice.pick(&[0, 1_000, 8_000, 20_000]),
        unsync_backoff: 5_000,
        key_ttl: dice.pick(&[20_000, 3_600_000]),
        // By dice of its own, so that all else of a seed stays as it is.
        exactly_once: Dice::of(seed, 2).pick(&[ExactlyOnce::Disabled, ExactlyOnce::Preparing]),
        pace: dice.pick(&[Pace::STEADY, Pace::UNEVEN, Pace::UNEVEN, Pace::SLOW]),
        mutation,
    }
}

struct Maker {
    dice: Dice,
    workers: usize,
    names: &'static [&'static str],
}

impl Maker {
    /// The first worker is there at once, the others come when they like.
    fn starts(&mut self) -> Vec<Item> {
        let dice = &mut self.dice;
        let mut start = |worker| {
            let at = if worker == 0 || dice.one_in(2) { 0 } else { dice.below(30_000) };
            Item { at, what: Deed::Inflict(Fault::Start { worker }) }
        };
        (0..self.workers).map(&mut start).collect()
    }

    fn pause(&mut self) -> u64 {
        match self.dice.below(10) {
            0..=3 => self.dice.below(30),
            4..=6 => self.dice.below(1_500),
            7 | 8 => self.dice.below(8_000),
            _ => self.dice.below(40_000),
        }
    }

    fn deed(&mut self) -> Deed {
        if self.dice.below(10) < 6 {
            let worker = self.worker();
            Deed::Ask { worker, request: self.request() }
        } else {
            Deed::Inflict(self.fault())
        }
    }

    fn worker(&mut self) -> usize {
        self.dice.index(self.workers)
    }

    fn name(&mut self) -> ConnectorName {
        ConnectorName::new(self.dice.pick(self.names))
    }

    fn request(&mut self) -> Request {
        let name = self.name();
        match self.dice.below(24) {
            0..=4 | 22 | 23 => {
                let config = self.config();
                Request::CreateConnector { name, config, initial_state: None, offsets: None }
            }
            5 => {
                let initial_state = Some(self.dice.pick(&STATES));
                Request::CreateConnector { name, config: self.config(), initial_state, offsets: None }
            }
            6 | 7 => Request::PutConfig { name, config: self.config() },
            8 => Request::PatchConfig { name, patch: self.patch() },
            9 => Request::DeleteConnector { name },
            10..=12 => Request::SetTargetState { name, state: self.dice.pick(&STATES) },
            13 => Request::RestartConnector { name },
            14 => Request::RestartTask { id: name.task(u32::from(self.dice.one_in(2))) },
            15..=17 => Request::Restart(RestartRequest {
                connector: name,
                only_failed: self.dice.one_in(2),
                include_tasks: self.dice.one_in(2),
            }),
            18 => Request::AlterOffsets { name, offsets: self.offsets() },
            19 => Request::ResetTopics { name },
            20 => Request::ConnectorInfo { name },
            21.. => Request::SetLoggerLevel { logger: "connect".to_owned(), level: Some("DEBUG".to_owned()) },
        }
    }

    fn offsets(&mut self) -> Option<Vec<OffsetEntry>> {
        self.dice.one_in(2).then(|| vec![OffsetEntry { partition: None, offset: None }])
    }

    fn config(&mut self) -> ConfigPatch {
        let mut config = vec![("connector.class", SOURCE), ("topic", "numbers")];
        config.extend(self.settings());
        config.into_iter().map(|(key, value)| (key.to_owned(), Some(value.to_owned()))).collect()
    }

    fn patch(&mut self) -> ConfigPatch {
        self.settings().into_iter().map(|(key, value)| (key.to_owned(), Some(value.to_owned()))).collect()
    }

    fn settings(&mut self) -> Vec<(&'static str, &'static str)> {
        let mut settings = vec![("tasks.max", self.dice.pick(&["1", "2", "3", "4"]))];
        let special = [
            ("test.start", "no disk"),
            ("test.task.start", "no folder"),
            ("test.configs", "no tables"),
            ("test.tasks", "5"),
            ("test.validate", "no"),
            ("note", "x"),
            ("note", "y"),
            ("note", "z"),
        ];
        if self.dice.one_in(2) {
            settings.push(self.dice.pick(&special));
        }
        settings
    }

    fn fault(&mut self) -> Fault {
        let worker = self.worker();
        match self.dice.below(24) {
            0..=2 => Fault::Crash { worker, back: self.back() },
            3 => Fault::Shutdown { worker, back: self.back() },
            4 if self.dice.one_in(4) => Fault::CrashAll { back: self.dice.below(30_000) },
            4..=9 => self.trouble(worker),
            10..=12 => {
                let faults = [AppendFault::Lost, AppendFault::Half, AppendFault::Unacknowledged, AppendFault::Late];
                Fault::Append { worker, fault: self.dice.pick(&faults) }
            }
            13 => Fault::Statuses { worker, count: self.dice.pick(&[1, 2, 5]) },
            14 => Fault::Reads { worker, count: self.dice.pick(&[1, 2, 7]) },
            15 => Fault::Answers { worker, count: 1 },
            16 => Fault::Expel { worker },
            17 => Fault::ClockJump { worker, millis: self.dice.pick(&[-20_000, 5_000, 60_000, 4_000_000]) },
            18 => Fault::Compact { percent: self.dice.between((10, 100)), removals: self.dice.one_in(2) },
            19 => Fault::ForgetGroup,
            20 => Fault::BreakDown { worker, which: self.dice.index(12) },
            21 => Fault::Demand { connector: self.name(), tasks: self.dice.pick(&[0, 1, 2, 3]) },
            22 => Fault::UseTopic { worker, which: self.dice.index(12), topic: "t" },
            _ => Fault::StrangeRecord,
        }
    }

    fn back(&mut self) -> Option<u64> {
        match self.dice.below(4) {
            0 => None,
            1 => Some(self.dice.below(2_000)),
            _ => Some(self.dice.below(60_000)),
        }
    }

    fn trouble(&mut self, worker: usize) -> Fault {
        let millis = match self.dice.below(4) {
            0 => self.dice.below(500),
            1 => self.dice.below(9_000),
            2 => self.dice.below(30_000),
            _ => self.dice.below(90_000),
        };
        let trouble = match self.dice.below(9) {
            0..=2 => Trouble::Frozen { worker },
            3 => Trouble::Blocked { worker },
            4 | 5 => Trouble::Cut { worker },
            6 => Trouble::BrokerDown,
            _ => Trouble::SlowLog { worker, lag: self.dice.pick(&[500, 4_000, 10_000]) },
        };
        Fault::Trouble { trouble, millis }
    }
}
