//! What a member does next. No clock, no socket: time is an argument, answers are inputs, requests are outputs.
//!
//! Start at [`Core::handle`]. **Invariant:** at most one request is out to the coordinator and one to look for it,
//! and an answer counts only if it is to one of these.

mod answers;
mod backoff;
#[cfg(test)]
mod tests;
mod words;

use bytes::Bytes;

use super::{GroupEvent, Protocol};
use crate::connection::Address;
use backoff::Backoff;
pub(super) use words::{Answer, Failure, Input, Joined, Millis, Output, Request, Ticket, Timing};

/// A member.
pub(super) struct Core {
    timing: Timing,
    coordinator: Coordinator,
    phase: Phase,
    /// Empty until the broker gives one.
    member: String,
    /// What the last join offered; internal joins offer it again.
    offered: Vec<Protocol>,
    tickets: Ticket,
    out: Option<Out>,
    backoff: Backoff,
    look_up: LookUp,
    next_heartbeat: Millis,
    /// When the coordinator has been silent for too long.
    session_ends: Millis,
    /// When whoever decides has been silent for too long.
    poll_ends: Millis,
    /// Refusals at the very start are mistakes in settings; later ones may pass.
    was_connected: bool,
    outputs: Vec<Output>,
}

/// A request to the coordinator without an answer yet.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Out {
    ticket: Ticket,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Join,
    Sync,
    Heartbeat,
    Leave,
}

#[derive(Debug)]
struct LookUp {
    out: Option<Ticket>,
    backoff: Backoff,
}

#[derive(Debug)]
enum Coordinator {
    Known(Address),
    Unknown { since: Millis, reason: String, told: bool },
}

#[derive(Clone, Debug, PartialEq)]
struct Generation {
    number: i32,
    protocol: String,
    leader: String,
}

#[derive(Debug)]
enum Phase {
    /// In no generation, waiting for a join.
    Outside,
    Joining,
    /// Leading, until the assignments are there.
    Elected(Generation),
    Syncing {
        generation: Generation,
        assignments: Vec<(String, Bytes)>,
    },
    Stable {
        generation: Generation,
        rebalance_told: bool,
    },
    Leaving {
        reason: String,
        then_join: bool,
    },
    /// Told that it is of no use; waiting for a join.
    Failed,
}

impl Core {
    pub(super) fn new(now: Millis, timing: Timing) -> Self {
        let backoff = Backoff::new(timing.retry_backoff, timing.retry_backoff_max);
        let reason = "no broker has been asked yet".to_owned();
        Self {
            timing,
            coordinator: Coordinator::Unknown { since: now, reason, told: false },
            phase: Phase::Outside,
            member: String::new(),
            offered: Vec::new(),
            tickets: 0,
            out: None,
            look_up: LookUp { out: None, backoff: backoff.clone() },
            backoff,
            next_heartbeat: now,
            session_ends: now,
            poll_ends: now,
            was_connected: false,
            outputs: Vec::new(),
        }
    }

    /// Takes in what happened and says what is to be done, in order.
    pub(super) fn handle(&mut self, now: Millis, input: Input) -> Vec<Output> {
        match input {
            Input::Join(protocols) => self.join(now, protocols),
            Input::Assign { generation, assignments } => self.assign(now, generation, assignments),
            Input::Leave { reason } => self.leave(reason),
            Input::Poll => self.poll_ends = now + self.timing.rebalance_timeout,
            Input::Answer { ticket, answer } => self.answered(now, ticket, answer),
            Input::Tick => {}
        }
        self.watch_clocks(now);
        self.look_up(now);
        self.send_next(now);
        std::mem::take(&mut self.outputs)
    }

    /// When a tick is due; none while only an input can change anything.
    pub(super) fn next_deadline(&self) -> Option<Millis> {
        let look_up = match &self.coordinator {
            Coordinator::Known(_) => None,
            Coordinator::Unknown { .. } if self.has_failed() => None,
            Coordinator::Unknown { .. } => self.look_up.out.is_none().then_some(self.look_up.backoff.until()),
        };
        let telling = match &self.coordinator {
            Coordinator::Unknown { since, told: false, .. } if !self.has_failed() => {
                Some(since + self.timing.heartbeat_interval)
            }
            Coordinator::Unknown { .. } | Coordinator::Known(_) => None,
        };
        let request = self.next_request_at();
        let session = self.is_session_watched().then_some(self.session_ends);
        let poll = self.is_in_generation().then_some(self.poll_ends);
        [look_up, telling, request, session, poll].into_iter().flatten().min()
    }

    fn join(&mut self, now: Millis, protocols: Vec<Protocol>) {
        self.offered = protocols;
        self.poll_ends = now + self.timing.rebalance_timeout;
        if let Phase::Leaving { then_join, .. } = &mut self.phase {
            *then_join = true;
            return;
        }
        self.give_up_request();
        self.backoff.reset();
        self.phase = Phase::Joining;
    }

    fn assign(&mut self, now: Millis, number: i32, assignments: Vec<(String, Bytes)>) {
        let Phase::Elected(generation) = &self.phase else { return };
        if generation.number == number {
            self.poll_ends = now + self.timing.rebalance_timeout;
            self.phase = Phase::Syncing { generation: generation.clone(), assignments };
        }
    }

    fn leave(&mut self, reason: String) {
        if let Phase::Leaving { then_join, .. } = &mut self.phase {
            *then_join = false;
            return;
        }
        // The broker reads nothing on a connection while a join waits there for its answer.
        self.give_up_request();
        self.phase = Phase::Leaving { reason, then_join: false };
    }

    fn watch_clocks(&mut self, now: Millis) {
        if self.is_session_watched() && now >= self.session_ends {
            let limit = self.timing.session_timeout;
            self.lose_coordinator(now, format!("no heartbeat was answered within {limit} ms"));
        }
        if self.is_in_generation() && now >= self.poll_ends {
            let limit = self.timing.rebalance_timeout;
            self.leave(format!("the herder showed no sign of life for {limit} ms"));
        }
        let patience = self.timing.heartbeat_interval;
        let failed = self.has_failed();
        if let Coordinator::Unknown { since, reason, told } = &mut self.coordinator
            && !*told
            && !failed
            && now >= *since + patience
        {
            *told = true;
            let reason = reason.clone();
            self.drop_generation();
            self.tell(GroupEvent::CoordinatorLost { reason });
        }
    }

    /// A member that waits for a coordinator to leave has nothing to wait for: see `send_next`.
    fn drop_generation(&mut self) {
        match self.phase {
            Phase::Joining | Phase::Elected(_) | Phase::Syncing { .. } | Phase::Stable { .. } => {
                self.phase = Phase::Outside;
            }
            Phase::Outside | Phase::Leaving { .. } | Phase::Failed => {}
        }
    }

    fn look_up(&mut self, now: Millis) {
        let unknown = matches!(self.coordinator, Coordinator::Unknown { .. });
        if unknown && !self.has_failed() && self.look_up.out.is_none() && self.look_up.backoff.is_over(now) {
            let ticket = self.ticket();
            self.look_up.out = Some(ticket);
            self.outputs.push(Output::LookUp { ticket });
        }
    }

    fn send_next(&mut self, now: Millis) {
        let Coordinator::Known(address) = &self.coordinator else {
            return self.finish_leaving();
        };
        if self.next_request_at().is_none_or(|at| now < at) {
            return;
        }
        let member = self.member.clone();
        let (kind, request) = match &self.phase {
            Phase::Outside | Phase::Failed => return,
            Phase::Joining => (Kind::Join, Request::Join { member, protocols: self.offered.clone() }),
            Phase::Syncing { generation, assignments } => {
                let Generation { number, protocol, .. } = generation.clone();
                let assignments = assignments.clone();
                (Kind::Sync, Request::Sync { generation: number, member, protocol, assignments })
            }
            Phase::Elected(generation) | Phase::Stable { generation, .. } => {
                self.next_heartbeat = now + self.timing.heartbeat_interval;
                (Kind::Heartbeat, Request::Heartbeat { generation: generation.number, member })
            }
            Phase::Leaving { .. } if member.is_empty() => return self.finish_leaving(),
            Phase::Leaving { reason, .. } => (Kind::Leave, Request::Leave { member, reason: reason.clone() }),
        };
        let to = address.clone();
        let ticket = self.ticket();
        self.out = Some(Out { ticket, kind });
        self.outputs.push(Output::Send { ticket, to, request });
    }

    /// None while nothing is to be sent or something is out.
    fn next_request_at(&self) -> Option<Millis> {
        if self.out.is_some() || matches!(self.coordinator, Coordinator::Unknown { .. }) {
            return None;
        }
        match &self.phase {
            Phase::Outside | Phase::Failed => None,
            Phase::Joining | Phase::Syncing { .. } => Some(self.backoff.until()),
            Phase::Elected(_) | Phase::Stable { .. } => Some(self.next_heartbeat.max(self.backoff.until())),
            Phase::Leaving { .. } => Some(0),
        }
    }

    /// Without a coordinator, or without an id, there is nobody to take leave of.
    fn finish_leaving(&mut self) {
        let Phase::Leaving { reason, then_join } = &mut self.phase else { return };
        let reason = std::mem::take(reason);
        let then_join = *then_join;
        self.member.clear();
        self.phase = if then_join { Phase::Joining } else { Phase::Outside };
        self.tell(GroupEvent::Left { reason });
        if then_join {
            self.backoff.reset();
        }
    }

    fn lose_coordinator(&mut self, now: Millis, reason: String) {
        tracing::debug!(reason, "The coordinator is unknown.");
        self.out = None;
        if matches!(self.coordinator, Coordinator::Known(_)) {
            self.outputs.push(Output::HangUp);
            self.coordinator = Coordinator::Unknown { since: now, reason, told: false };
        }
        // A sync that was not answered can't be repeated: the generation may have passed.
        if matches!(self.phase, Phase::Syncing { .. }) {
            self.phase = Phase::Joining;
        }
    }

    fn give_up_request(&mut self) {
        if self.out.take().is_some() {
            self.outputs.push(Output::HangUp);
        }
    }

    fn fail(&mut self, reason: String) {
        self.give_up_request();
        self.phase = Phase::Failed;
        self.tell(GroupEvent::Fatal { reason });
    }

    fn is_in_generation(&self) -> bool {
        matches!(self.phase, Phase::Elected(_) | Phase::Stable { .. })
    }

    fn has_failed(&self) -> bool {
        matches!(self.phase, Phase::Failed)
    }

    fn is_session_watched(&self) -> bool {
        let heartbeat_out = self.out.is_some_and(|out| out.kind == Kind::Heartbeat);
        matches!(self.coordinator, Coordinator::Known(_)) && (self.is_in_generation() || heartbeat_out)
    }

    fn ticket(&mut self) -> Ticket {
        self.tickets += 1;
        self.tickets
    }

    fn tell(&mut self, event: GroupEvent) {
        self.outputs.push(Output::Event(event));
    }
}
