//! The simulated world: workers' processes, Kafka, and clients that send requests.
//!
//! Start at [`World::run_until`]. Everything that is to happen stands on one agenda; what happens to a
//! process that stands still waits in its inbox, what happens to one that is gone is dropped.

mod effects;
mod faults;
mod leader;
mod logs;
mod membership;
mod process;
mod rest;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bulkhead_herder::ClusterView;
use bulkhead_herder::api::{Event, GroupEvent, Token};
use bulkhead_model::plugin::PluginCatalog;
use bulkhead_model::work::{Command, Event as WorkEvent, Run};
use bulkhead_model::{ConnectorName, Instance};

use crate::agenda::Agenda;
use crate::checks::Delays;
use crate::conditions::Conditions;
use crate::diary::{self, Note};
use crate::dice::Dice;
use crate::group::{Answer, Ask, Coordinator, Ticket, Timer};
use crate::logs::{ConfigLog, StatusLog};
use crate::plugins::catalog;

pub use faults::{Fault, Trouble};
pub use process::{AppendFault, ProcessId};
pub(crate) use process::{Process, Standstill};
use rest::Call;
pub use rest::{Outcome, Rest};

/// See the module's documentation.
pub struct World {
    /// Milliseconds since the beginning.
    pub now: u64,
    pub conditions: Conditions,
    /// By worker.
    pub(crate) processes: Vec<Option<Process>>,
    lives: u64,
    /// By how much each worker's clock is wrong.
    clock_errors: Vec<i64>,
    agenda: Agenda<Happening>,
    pub(crate) config: ConfigLog,
    /// How often the config log was claimed; the last claim is the one that counts.
    claims: u64,
    pub(crate) status: StatusLog,
    pub(crate) group: Coordinator,
    pub(crate) broker_down: bool,
    pub rest: Rest,
    /// How many tasks a connector has work for, if not as many as it may have.
    demand: BTreeMap<ConnectorName, u32>,
    /// Where instances ended by themselves.
    pub(crate) broken: BTreeSet<(ProcessId, Instance)>,
    pub(crate) delays: Delays,
    dice: Dice,
    plugins: Arc<PluginCatalog>,
    /// What must never be, and was.
    pub problems: Vec<String>,
    /// Events that herders were given.
    pub steps: u64,
    at_once: u64,
    pub trace: bool,
    diary: Option<Vec<Note>>,
}

/// Something on the agenda.
#[derive(Debug)]
pub(crate) enum Happening {
    Start {
        worker: usize,
    },
    StartUp(ProcessId),
    Event(ProcessId, Event),
    /// A command of the herder, and when it was given.
    CarryOut(ProcessId, Command, u64),
    Tick(ProcessId),
    Write(logs::Write),
    Claim(ProcessId, Token),
    Commit(leader::Transaction),
    Read(ProcessId, i64),
    FindEnd(ProcessId, Token),
    ToCoordinator(Ask),
    ToClient(ProcessId, Ticket, Answer),
    Heartbeat(ProcessId),
    Timer(Timer),
    SessionOver {
        process: ProcessId,
        changes: u64,
    },
    CoordinatorSilent {
        process: ProcessId,
        changes: u64,
    },
    CoordinatorNotFound {
        process: ProcessId,
        changes: u64,
    },
    Neglected {
        process: ProcessId,
        since: u64,
    },
    Arrive(Call),
    End(Trouble),
}

/// Whom a happening is for.
enum Addressee {
    World,
    Herder(ProcessId),
    /// The process beside the herder: its worker and its client.
    Process(ProcessId),
}

/// So many events at one moment show that a herder goes in circles.
const TOO_MANY_AT_ONCE: u64 = 20_000;

impl World {
    pub fn new(conditions: Conditions) -> Self {
        let workers = conditions.workers.len();
        Self {
            now: 0,
            dice: Dice::of(conditions.seed, 1),
            processes: (0..workers).map(|_| None).collect(),
            lives: 0,
            clock_errors: vec![0; workers],
            agenda: Agenda::default(),
            config: ConfigLog::default(),
            claims: 0,
            status: StatusLog::default(),
            group: Coordinator::default(),
            broker_down: false,
            rest: Rest::default(),
            demand: BTreeMap::new(),
            broken: BTreeSet::new(),
            delays: Delays::new(conditions.rebalance_delay),
            plugins: Arc::new(catalog()),
            problems: Vec::new(),
            steps: 0,
            at_once: 0,
            trace: false,
            diary: None,
            conditions,
        }
    }

    /// Lets things happen up to this moment, or until something happens that must not.
    pub fn run_until(&mut self, until: u64) {
        while self.problems.is_empty() {
            let Some((at, what)) = self.agenda.take(until) else { break };
            self.at_once = if at == self.now { self.at_once + 1 } else { 0 };
            self.now = at;
            if self.at_once > TOO_MANY_AT_ONCE {
                self.problem(format!("time stands still: {what:?}"));
            }
            self.route(what);
        }
        self.now = self.now.max(until);
    }

    pub fn run_for(&mut self, millis: u64) {
        self.run_until(self.now + millis);
    }

    fn route(&mut self, what: Happening) {
        let (id, for_herder) = match what.addressee() {
            Addressee::World => return self.happen(what),
            Addressee::Herder(id) => (id, true),
            Addressee::Process(id) => (id, false),
        };
        let Some(process) = self.process(id) else { return self.too_late(what) };
        match process.standstill {
            Some(Standstill::Frozen) => process.inbox.push_back(what),
            Some(Standstill::HerderBlocked { .. }) if for_herder => process.inbox.push_back(what),
            Some(Standstill::HerderBlocked { .. }) | None => self.happen(what),
        }
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Start { worker } => self.start(worker),
            Happening::StartUp(id) => self.start_up(id),
            Happening::Event(id, event) => self.deliver(id, event),
            Happening::CarryOut(id, command, given) => self.carry_out(id, command, given),
            Happening::Tick(id) => self.tick(id),
            Happening::Write(write) => self.write(write),
            Happening::Claim(id, token) => self.claim(id, token),
            Happening::Commit(transaction) => self.commit(transaction),
            Happening::Read(id, last) => self.read(id, last),
            Happening::FindEnd(id, token) => self.find_end(id, token),
            Happening::ToCoordinator(ask) => self.ask_coordinator(ask),
            Happening::ToClient(id, ticket, answer) => self.answer_client(id, ticket, answer),
            Happening::Heartbeat(id) => self.heartbeat(id),
            Happening::Timer(timer) => self.timer(timer),
            Happening::SessionOver { process, changes } => self.session_over(process, changes),
            Happening::CoordinatorSilent { process, changes } => self.coordinator_silent(process, changes),
            Happening::CoordinatorNotFound { process, changes } => self.coordinator_not_found(process, changes),
            Happening::Neglected { process, since } => self.neglected(process, since),
            Happening::Arrive(call) => self.arrive(call),
            Happening::End(trouble) => self.end(trouble),
        }
    }

    /// What was on its way to a process that is gone.
    fn too_late(&mut self, what: Happening) {
        if let Happening::Arrive(call) = what {
            self.unreachable(call);
        }
    }

    pub(crate) fn after(&mut self, millis: u64, what: Happening) {
        self.agenda.put(self.now + millis, what);
    }

    pub(crate) fn process(&mut self, id: ProcessId) -> Option<&mut Process> {
        self.processes.get_mut(id.worker)?.as_mut().filter(|process| process.id == id)
    }

    /// Processes that haven't ended, whether they stand still or not.
    pub(crate) fn living(&self) -> impl Iterator<Item = &Process> {
        self.processes.iter().flatten()
    }

    /// Starts a worker's process, unless it runs.
    pub fn start(&mut self, worker: usize) {
        if self.processes[worker].is_some() {
            return;
        }
        self.lives += 1;
        let id = ProcessId { worker, life: self.lives };
        let mut process = Process::new(id, &self.conditions, self.clock_errors[worker]);
        process.link.cut = self.broker_down;
        let start_up = process.dice.between(self.conditions.pace.start_up);
        self.note(|| format!("worker {worker} starts"));
        self.processes[worker] = Some(process);
        let plugins = Arc::clone(&self.plugins);
        self.deliver(id, Event::Plugins(plugins));
        self.after(start_up, Happening::StartUp(id));
        if self.broker_down {
            self.after(0, Happening::CoordinatorSilent { process: id, changes: 0 });
        }
    }

    /// Hands an event to a herder and does what it says.
    pub(crate) fn deliver(&mut self, id: ProcessId, event: Event) {
        let now = self.now;
        self.steps += 1;
        if self.trace {
            println!("{now:>9} w{}  <- {}", id.worker, diary::of_event(&event));
        }
        if let Event::Group(GroupEvent::Synced { generation, assignment, .. }) = &event {
            self.delays.synced(id, *generation);
            self.write_down(Some(id.worker), || diary::of_assignment(*generation, assignment));
        }
        let Some(process) = self.process(id) else { return };
        let effects = process.herder.handle(process.millis(now), event);
        for effect in effects {
            self.perform(id, effect);
        }
        self.arm(id);
        self.check_settled(id);
    }

    /// Sees to it that the herder gets its tick.
    fn arm(&mut self, id: ProcessId) {
        let now = self.now;
        let Some(process) = self.process(id) else { return };
        let Some(deadline) = process.herder.next_deadline() else { return };
        let at = now + deadline.0.saturating_sub(process.millis(now).0);
        if process.tick.is_none_or(|tick| tick > at) {
            process.tick = Some(at);
            self.agenda.put(at, Happening::Tick(id));
        }
    }

    fn tick(&mut self, id: ProcessId) {
        let now = self.now;
        let Some(process) = self.process(id) else { return };
        if process.tick.is_none_or(|tick| tick > now) {
            return;
        }
        process.tick = None;
        let due = process.herder.next_deadline().is_some_and(|deadline| deadline <= process.millis(now));
        if due { self.deliver(id, Event::Tick) } else { self.arm(id) }
    }

    /// What a worker answers GETs from.
    pub fn view(&self, worker: usize) -> Option<Arc<ClusterView>> {
        self.processes[worker].as_ref().map(|process| process.herder.view())
    }

    /// Workers on which an instance runs.
    pub fn owners(&self, instance: &Instance) -> Vec<usize> {
        let runs = self.living().filter(|process| process.worker.running.contains_key(instance));
        runs.map(|process| process.id.worker).collect()
    }

    /// The present run of an instance that runs somewhere.
    pub fn run_of(&self, instance: &Instance) -> Option<Run> {
        self.living().find_map(|process| process.worker.running.get(instance)).map(|life| life.run)
    }

    /// A worker says that a run has failed, be it the present one or not.
    pub fn report_failure(&mut self, worker: usize, instance: &Instance, run: Run) {
        if let Some(id) = self.processes[worker].as_ref().map(|process| process.id) {
            self.report(id, WorkEvent::Failed { run, instance: instance.clone(), trace: "late".to_owned() });
        }
    }

    pub(crate) fn problem(&mut self, what: String) {
        let now = self.now;
        self.note(|| format!("PROBLEM: {what}"));
        self.problems.push(format!("at {now} ms: {what}"));
    }

    /// From now on what happens is noted.
    pub fn keep_diary(&mut self) {
        self.diary.get_or_insert_default();
    }

    pub fn diary(&self) -> &[Note] {
        self.diary.as_deref().unwrap_or_default()
    }

    fn write_down(&mut self, worker: Option<usize>, text: impl FnOnce() -> String) {
        let at = self.now;
        if let Some(diary) = &mut self.diary {
            diary.push(Note { at, worker, text: text() });
        }
    }

    /// What runs on a worker.
    pub fn running(&self, worker: usize) -> Vec<Instance> {
        let process = self.processes[worker].as_ref();
        process.map(|process| process.worker.running.keys().cloned().collect()).unwrap_or_default()
    }

    pub(crate) fn note(&self, what: impl FnOnce() -> String) {
        if self.trace {
            println!("{:>9} {}", self.now, what());
        }
    }
}

impl Happening {
    fn addressee(&self) -> Addressee {
        match self {
            Self::Start { .. }
            | Self::Write(_)
            | Self::Claim(..)
            | Self::Commit(_)
            | Self::ToCoordinator(_)
            | Self::Timer(_)
            | Self::SessionOver { .. }
            | Self::End(_) => Addressee::World,
            Self::StartUp(id) | Self::Event(id, _) | Self::Tick(id) | Self::Read(id, _) | Self::FindEnd(id, _) => {
                Addressee::Herder(*id)
            }
            Self::Arrive(call) => Addressee::Herder(call.at),
            Self::CarryOut(id, ..) | Self::ToClient(id, ..) | Self::Heartbeat(id) => Addressee::Process(*id),
            Self::CoordinatorSilent { process, .. }
            | Self::CoordinatorNotFound { process, .. }
            | Self::Neglected { process, .. } => Addressee::Process(*process),
        }
    }
}
