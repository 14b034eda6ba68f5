//! A member and a coordinator that answers by script: what is asked and told, as text.

mod chance;
mod joining;
mod leaving;
mod staying;

use bytes::Bytes;
use kafka_protocol::ResponseError as E;

use super::{Answer, Core, Failure, Input, Joined, Millis, Output, Request, Ticket, Timing};
use crate::connection::Address;
use crate::group::{GroupEvent, Protocol};

const TIMING: Timing = Timing {
    session_timeout: 10_000,
    heartbeat_interval: 3_000,
    rebalance_timeout: 60_000,
    retry_backoff: 100,
    retry_backoff_max: 1_000,
};

struct Script {
    core: Core,
    now: Millis,
    asked: Option<Ticket>,
    looked_up: Option<Ticket>,
    /// Since it was last shown.
    log: Vec<String>,
}

impl Script {
    fn new() -> Self {
        let mut script = Self { core: Core::new(0, TIMING), now: 0, asked: None, looked_up: None, log: Vec::new() };
        script.give(Input::Tick);
        script
    }

    /// A member whose coordinator is found.
    fn found() -> Self {
        let mut script = Self::new();
        script.answer_look_up(Ok(address()));
        script.log.clear();
        script
    }

    /// A member that waits for the answer to its join, with the id `m`.
    fn joining() -> Self {
        let mut script = Self::found();
        script.join();
        script.answer(Answer::MemberId("m".to_owned()));
        script.log.clear();
        script
    }

    /// A follower that waits for the answer to its sync.
    fn syncing() -> Self {
        let mut script = Self::joining();
        script.answer(joined("leader"));
        script.log.clear();
        script
    }

    fn stable() -> Self {
        let mut script = Self::syncing();
        script.answer(synced());
        script.log.clear();
        script
    }

    fn join(&mut self) {
        self.give(Input::Join(["sessioned", "compatible"].map(protocol).into()));
    }

    fn leave(&mut self, reason: &str) {
        self.give(Input::Leave { reason: reason.to_owned() });
    }

    fn give(&mut self, input: Input) {
        for output in self.core.handle(self.now, input) {
            let line = match output {
                Output::LookUp { ticket } => {
                    assert_eq!(self.looked_up.replace(ticket), None, "looked up twice");
                    "look up".to_owned()
                }
                Output::Send { ticket, request, .. } => {
                    assert_eq!(self.asked.replace(ticket), None, "asked twice");
                    show_request(&request)
                }
                Output::HangUp => {
                    self.asked = None;
                    "hang up".to_owned()
                }
                Output::Event(event) => show_event(&event),
            };
            self.log.push(line);
        }
    }

    fn answer(&mut self, answer: Answer) {
        let ticket = self.asked.take().expect("something was asked");
        self.give(Input::Answer { ticket, answer: Ok(answer) });
    }

    fn refuse(&mut self, code: E) {
        let ticket = self.asked.take().expect("something was asked");
        self.give(Input::Answer { ticket, answer: Err(Failure::Refused { code, message: None }) });
    }

    fn break_connection(&mut self) {
        let ticket = self.asked.take().expect("something was asked");
        let failure = Failure::Connection { refused: false, reason: "broken".to_owned() };
        self.give(Input::Answer { ticket, answer: Err(failure) });
    }

    fn answer_look_up(&mut self, answer: Result<Address, Failure>) {
        let ticket = self.looked_up.take().expect("a coordinator is looked for");
        self.give(Input::Answer { ticket, answer: answer.map(Answer::Coordinator) });
    }

    /// Lets time go by, from deadline to deadline.
    fn pass(&mut self, time: Millis) {
        let end = self.now + time;
        while let Some(deadline) = self.core.next_deadline().filter(|deadline| *deadline <= end) {
            self.now = self.now.max(deadline);
            self.give(Input::Tick);
            let next = self.core.next_deadline();
            assert!(next.is_none_or(|next| next > self.now), "a deadline that stays: {next:?} at {}", self.now);
        }
        self.now = end;
    }

    /// Lets time go by with a broker that answers every heartbeat, and a herder that shows signs of life.
    fn pass_alive(&mut self, time: Millis) {
        for _ in 0..time / 100 {
            self.pass(100);
            self.give(Input::Poll);
            if self.asked.is_some() {
                self.answer(Answer::Alive);
            }
        }
    }

    #[track_caller]
    fn check(&mut self, expected: &[&str]) {
        assert_eq!(std::mem::take(&mut self.log), expected);
    }
}

fn show_request(request: &Request) -> String {
    match request {
        Request::Join { member, protocols } => {
            let names: Vec<_> = protocols.iter().map(|protocol| protocol.name.as_str()).collect();
            format!("join as `{member}` with {}", names.join(","))
        }
        Request::Sync { generation, member, protocol, assignments } => {
            let all: Vec<_> = assignments.iter().map(|(id, bytes)| format!("{id}={bytes:?}")).collect();
            format!("sync {generation} as `{member}` in {protocol} [{}]", all.join(" "))
        }
        Request::Heartbeat { generation, member } => format!("heartbeat {generation} as `{member}`"),
        Request::Leave { member, reason } => format!("leave as `{member}`: {reason}"),
    }
}

fn show_event(event: &GroupEvent) -> String {
    match event {
        GroupEvent::RebalanceNeeded => "REBALANCE NEEDED".to_owned(),
        GroupEvent::Elected { generation, protocol, member, members } => {
            format!("ELECTED {generation} {protocol} {member} of {}", members.len())
        }
        GroupEvent::Synced { generation, protocol, member, leader, assignment } => {
            format!("SYNCED {generation} {protocol} {member} led by {leader}: {assignment:?}")
        }
        GroupEvent::Lost { reason } => format!("LOST {reason}"),
        GroupEvent::CoordinatorLost { reason } => format!("COORDINATOR LOST {reason}"),
        GroupEvent::Left { reason } => format!("LEFT {reason}"),
        GroupEvent::Fatal { reason } => format!("FATAL {reason}"),
    }
}

fn protocol(name: &str) -> Protocol {
    Protocol { name: name.to_owned(), metadata: Bytes::from_static(b"metadata") }
}

fn address() -> Address {
    Address { host: "broker".to_owned(), port: 9092 }
}

fn joined(leader: &str) -> Answer {
    Answer::Joined(answer_to_join(leader))
}

fn answer_to_join(leader: &str) -> Joined {
    Joined {
        generation: 7,
        protocol_type: Some("connect".to_owned()),
        protocol: Some("compatible".to_owned()),
        leader: leader.to_owned(),
        member: "m".to_owned(),
        members: vec![("m".to_owned(), Bytes::from_static(b"metadata"))],
        skip_assignment: false,
    }
}

fn synced() -> Answer {
    Answer::Synced { protocol: Some("compatible".to_owned()), assignment: Bytes::from_static(b"work") }
}
