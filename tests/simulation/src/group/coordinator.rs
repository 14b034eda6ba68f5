//! The broker's side of the classic group protocol.

use std::collections::BTreeMap;

use super::{Answer, Ask, Joined, Protocols, Request, Ticket};
use crate::world::ProcessId;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Coordinator {
    pub(crate) generation: i32,
    state: State,
    protocol: String,
    leader: Option<String>,
    members: BTreeMap<String, Member>,
    /// Timers of former states find another number here.
    epoch: u64,
    last_member: u64,
    outputs: Vec<Output>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Empty,
    /// Waiting for all to join; `held`: more may come, so not even then is it complete.
    Preparing {
        held: bool,
    },
    /// Waiting for the leader's assignments.
    Completing,
    Stable,
}

#[derive(Debug)]
struct Member {
    process: ProcessId,
    protocols: Protocols,
    joining: Option<Ticket>,
    syncing: Option<Ticket>,
    assignment: Vec<u8>,
    since: u64,
}

#[derive(Debug)]
pub(crate) enum Output {
    Answer {
        to: ProcessId,
        ticket: Ticket,
        answer: Answer,
    },
    /// The next heartbeat of this worker will be answered by something else than "all is well".
    Notice {
        to: ProcessId,
    },
    Timer(Timer),
}

/// A time-out of a state.
#[derive(Clone, Debug)]
pub(crate) enum Timer {
    /// More members may come before the first generation is made.
    FirstMembers {
        epoch: u64,
    },
    Rebalance {
        epoch: u64,
    },
    Sync {
        epoch: u64,
    },
    /// Of a member that nobody speaks for.
    Session {
        member: String,
    },
}

impl Coordinator {
    pub(crate) fn take(&mut self, now: u64, ask: Ask) -> Vec<Output> {
        let Ask { from, ticket, member, what } = ask;
        match what {
            Request::Join(protocols) => self.join(now, from, ticket, member, protocols),
            Request::Sync { generation, assignments } => {
                self.sync(from, ticket, &member.unwrap_or_default(), generation, assignments);
            }
            Request::Leave => {
                self.remove(&member.unwrap_or_default());
                self.answer(from, ticket, Answer::Left);
            }
        }
        std::mem::take(&mut self.outputs)
    }

    fn join(&mut self, now: u64, from: ProcessId, ticket: Ticket, member: Option<String>, protocols: Protocols) {
        let id = match member {
            Some(id) if self.members.contains_key(&id) => id,
            Some(_) => return self.answer(from, ticket, Answer::UnknownMember),
            None => self.admitted_before(from).unwrap_or_else(|| self.admit(now, from)),
        };
        let Some(member) = self.members.get_mut(&id) else { return };
        let changed = member.protocols != protocols;
        member.protocols = protocols;
        member.joining = Some(ticket);
        member.syncing = None;
        let leads = self.leader.as_ref() == Some(&id);
        match self.state {
            State::Preparing { .. } => self.complete_if_all_joined(),
            State::Stable if leads || changed => self.prepare(),
            State::Completing if changed => self.prepare(),
            State::Stable | State::Completing => self.answer_joined(&id),
            State::Empty => self.prepare(),
        }
    }

    /// A newcomer has its id before it joins, so it has the same one when it has to try again.
    fn admitted_before(&self, process: ProcessId) -> Option<String> {
        let mut waiting =
            self.members.iter().filter(|(_, member)| member.process == process && member.joining.is_some());
        waiting.next().map(|(id, _)| id.clone())
    }

    fn admit(&mut self, now: u64, process: ProcessId) -> String {
        self.last_member += 1;
        // A member that its worker has forgotten sends no heartbeats.
        let forgotten = self.members.iter().filter(|(_, member)| member.process == process);
        let forgotten = forgotten.map(|(id, _)| Output::Timer(Timer::Session { member: id.clone() }));
        self.outputs.extend(forgotten.collect::<Vec<_>>());
        // Which of two members comes first in the alphabet is anybody's guess, as with real ids.
        let id = format!("m{:02}-{}", self.last_member * 37 % 100, self.last_member);
        let member =
            Member { process, protocols: Vec::new(), joining: None, syncing: None, assignment: Vec::new(), since: now };
        self.members.insert(id.clone(), member);
        id
    }

    fn prepare(&mut self) {
        let held = self.state == State::Empty;
        self.epoch += 1;
        let epoch = self.epoch;
        self.state = State::Preparing { held };
        let mut interrupted = Vec::new();
        for member in self.members.values_mut() {
            member.assignment.clear();
            interrupted.extend(member.syncing.take().map(|ticket| (member.process, ticket)));
            if member.joining.is_none() {
                self.outputs.push(Output::Notice { to: member.process });
            }
        }
        for (process, ticket) in interrupted {
            self.answer(process, ticket, Answer::RebalanceInProgress);
        }
        let first = held.then_some(Output::Timer(Timer::FirstMembers { epoch }));
        self.outputs.extend(first);
        self.outputs.push(Output::Timer(Timer::Rebalance { epoch }));
        self.complete_if_all_joined();
    }

    fn complete_if_all_joined(&mut self) {
        let all = self.members.values().all(|member| member.joining.is_some());
        if all && self.state == (State::Preparing { held: false }) {
            self.complete();
        }
    }

    /// Makes a generation of those who have joined.
    fn complete(&mut self) {
        self.members.retain(|_, member| member.joining.is_some());
        self.generation += 1;
        self.epoch += 1;
        if self.members.is_empty() {
            self.state = State::Empty;
            self.leader = None;
            return;
        }
        self.protocol = self.common_protocol();
        let stays = self.leader.as_ref().is_some_and(|leader| self.members.contains_key(leader));
        if !stays {
            self.leader = self.members.keys().next().cloned();
        }
        self.state = State::Completing;
        self.outputs.push(Output::Timer(Timer::Sync { epoch: self.epoch }));
        let ids: Vec<_> = self.members.keys().cloned().collect();
        ids.iter().for_each(|id| self.answer_joined(id));
    }

    /// The protocol that all have and most like best.
    fn common_protocol(&self) -> String {
        let has = |member: &Member, name: &str| member.protocols.iter().any(|(other, _)| *other == name);
        let candidate = |name: &str| self.members.values().all(|member| has(member, name));
        let mut votes: BTreeMap<&str, usize> = BTreeMap::new();
        for member in self.members.values() {
            let choice = member.protocols.iter().find(|(name, _)| candidate(name));
            *votes.entry(choice.map_or("", |(name, _)| name)).or_default() += 1;
        }
        votes.into_iter().max_by_key(|(_, count)| *count).map_or_else(String::new, |(name, _)| name.to_owned())
    }

    fn answer_joined(&mut self, id: &str) {
        let leader = self.leader.clone().unwrap_or_default();
        let metadata = |member: &Member| {
            let chosen = member.protocols.iter().find(|(name, _)| *name == self.protocol);
            chosen.map(|(_, bytes)| bytes.clone()).unwrap_or_default()
        };
        let members = if id == leader {
            self.members.iter().map(|(id, member)| (id.clone(), metadata(member))).collect()
        } else {
            Vec::new()
        };
        let (generation, protocol) = (self.generation, self.protocol.clone());
        let Some(member) = self.members.get_mut(id) else { return };
        let (process, ticket) = (member.process, member.joining.take());
        let joined = Joined { generation, protocol, member: id.to_owned(), leader, members };
        if let Some(ticket) = ticket {
            self.answer(process, ticket, Answer::Joined(joined));
        }
    }

    fn sync(
        &mut self,
        from: ProcessId,
        ticket: Ticket,
        id: &str,
        generation: i32,
        assignments: Vec<(String, Vec<u8>)>,
    ) {
        let Some(member) = self.members.get_mut(id) else {
            return self.answer(from, ticket, Answer::UnknownMember);
        };
        if generation != self.generation {
            return self.answer(from, ticket, Answer::IllegalGeneration);
        }
        match self.state {
            State::Empty => self.answer(from, ticket, Answer::UnknownMember),
            State::Preparing { .. } => self.answer(from, ticket, Answer::RebalanceInProgress),
            State::Stable => {
                let assignment = member.assignment.clone();
                self.answer(from, ticket, Answer::Synced(assignment));
            }
            State::Completing => {
                member.syncing = Some(ticket);
                if self.leader.as_deref() == Some(id) {
                    self.hand_out(assignments);
                }
            }
        }
    }

    fn hand_out(&mut self, assignments: Vec<(String, Vec<u8>)>) {
        for (id, assignment) in assignments {
            if let Some(member) = self.members.get_mut(&id) {
                member.assignment = assignment;
            }
        }
        self.state = State::Stable;
        let mut waiting = Vec::new();
        for member in self.members.values_mut() {
            waiting.extend(member.syncing.take().map(|ticket| (member.process, ticket, member.assignment.clone())));
        }
        for (process, ticket, assignment) in waiting {
            self.answer(process, ticket, Answer::Synced(assignment));
        }
    }

    /// A member is gone: it left, or its session is over.
    fn remove(&mut self, id: &str) {
        if self.members.remove(id).is_none() {
            return;
        }
        match self.state {
            State::Stable | State::Completing => self.prepare(),
            State::Preparing { .. } => self.complete_if_all_joined(),
            State::Empty => {}
        }
    }

    /// The session of a worker that hasn't been heard of is over. Whoever waits for an answer has none.
    pub(crate) fn expire(&mut self, process: ProcessId) -> Vec<Output> {
        let expired =
            |member: &Member| member.process == process && member.joining.is_none() && member.syncing.is_none();
        let ids: Vec<_> = self.members.iter().filter(|(_, member)| expired(member)).map(|(id, _)| id.clone()).collect();
        ids.iter().for_each(|id| self.remove(id));
        std::mem::take(&mut self.outputs)
    }

    pub(crate) fn timer(&mut self, timer: Timer) -> Vec<Output> {
        match (timer, self.state) {
            (Timer::FirstMembers { epoch }, State::Preparing { held: true }) if epoch == self.epoch => {
                self.state = State::Preparing { held: false };
                self.complete_if_all_joined();
            }
            (Timer::Rebalance { epoch }, State::Preparing { .. }) if epoch == self.epoch => self.complete(),
            (Timer::Sync { epoch }, State::Completing) if epoch == self.epoch => {
                self.members.retain(|_, member| member.syncing.is_some());
                self.prepare();
            }
            (Timer::Session { member }, _) => self.remove(&member),
            (Timer::FirstMembers { .. } | Timer::Rebalance { .. } | Timer::Sync { .. }, _) => {}
        }
        std::mem::take(&mut self.outputs)
    }

    pub(crate) fn heartbeat(&self, id: &str, generation: i32) -> Option<Answer> {
        if !self.members.contains_key(id) {
            return Some(Answer::UnknownMember);
        }
        if generation != self.generation {
            return Some(Answer::IllegalGeneration);
        }
        matches!(self.state, State::Preparing { .. }).then_some(Answer::RebalanceInProgress)
    }

    /// The broker comes back: connections are gone, and with them who waited for an answer.
    pub(crate) fn come_back(&mut self) -> Vec<Output> {
        for member in self.members.values_mut() {
            member.joining = None;
            member.syncing = None;
            self.outputs.push(Output::Notice { to: member.process });
        }
        std::mem::take(&mut self.outputs)
    }

    /// The group is deleted, which only one without members can be: generations begin anew.
    pub(crate) fn delete(&mut self) -> bool {
        let empty = self.members.is_empty();
        if empty {
            *self = Self { epoch: self.epoch, last_member: self.last_member, ..Self::default() };
        }
        empty
    }

    /// Since when the worker has been a member without a break.
    pub(crate) fn member_since(&self, process: ProcessId) -> Option<u64> {
        self.members.values().filter(|member| member.process == process).map(|member| member.since).max()
    }

    pub(crate) fn is_stable(&self) -> bool {
        self.state == State::Stable
    }

    fn answer(&mut self, to: ProcessId, ticket: Ticket, answer: Answer) {
        self.outputs.push(Output::Answer { to, ticket, answer });
    }
}
