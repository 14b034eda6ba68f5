//! A cluster for tests that tell a story: everything goes at an even pace, and only what the test does
//! goes wrong.

use bulkhead_herder::api::{Refusal, Reply, Request, RestartRequest};
use bulkhead_model::{ConfigPatch, ConnectorName, Instance, TargetState};

use crate::conditions::Conditions;
use crate::diary::Note;
use crate::plugins::SOURCE;
use crate::world::{Fault, Outcome, Trouble, World};

/// See the module's documentation.
pub struct Cluster {
    pub world: World,
}

impl Cluster {
    /// So many workers that have formed a group.
    pub fn of(workers: usize) -> Self {
        Self::started(Conditions::steady(workers))
    }

    /// All of them have formed a group.
    pub fn started(conditions: Conditions) -> Self {
        let workers = conditions.workers.len();
        let mut cluster = Self::stopped(conditions);
        for worker in 0..workers {
            cluster.world.start(worker);
            cluster.run(10_000);
        }
        cluster
    }

    /// Nobody has been started.
    pub fn stopped(conditions: Conditions) -> Self {
        let mut world = World::new(conditions);
        world.trace = std::env::var_os("SIM_TRACE").is_some();
        world.keep_diary();
        Self { world }
    }

    /// Lets time pass; whatever must never be fails the test.
    #[track_caller]
    pub fn run(&mut self, millis: u64) {
        self.world.run_for(millis);
        assert_eq!(self.world.problems, Vec::<String>::new());
    }

    /// Lets time pass until something is in the diary, looked at every millisecond.
    #[track_caller]
    pub fn run_until(&mut self, what: &str) {
        let before = self.world.diary().len();
        for _ in 0..200_000 {
            self.run(1);
            if self.world.diary()[before..].iter().any(|note| note.text.contains(what)) {
                return;
            }
        }
        panic!("`{what}` never happened: {}", self.told(before));
    }

    /// Ends all trouble, waits long enough, and looks at everything.
    #[track_caller]
    pub fn check_at_rest(&mut self) {
        self.world.check_at_rest();
        assert_eq!(self.world.problems, Vec::<String>::new());
    }

    /// Sends a request and waits for its answer.
    #[track_caller]
    pub fn ask(&mut self, worker: usize, request: Request) -> Result<Reply, Refusal> {
        let number = self.send(worker, request);
        self.run(2_000);
        self.answer(number).expect("a request is answered within two seconds")
    }

    #[track_caller]
    pub fn send(&mut self, worker: usize, request: Request) -> u64 {
        self.world.ask(worker, request).expect("the worker runs")
    }

    pub fn answer(&self, number: u64) -> Option<Result<Reply, Refusal>> {
        match self.world.rest.outcomes.get(&number)? {
            Outcome::Answer(answer) => Some(answer.clone()),
            Outcome::HungUp => None,
        }
    }

    /// Creates a connector by the first worker and waits until it runs.
    #[track_caller]
    pub fn create(&mut self, name: &str, settings: &[(&str, &str)]) {
        self.ask(0, create(name, settings)).expect("a connector can be created");
        self.run(3_000);
    }

    #[track_caller]
    pub fn crash(&mut self, worker: usize) {
        self.world.inflict(Fault::Crash { worker, back: None });
    }

    pub fn trouble(&mut self, trouble: Trouble, millis: u64) {
        self.world.inflict(Fault::Trouble { trouble, millis });
    }

    /// The one worker on which an instance runs, by its name: `a` is a connector, `a-0` a task.
    #[track_caller]
    pub fn owner(&self, name: &str) -> usize {
        let owners = self.world.owners(&instance(name));
        assert_eq!(owners.len(), 1, "{name} runs on {owners:?}");
        owners[0]
    }

    /// What runs on a worker.
    pub fn runs_on(&self, worker: usize) -> Vec<String> {
        self.world.running(worker).into_iter().map(|instance| instance.to_string()).collect()
    }

    pub fn leader(&self) -> usize {
        let leads = |worker: &usize| self.world.view(*worker).is_some_and(|view| view.group.leads);
        (0..self.world.conditions.workers.len()).find(leads).expect("somebody leads")
    }

    pub fn follower(&self) -> usize {
        let leader = self.leader();
        (0..self.world.conditions.workers.len()).find(|worker| *worker != leader).expect("there is a follower")
    }

    /// `RUNNING [RUNNING, FAILED]`: a connector and its tasks as a worker shows them.
    pub fn shows(&self, worker: usize, name: &str) -> String {
        let Some(view) = self.world.view(worker) else { return "down".to_owned() };
        let Some(status) = view.statuses.get(name) else { return "none".to_owned() };
        let tasks: Vec<_> = status.tasks.iter().map(|(_, task)| task.state).collect();
        format!("{} [{}]", status.connector.state, tasks.join(", "))
    }

    /// Where the diary ends now.
    pub fn mark(&self) -> usize {
        self.world.diary().len()
    }

    /// What has been noted since, of notes that begin with one of these words.
    pub fn since(&self, mark: usize, beginnings: &[&str]) -> Vec<Note> {
        let notes = self.world.diary()[mark..].iter();
        notes.filter(|note| beginnings.iter().any(|beginning| note.text.starts_with(beginning))).cloned().collect()
    }

    /// All that has been noted since, a line each.
    pub fn told(&self, mark: usize) -> String {
        let line = |note: &Note| match note.worker {
            Some(worker) => format!("{} w{worker} {}\n", note.at, note.text),
            None => format!("{} {}\n", note.at, note.text),
        };
        self.world.diary()[mark..].iter().map(line).collect()
    }
}

/// `a` is a connector, `a-0` a task.
pub fn instance(name: &str) -> Instance {
    match name.rsplit_once('-').map(|(connector, number)| (connector, number.parse())) {
        Some((connector, Ok(number))) => Instance::Task(ConnectorName::new(connector).task(number)),
        Some((_, Err(_))) | None => Instance::Connector(ConnectorName::new(name)),
    }
}

/// A configuration of the example source.
pub fn config(settings: &[(&str, &str)]) -> ConfigPatch {
    let fixed = [("connector.class", SOURCE), ("topic", "numbers")];
    fixed.iter().chain(settings).map(|(key, value)| ((*key).to_owned(), Some((*value).to_owned()))).collect()
}

pub fn create(name: &str, settings: &[(&str, &str)]) -> Request {
    Request::CreateConnector {
        name: ConnectorName::new(name),
        config: config(settings),
        initial_state: None,
        offsets: None,
    }
}

pub fn put(name: &str, settings: &[(&str, &str)]) -> Request {
    Request::PutConfig { name: ConnectorName::new(name), config: config(settings) }
}

pub fn delete(name: &str) -> Request {
    Request::DeleteConnector { name: ConnectorName::new(name) }
}

pub fn set_target(name: &str, state: TargetState) -> Request {
    Request::SetTargetState { name: ConnectorName::new(name), state }
}

/// A restart of the connector and its tasks.
pub fn restart(name: &str, only_failed: bool, include_tasks: bool) -> Request {
    Request::Restart(RestartRequest { connector: ConnectorName::new(name), only_failed, include_tasks })
}
