//! Workers, their clients and the group's coordinator.

use bulkhead_herder::api::{Event, GroupEvent};

use super::{Happening, ProcessId, Standstill, World};
use crate::checks;
use crate::conditions::{HEARTBEAT, Mutation, REBALANCE_TIMEOUT, SESSION_TIMEOUT};
use crate::group::{Answer, Ask, Client, ClientOutput, CoordinatorOutput, Ticket, Timer};

impl World {
    pub(super) fn with_client(&mut self, id: ProcessId, act: impl FnOnce(&mut Client) -> Vec<ClientOutput>) {
        let Some(process) = self.process(id) else { return };
        let outputs = act(&mut process.client);
        for output in outputs {
            match output {
                ClientOutput::Ask(ask) => self.send(ask),
                ClientOutput::Event(event) => {
                    if let GroupEvent::Elected { generation, members, .. } = &event {
                        self.delays.elected(id, *generation, members);
                    }
                    self.after(0, Happening::Event(id, Event::Group(event)));
                }
                ClientOutput::Heartbeats => self.next_heartbeat(id),
            }
        }
    }

    /// What one client sends arrives in order.
    fn send(&mut self, ask: Ask) {
        let arrives = self.now + self.latency(ask.from);
        let Some(process) = self.process(ask.from) else { return };
        let arrives = process.link.sent.max(arrives);
        process.link.sent = arrives;
        self.agenda.put(arrives, Happening::ToCoordinator(ask));
    }

    fn latency(&mut self, id: ProcessId) -> u64 {
        let network = self.conditions.pace.network;
        self.process(id).map_or(0, |process| process.dice.between(network))
    }

    /// Heartbeats that are answered with "all is well" needn't happen: this is the next one that may not be.
    fn next_heartbeat(&mut self, id: ProcessId) {
        if let Some(process) = self.process(id) {
            let wait = process.dice.between((1, HEARTBEAT));
            self.after(wait, Happening::Heartbeat(id));
        }
    }

    pub(super) fn assign(&mut self, id: ProcessId, generation: i32, mut assignments: Vec<(String, Vec<u8>)>) {
        if self.conditions.mutation == Some(Mutation::DuplicatesStay) {
            checks::keep_duplicates(&mut assignments);
        }
        if let Some(problem) = self.delays.assigned(id, generation, &assignments) {
            self.problem(problem);
        }
        self.write_down(Some(id.worker), || format!("assign {generation}"));
        self.with_client(id, |client| client.assign(generation, assignments));
    }

    pub(super) fn leave(&mut self, id: ProcessId, reason: String) {
        if let Some(process) = self.process(id)
            && process.ending
            && !process.worker.running.is_empty()
        {
            let left: Vec<_> = process.worker.running.keys().cloned().collect();
            self.problem(format!("w{} leaves for good while {left:?} run", id.worker));
        }
        self.write_down(Some(id.worker), || "leave".to_owned());
        self.with_client(id, |client| client.leave(reason));
    }

    fn reaches_coordinator(&mut self, id: ProcessId) -> bool {
        !self.broker_down && self.process(id).is_some_and(|process| !process.link.cut)
    }

    pub(super) fn ask_coordinator(&mut self, ask: Ask) {
        if self.reaches_coordinator(ask.from) {
            let from = ask.from;
            self.note(|| format!("coordinator <- w{} {}", from.worker, ask.in_short()));
            let outputs = self.group.take(self.now, ask);
            self.of_coordinator(outputs);
            // Somebody who stands still has been heard of for the last time.
            if self.process(from).is_some_and(|process| process.is_frozen()) {
                self.silent(from);
            }
        }
    }

    pub(super) fn of_coordinator(&mut self, outputs: Vec<CoordinatorOutput>) {
        for output in outputs {
            match output {
                CoordinatorOutput::Answer { to, ticket, answer } => {
                    let latency = self.latency(to);
                    self.after(latency, Happening::ToClient(to, ticket, answer));
                    if self.process(to).is_none_or(|process| process.is_frozen() || process.link.cut) {
                        self.silent(to);
                    }
                }
                CoordinatorOutput::Notice { to } => self.next_heartbeat(to),
                CoordinatorOutput::Timer(timer) => {
                    let wait = match &timer {
                        Timer::FirstMembers { .. } => self.dice.pick(&[0, 0, 3_000]),
                        Timer::Session { .. } => SESSION_TIMEOUT,
                        Timer::Rebalance { .. } | Timer::Sync { .. } => REBALANCE_TIMEOUT,
                    };
                    self.after(wait, Happening::Timer(timer));
                }
            }
        }
    }

    pub(super) fn timer(&mut self, timer: Timer) {
        if self.broker_down {
            return self.after(1_000, Happening::Timer(timer));
        }
        let outputs = self.group.timer(timer);
        self.of_coordinator(outputs);
    }

    pub(super) fn answer_client(&mut self, id: ProcessId, ticket: Ticket, answer: Answer) {
        if self.reaches_coordinator(id) {
            self.note(|| format!("w{} <- coordinator: {}", id.worker, answer.in_short()));
            self.with_client(id, |client| client.answered(ticket, answer));
        }
    }

    pub(super) fn heartbeat(&mut self, id: ProcessId) {
        if !self.reaches_coordinator(id) {
            return;
        }
        let Some(process) = self.process(id) else { return };
        let Some((member, generation)) = process.client.heartbeat() else { return };
        let (member, generation) = (member.to_owned(), generation);
        if let Some(answer) = self.group.heartbeat(&member, generation) {
            self.with_client(id, |client| client.alarmed(&answer));
        }
    }

    /// The coordinator doesn't hear of a process from now on.
    pub(super) fn silent(&mut self, id: ProcessId) {
        let changes = self.process(id).map_or(u64::MAX, |process| process.link.changes);
        let last = self.dice.between((0, HEARTBEAT));
        self.after(SESSION_TIMEOUT - last, Happening::SessionOver { process: id, changes });
    }

    pub(super) fn session_over(&mut self, id: ProcessId, changes: u64) {
        if self.broker_down {
            return self.after(SESSION_TIMEOUT, Happening::SessionOver { process: id, changes });
        }
        let heard = self
            .process(id)
            .is_some_and(|process| process.link.changes != changes || !(process.is_frozen() || process.link.cut));
        if !heard && self.group.member_since(id).is_some() {
            let outputs = self.group.expire(id);
            self.of_coordinator(outputs);
            // Whoever waits for a join is expired when that has ended.
            if self.group.member_since(id).is_some() {
                self.after(SESSION_TIMEOUT, Happening::SessionOver { process: id, changes });
            }
        }
    }

    /// A way to the coordinator is cut: sooner or later the client notices.
    pub(super) fn cut(&mut self, id: ProcessId) {
        let Some(process) = self.process(id) else { return };
        process.link.cut = true;
        process.link.changes += 1;
        let changes = process.link.changes;
        // Either connections are refused, or nothing is heard any more.
        let refused = process.dice.one_in(2);
        let notices = if refused { (0, HEARTBEAT) } else { (SESSION_TIMEOUT - HEARTBEAT, SESSION_TIMEOUT) };
        let notices = process.dice.between(notices);
        self.after(notices, Happening::CoordinatorSilent { process: id, changes });
        if !self.broker_down {
            self.silent(id);
        }
    }

    pub(super) fn mend(&mut self, id: ProcessId) {
        let Some(process) = self.process(id) else { return };
        if !std::mem::replace(&mut process.link.cut, false) {
            return;
        }
        process.link.changes += 1;
        if process.is_frozen() {
            process.link.mended_unseen = true;
        } else {
            self.with_client(id, Client::coordinator_found);
        }
    }

    fn is_still_cut(&mut self, id: ProcessId, changes: u64) -> bool {
        self.process(id).is_some_and(|process| process.link.cut && process.link.changes == changes)
    }

    pub(super) fn coordinator_silent(&mut self, id: ProcessId, changes: u64) {
        if self.is_still_cut(id, changes) {
            self.with_client(id, Client::coordinator_lost);
            self.after(HEARTBEAT, Happening::CoordinatorNotFound { process: id, changes });
        }
    }

    pub(super) fn coordinator_not_found(&mut self, id: ProcessId, changes: u64) {
        if self.is_still_cut(id, changes) {
            self.with_client(id, Client::coordinator_not_found);
        }
    }

    /// The client has waited for a sign of life of the herder.
    pub(super) fn neglected(&mut self, id: ProcessId, since: u64) {
        let blocked = Some(Standstill::HerderBlocked { since });
        if self.process(id).is_some_and(|process| process.standstill == blocked) {
            self.with_client(id, Client::neglected);
        }
    }
}
