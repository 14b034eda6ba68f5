//! A worker's side of the group protocol, as its client presents it to the herder.
//!
//! A member joins when it is told to, never by itself. A join that the coordinator turns away for reasons
//! of its own is repeated with what was offered.

use bulkhead_herder::api::GroupEvent;

use super::{Answer, Ask, Joined, Protocols, Request, Ticket};
use crate::world::ProcessId;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Client {
    process: ProcessId,
    phase: Phase,
    member: Option<String>,
    offered: Protocols,
    ticket: Ticket,
    coordinator: Link,
    outputs: Vec<Output>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Link {
    Known,
    Unknown { told: bool },
}

#[derive(Clone, Debug)]
enum Phase {
    Outside,
    Joining,
    Elected { generation: i32, protocol: String },
    Syncing { generation: i32, protocol: String },
    Stable { generation: i32, rebalance_told: bool },
    Leaving { reason: String, then_join: bool },
}

#[derive(Debug)]
pub(crate) enum Output {
    Ask(Ask),
    Event(GroupEvent),
    /// Heartbeats begin with this generation.
    Heartbeats,
}

impl Client {
    pub(crate) fn new(process: ProcessId) -> Self {
        Self {
            process,
            phase: Phase::Outside,
            member: None,
            offered: Vec::new(),
            ticket: 0,
            coordinator: Link::Known,
            outputs: Vec::new(),
        }
    }

    pub(crate) fn join(&mut self, protocols: Protocols) -> Vec<Output> {
        self.offered = protocols;
        match &mut self.phase {
            Phase::Leaving { then_join, .. } => *then_join = true,
            Phase::Outside | Phase::Joining | Phase::Elected { .. } | Phase::Syncing { .. } | Phase::Stable { .. } => {
                self.send_join()
            }
        }
        self.done()
    }

    fn send_join(&mut self) {
        self.phase = Phase::Joining;
        self.send(Request::Join(self.offered.clone()));
    }

    pub(crate) fn assign(&mut self, number: i32, assignments: Vec<(String, Vec<u8>)>) -> Vec<Output> {
        match &self.phase {
            Phase::Elected { generation, protocol } if *generation == number => {
                let protocol = protocol.clone();
                self.sync(number, protocol, assignments);
            }
            _ => {}
        }
        self.done()
    }

    fn sync(&mut self, generation: i32, protocol: String, assignments: Vec<(String, Vec<u8>)>) {
        self.phase = Phase::Syncing { generation, protocol };
        self.send(Request::Sync { generation, assignments });
    }

    pub(crate) fn leave(&mut self, reason: String) -> Vec<Output> {
        if !matches!(self.phase, Phase::Leaving { .. }) {
            self.phase = Phase::Leaving { reason, then_join: false };
            if self.member.is_none() || self.coordinator != Link::Known {
                self.left();
            } else {
                self.send(Request::Leave);
            }
        }
        self.done()
    }

    /// Nobody has asked the client for anything during the rebalance time-out.
    pub(crate) fn neglected(&mut self) -> Vec<Output> {
        if matches!(self.phase, Phase::Elected { .. } | Phase::Stable { .. }) {
            return self.leave("the herder showed no sign of life".to_owned());
        }
        Vec::new()
    }

    fn left(&mut self) {
        let Phase::Leaving { reason, then_join } = std::mem::replace(&mut self.phase, Phase::Outside) else { return };
        self.member = None;
        self.tell(GroupEvent::Left { reason });
        if then_join {
            self.send_join();
        }
    }

    pub(crate) fn answered(&mut self, ticket: Ticket, answer: Answer) -> Vec<Output> {
        if ticket == self.ticket && self.coordinator == Link::Known {
            match answer {
                Answer::Joined(joined) => self.joined(joined),
                Answer::Synced(assignment) => self.synced(assignment),
                Answer::Left => self.left(),
                Answer::RebalanceInProgress => self.send_join(),
                Answer::UnknownMember | Answer::IllegalGeneration => self.disowned(),
            }
        }
        self.done()
    }

    fn joined(&mut self, joined: Joined) {
        let Joined { generation, protocol, member, leader, members } = joined;
        self.member = Some(member.clone());
        if leader == member {
            self.phase = Phase::Elected { generation, protocol: protocol.clone() };
            self.outputs.push(Output::Heartbeats);
            self.tell(GroupEvent::Elected { generation, protocol, member, members });
        } else {
            self.sync(generation, protocol, Vec::new());
        }
    }

    fn synced(&mut self, assignment: Vec<u8>) {
        let Phase::Syncing { generation, protocol } = &self.phase else { return };
        let (generation, protocol) = (*generation, protocol.clone());
        self.phase = Phase::Stable { generation, rebalance_told: false };
        self.outputs.push(Output::Heartbeats);
        let member = self.member.clone().unwrap_or_default();
        self.tell(GroupEvent::Synced { generation, protocol, member, assignment });
    }

    /// What the next heartbeat asks about; none if there is none.
    pub(crate) fn heartbeat(&self) -> Option<(&str, i32)> {
        if self.coordinator != Link::Known {
            return None;
        }
        match self.phase {
            Phase::Elected { generation, .. } | Phase::Stable { generation, .. } => {
                Some((self.member.as_deref()?, generation))
            }
            Phase::Outside | Phase::Joining | Phase::Syncing { .. } | Phase::Leaving { .. } => None,
        }
    }

    /// A heartbeat was answered by something else than "all is well".
    pub(crate) fn alarmed(&mut self, answer: &Answer) -> Vec<Output> {
        match answer {
            Answer::RebalanceInProgress => {
                if let Phase::Stable { rebalance_told, .. } = &mut self.phase
                    && !std::mem::replace(rebalance_told, true)
                {
                    self.tell(GroupEvent::RebalanceNeeded);
                }
            }
            Answer::UnknownMember | Answer::IllegalGeneration => self.disowned(),
            Answer::Joined(_) | Answer::Synced(_) | Answer::Left => {}
        }
        self.done()
    }

    /// A join goes on as a newcomer; otherwise the herder has to know.
    fn disowned(&mut self) {
        self.member = None;
        match self.phase {
            Phase::Stable { .. } => {
                self.phase = Phase::Outside;
                self.tell(GroupEvent::Lost { reason: "the coordinator doesn't know the member".to_owned() });
            }
            Phase::Joining | Phase::Elected { .. } | Phase::Syncing { .. } => self.send_join(),
            Phase::Outside | Phase::Leaving { .. } => {}
        }
    }

    /// The coordinator doesn't answer any more.
    pub(crate) fn coordinator_lost(&mut self) -> Vec<Output> {
        if self.coordinator == Link::Known {
            self.coordinator = Link::Unknown { told: false };
            self.ticket += 1;
            if matches!(self.phase, Phase::Syncing { .. }) {
                self.phase = Phase::Joining;
            }
            if matches!(self.phase, Phase::Leaving { .. }) {
                self.left();
            }
        }
        self.done()
    }

    /// It was looked for, in vain.
    pub(crate) fn coordinator_not_found(&mut self) -> Vec<Output> {
        if self.coordinator == (Link::Unknown { told: false }) {
            self.coordinator = Link::Unknown { told: true };
            self.phase = Phase::Outside;
            self.tell(GroupEvent::CoordinatorLost { reason: "no broker answers".to_owned() });
        }
        self.done()
    }

    /// The coordinator can be reached again; what was out may have got lost.
    pub(crate) fn coordinator_found(&mut self) -> Vec<Output> {
        self.coordinator = Link::Known;
        self.ticket += 1;
        match self.phase {
            Phase::Joining | Phase::Syncing { .. } => self.send_join(),
            Phase::Leaving { .. } => self.send(Request::Leave),
            Phase::Elected { .. } | Phase::Stable { .. } => self.outputs.push(Output::Heartbeats),
            Phase::Outside => {}
        }
        self.done()
    }

    /// In which generation this worker is, if it takes itself for a member.
    pub(crate) fn generation(&self) -> Option<i32> {
        match self.phase {
            Phase::Stable { generation, .. } => Some(generation),
            Phase::Outside | Phase::Joining | Phase::Elected { .. } | Phase::Syncing { .. } | Phase::Leaving { .. } => {
                None
            }
        }
    }

    fn send(&mut self, what: Request) {
        self.ticket += 1;
        if self.coordinator == Link::Known {
            let ask = Ask { from: self.process, ticket: self.ticket, member: self.member.clone(), what };
            self.outputs.push(Output::Ask(ask));
        }
    }

    fn tell(&mut self, event: GroupEvent) {
        self.outputs.push(Output::Event(event));
    }

    fn done(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.outputs)
    }
}
