//! What goes wrong.

use bulkhead_herder::api::Event;
use bulkhead_model::{ConnectorName, Instance};

use super::{AppendFault, Happening, ProcessId, Standstill, World};
use crate::conditions::REBALANCE_TIMEOUT;
use crate::group::{Client, CoordinatorOutput};

/// Something that goes wrong, or is done to the cluster. Times are in milliseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process is gone at once; it is started again after a while, or not by itself.
    Crash {
        worker: usize,
        back: Option<u64>,
    },
    /// The process is told to end.
    Shutdown {
        worker: usize,
        back: Option<u64>,
    },
    /// All crash at once and come back.
    CrashAll {
        back: u64,
    },
    /// Starts a worker that doesn't run.
    Start {
        worker: usize,
    },
    /// Something that ends by itself after a while.
    Trouble {
        trouble: Trouble,
        millis: u64,
    },
    Append {
        worker: usize,
        fault: AppendFault,
    },
    /// So many of the next statuses can't be written.
    Statuses {
        worker: usize,
        count: u32,
    },
    /// So many of the next reads to the end of the config log fail.
    Reads {
        worker: usize,
        count: u32,
    },
    /// So many of the leader's answers to forwarded task configurations get lost.
    Answers {
        worker: usize,
        count: u32,
    },
    /// The coordinator takes the worker for dead.
    Expel {
        worker: usize,
    },
    ClockJump {
        worker: usize,
        millis: i64,
    },
    Compact {
        percent: u64,
        removals: bool,
    },
    /// The group is forgotten, if it has no members.
    ForgetGroup,
    /// One of the instances of a worker ends by itself.
    BreakDown {
        worker: usize,
        which: usize,
    },
    /// A connector has work for so many tasks from now on.
    Demand {
        connector: ConnectorName,
        tasks: u32,
    },
    UseTopic {
        worker: usize,
        which: usize,
        topic: &'static str,
    },
    /// A record of a kind that this version doesn't know.
    StrangeRecord,
}

/// What ends by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The process stands still.
    Frozen { worker: usize },
    /// The herder handles nothing, though the process lives.
    Blocked { worker: usize },
    /// The worker can't reach the coordinator.
    Cut { worker: usize },
    /// Nobody can.
    BrokerDown,
    /// Records take so much longer to arrive.
    SlowLog { worker: usize, lag: u64 },
}

impl World {
    pub fn inflict(&mut self, fault: Fault) {
        self.note(|| format!("fault: {fault:?}"));
        match fault {
            Fault::Crash { worker, back } => self.crash(worker, back),
            Fault::Shutdown { worker, back } => self.shut_down(worker, back),
            Fault::CrashAll { back } => (0..self.processes.len()).for_each(|worker| self.crash(worker, Some(back))),
            Fault::Start { worker } => self.start(worker),
            Fault::Trouble { trouble, millis } => self.begin(trouble, millis),
            Fault::ClockJump { worker, millis } => self.jump(worker, millis),
            Fault::Compact { percent, removals } => self.compact(percent, removals),
            Fault::ForgetGroup => {
                self.group.delete();
            }
            Fault::Expel { worker } => self.expel(worker),
            Fault::BreakDown { worker, which } => self.break_down(worker, which),
            Fault::Demand { connector, tasks } => self.set_demand(connector, tasks),
            Fault::UseTopic { worker, which, topic } => self.use_topic(worker, which, topic),
            Fault::StrangeRecord => self.append_from_outside(None),
            Fault::Append { worker, fault } => {
                self.arm_fault(worker, |process| process.writing.faults.push_back(fault))
            }
            Fault::Statuses { worker, count } => {
                self.arm_fault(worker, |process| process.writing.status_faults += count);
            }
            Fault::Reads { worker, count } => self.arm_fault(worker, |process| process.reading.failures += count),
            Fault::Answers { worker, count } => self.arm_fault(worker, |process| process.lost_answers += count),
        }
    }

    /// Kafka keeps removals for a day, so that whoever reads the log at present sees them.
    fn compact(&mut self, percent: u64, removals: bool) {
        let positions = self.living().filter(|process| process.reading.begun).map(|process| process.reading.position);
        let seen_by_all = positions.min().unwrap_or(i64::MAX);
        self.config.compact(percent, if removals { seen_by_all } else { 0 });
    }

    fn arm_fault(&mut self, worker: usize, arm: impl FnOnce(&mut super::Process)) {
        if let Some(process) = &mut self.processes[worker] {
            arm(process);
        }
    }

    fn id_of(&self, worker: usize) -> Option<ProcessId> {
        self.processes[worker].as_ref().map(|process| process.id)
    }

    fn crash(&mut self, worker: usize, back: Option<u64>) {
        let Some(id) = self.id_of(worker) else { return };
        self.vanish(id);
        self.silent(id);
        if let Some(back) = back {
            self.after(back, Happening::Start { worker });
        }
    }

    /// The process is no more.
    pub(super) fn vanish(&mut self, id: ProcessId) {
        self.hang_up(id);
        let Some(process) = self.processes[id.worker].take_if(|process| process.id == id) else { return };
        for what in process.inbox {
            self.too_late(what);
        }
        // A member that said farewell is unknown to the coordinator by now; any other is missed.
        self.silent(id);
    }

    fn shut_down(&mut self, worker: usize, back: Option<u64>) {
        let Some(id) = self.id_of(worker) else { return };
        if let Some(process) = self.process(id) {
            if process.ending {
                return;
            }
            process.ending = true;
        }
        self.after(0, Happening::Event(id, Event::Shutdown));
        if let Some(back) = back {
            // Stopping takes its time, so this is tried until the process has ended.
            self.after(back.max(30_000), Happening::Start { worker });
        }
    }

    fn begin(&mut self, trouble: Trouble, millis: u64) {
        match &trouble {
            Trouble::Frozen { worker } => self.freeze(*worker),
            Trouble::Blocked { worker } => self.block(*worker),
            Trouble::Cut { worker } => {
                if let Some(id) = self.id_of(*worker) {
                    self.cut(id);
                }
            }
            Trouble::BrokerDown => self.lose_broker(),
            Trouble::SlowLog { worker, lag } => self.arm_fault(*worker, |process| process.reading.lag = *lag),
        }
        self.after(millis, Happening::End(trouble));
    }

    pub(super) fn end(&mut self, trouble: Trouble) {
        self.note(|| format!("over: {trouble:?}"));
        match trouble {
            Trouble::Frozen { worker } | Trouble::Blocked { worker } => self.resume(worker),
            Trouble::Cut { worker } => {
                if let Some(id) = self.id_of(worker).filter(|_| !self.broker_down) {
                    self.mend(id);
                }
            }
            Trouble::BrokerDown => self.find_broker(),
            Trouble::SlowLog { worker, .. } => self.arm_fault(worker, |process| process.reading.lag = 0),
        }
    }

    fn freeze(&mut self, worker: usize) {
        let Some(process) = &mut self.processes[worker] else { return };
        if process.standstill.is_none() {
            process.standstill = Some(Standstill::Frozen);
            process.link.changes += 1;
            let id = process.id;
            self.silent(id);
        }
    }

    fn block(&mut self, worker: usize) {
        let since = self.now;
        let Some(process) = &mut self.processes[worker] else { return };
        if process.standstill.is_none() {
            process.standstill = Some(Standstill::HerderBlocked { since });
            let id = process.id;
            self.after(REBALANCE_TIMEOUT, Happening::Neglected { process: id, since });
        }
    }

    fn resume(&mut self, worker: usize) {
        let Some(process) = &mut self.processes[worker] else { return };
        if process.standstill.take().is_none() {
            return;
        }
        process.link.changes += 1;
        let (id, cut) = (process.id, process.link.cut);
        let mended = std::mem::take(&mut process.link.mended_unseen);
        for what in std::mem::take(&mut process.inbox) {
            self.after(0, what);
        }
        if cut {
            self.cut(id);
        } else if mended {
            self.with_client(id, Client::coordinator_found);
        }
        self.of_coordinator(vec![CoordinatorOutput::Notice { to: id }]);
    }

    fn lose_broker(&mut self) {
        if self.broker_down {
            return;
        }
        self.broker_down = true;
        let ids: Vec<_> = self.living().map(|process| process.id).collect();
        ids.into_iter().for_each(|id| self.cut(id));
    }

    fn find_broker(&mut self) {
        if !std::mem::replace(&mut self.broker_down, false) {
            return;
        }
        let outputs = self.group.come_back();
        self.of_coordinator(outputs);
        let ids: Vec<_> = self.living().map(|process| process.id).collect();
        ids.into_iter().for_each(|id| self.mend(id));
    }

    fn expel(&mut self, worker: usize) {
        let Some(id) = self.id_of(worker) else { return };
        let outputs = self.group.expire(id);
        self.of_coordinator(outputs);
        self.of_coordinator(vec![CoordinatorOutput::Notice { to: id }]);
    }

    fn jump(&mut self, worker: usize, millis: i64) {
        self.clock_errors[worker] += millis;
        self.delays.clock_jumped();
        if let Some(process) = &mut self.processes[worker] {
            process.clock = process.clock.saturating_add_signed(millis);
        }
    }

    fn nth_instance(&self, worker: usize, which: usize) -> Option<(ProcessId, Instance)> {
        let process = self.processes[worker].as_ref().filter(|process| !process.is_frozen())?;
        let running = &process.worker.running;
        let instance = running.keys().nth(which % running.len().max(1))?;
        Some((process.id, instance.clone()))
    }

    fn break_down(&mut self, worker: usize, which: usize) {
        let Some((id, instance)) = self.nth_instance(worker, which) else { return };
        let event = self.process(id).and_then(|process| process.worker.break_down(&instance));
        if let Some(event) = event {
            self.broken.insert((id, instance));
            self.report(id, event);
        }
    }

    fn use_topic(&mut self, worker: usize, which: usize, topic: &str) {
        let Some((id, instance)) = self.nth_instance(worker, which) else { return };
        let event = self.process(id).and_then(|process| process.worker.use_topic(&instance, topic));
        if let Some(event) = event {
            self.report(id, event);
        }
    }

    fn set_demand(&mut self, connector: ConnectorName, tasks: u32) {
        let events: Vec<_> = self
            .living()
            .filter_map(|process| Some((process.id, process.worker.want_reconfiguration(&connector)?)))
            .collect();
        self.demand.insert(connector, tasks);
        for (id, event) in events {
            self.report(id, event);
        }
    }

    pub(crate) fn demand(&self, connector: &ConnectorName) -> Option<u32> {
        self.demand.get(connector).copied()
    }

    /// No more trouble: all that goes by itself goes, and somebody runs.
    pub fn heal(&mut self) {
        self.find_broker();
        for worker in 0..self.processes.len() {
            self.resume(worker);
            if let Some(id) = self.id_of(worker) {
                self.mend(id);
            }
            self.arm_fault(worker, |process| {
                process.writing.faults.clear();
                process.writing.status_faults = 0;
                process.reading.failures = 0;
                process.reading.lag = 0;
                process.lost_answers = 0;
            });
        }
        let runs = self.living().any(|process| !process.ending);
        if !runs {
            self.after(60_000, Happening::Start { worker: 0 });
        }
    }
}
