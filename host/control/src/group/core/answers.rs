//! What the broker's answers mean, error by error, as Java's `AbstractCoordinator` takes them.

use kafka_protocol::ResponseError;

use super::{Answer, Coordinator, Core, Failure, Generation, Joined, Kind, Millis, Out, Phase, Ticket};
use crate::connection::Address;
use crate::group::{GroupEvent, PROTOCOL_TYPE};

/// What brokers mean by an unknown error here: they keep the state of a group in one record.
const TOO_LARGE: &str = "the assignments of all members together may be larger than a record of the topic \
    __consumer_offsets may be (max.message.bytes, by default 1 MiB)";

impl Core {
    pub(super) fn answered(&mut self, now: Millis, ticket: Ticket, answer: Result<Answer, Failure>) {
        if self.look_up.out == Some(ticket) {
            self.look_up.out = None;
            return self.looked_up(now, answer);
        }
        let Some(Out { kind, .. }) = self.out.take_if(|out| out.ticket == ticket) else { return };
        match answer {
            Ok(answer) => self.granted(now, answer),
            Err(Failure::Connection { reason, .. }) => {
                self.lose_coordinator(now, reason);
                self.backoff.failed(now);
            }
            Err(Failure::Refused { code, message }) => self.refused(now, kind, code, message),
        }
    }

    fn looked_up(&mut self, now: Millis, answer: Result<Answer, Failure>) {
        match answer {
            Ok(Answer::Coordinator(address)) => self.found(now, address),
            Ok(_) => self.fail("the broker answered something that wasn't asked".to_owned()),
            Err(Failure::Connection { refused: true, reason }) if !self.was_connected => self.fail(reason),
            Err(Failure::Connection { reason, .. }) => self.not_found(now, reason),
            Err(Failure::Refused { code, message }) => {
                self.was_connected = true;
                let reason = explain("looking for the coordinator", code, message);
                if code.is_retriable() { self.not_found(now, reason) } else { self.fail(reason) }
            }
        }
    }

    fn found(&mut self, now: Millis, address: Address) {
        self.was_connected = true;
        self.look_up.backoff.reset();
        // The clocks of the session begin anew, else it would be over at once.
        self.session_ends = now + self.timing.session_timeout;
        self.next_heartbeat = now;
        tracing::info!(coordinator = %address, "Found the group's coordinator.");
        self.coordinator = Coordinator::Known(address);
    }

    fn not_found(&mut self, now: Millis, because: String) {
        self.look_up.backoff.failed(now);
        if let Coordinator::Unknown { reason, .. } = &mut self.coordinator {
            *reason = because;
        }
    }

    fn granted(&mut self, now: Millis, answer: Answer) {
        match answer {
            Answer::MemberId(member) => self.member = member,
            Answer::Joined(joined) => self.joined(now, joined),
            Answer::Synced { protocol, assignment } => {
                let Phase::Syncing { generation, .. } = &self.phase else { return };
                let generation = generation.clone();
                if protocol.is_some_and(|protocol| protocol != generation.protocol) {
                    return self.fail("the group changed its protocol between join and sync".to_owned());
                }
                self.alive(now);
                self.next_heartbeat = now + self.timing.heartbeat_interval;
                self.poll_ends = now + self.timing.rebalance_timeout;
                let Generation { number, protocol, leader } = generation.clone();
                self.phase = Phase::Stable { generation, rebalance_told: false };
                let member = self.member.clone();
                self.tell(GroupEvent::Synced { generation: number, protocol, member, leader, assignment });
            }
            Answer::Alive => self.alive(now),
            Answer::Left => self.finish_leaving(),
            Answer::Coordinator(_) => self.fail("the broker answered something that wasn't asked".to_owned()),
        }
    }

    fn joined(&mut self, now: Millis, joined: Joined) {
        if joined.skip_assignment {
            return self.fail("the broker takes this worker for a static member, which it isn't".to_owned());
        }
        if joined.protocol_type.as_ref().is_some_and(|name| name != PROTOCOL_TYPE) {
            return self.fail("the group is not one of Connect workers".to_owned());
        }
        let Some(protocol) = joined.protocol else {
            return self.fail("the broker chose no protocol".to_owned());
        };
        self.alive(now);
        self.next_heartbeat = now + self.timing.heartbeat_interval;
        self.poll_ends = now + self.timing.rebalance_timeout;
        self.member = joined.member;
        let generation = Generation { number: joined.generation, protocol: protocol.clone(), leader: joined.leader };
        if generation.leader != self.member {
            self.phase = Phase::Syncing { generation, assignments: Vec::new() };
            return;
        }
        self.phase = Phase::Elected(generation);
        let member = self.member.clone();
        let (generation, members) = (joined.generation, joined.members);
        self.tell(GroupEvent::Elected { generation, protocol, member, members });
    }

    fn alive(&mut self, now: Millis) {
        self.backoff.reset();
        self.session_ends = now + self.timing.session_timeout;
    }

    fn refused(&mut self, now: Millis, kind: Kind, code: ResponseError, message: Option<String>) {
        use ResponseError as E;
        match (kind, code) {
            // Whatever the broker thinks of it, we are gone.
            (Kind::Leave, _) => self.finish_leaving(),
            (_, E::CoordinatorNotAvailable | E::NotCoordinator) => {
                self.lose_coordinator(now, explain("asking the coordinator", code, message));
                // Whoever pointed us here may need a moment to know better.
                self.look_up.backoff.failed(now);
                self.backoff.failed(now);
            }
            (Kind::Heartbeat, E::RebalanceInProgress) => self.rebalance_began(now),
            (Kind::Join, E::RebalanceInProgress) => self.backoff.failed(now),
            (_, E::UnknownMemberId | E::IllegalGeneration) => self.disowned(now, code),
            (Kind::Sync, code) if code == E::RebalanceInProgress || code.is_retriable() => {
                self.phase = Phase::Joining;
                self.backoff.failed(now);
            }
            (_, code) if code.is_retriable() => self.backoff.failed(now),
            (Kind::Join, _) => self.fail(explain("joining the group", code, message)),
            (Kind::Sync, E::UnknownServerError) => {
                let reason = explain("taking part in the assignment", code, message);
                self.fail(format!("{reason}: {TOO_LARGE}"));
            }
            (Kind::Sync, _) => self.fail(explain("taking part in the assignment", code, message)),
            (Kind::Heartbeat, _) => self.fail(explain("staying in the group", code, message)),
        }
    }

    /// While the leader assigns, the answer to its sync will tell the same.
    fn rebalance_began(&mut self, now: Millis) {
        self.alive(now);
        if let Phase::Stable { rebalance_told, .. } = &mut self.phase
            && !std::mem::replace(rebalance_told, true)
        {
            self.tell(GroupEvent::RebalanceNeeded);
        }
    }

    /// A join goes on as a newcomer: what has to be stopped for it is stopped. Otherwise the herder has to know.
    fn disowned(&mut self, now: Millis, code: ResponseError) {
        self.member.clear();
        match self.phase {
            Phase::Stable { .. } => {
                self.phase = Phase::Outside;
                self.tell(GroupEvent::Lost { reason: explain("staying in the group", code, None) });
            }
            Phase::Joining | Phase::Elected(_) | Phase::Syncing { .. } => {
                self.phase = Phase::Joining;
                self.backoff.failed(now);
            }
            Phase::Outside | Phase::Leaving { .. } | Phase::Failed => {}
        }
    }
}

fn explain(what: &str, code: ResponseError, message: Option<String>) -> String {
    crate::Error::Refused { what: what.to_owned(), code, message }.to_string()
}
