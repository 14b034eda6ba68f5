//! What goes into the core and what comes out.

use bytes::Bytes;
use kafka_protocol::ResponseError;

use crate::connection::Address;
use crate::group::{GroupEvent, Protocol};

/// Since some moment of the driver's choice.
pub(in crate::group) type Millis = u64;

/// Names one request, so that late answers can be told from awaited ones.
pub(in crate::group) type Ticket = u64;

#[derive(Clone, Debug)]
pub(in crate::group) struct Timing {
    pub(in crate::group) session_timeout: Millis,
    pub(in crate::group) heartbeat_interval: Millis,
    pub(in crate::group) rebalance_timeout: Millis,
    pub(in crate::group) retry_backoff: Millis,
    pub(in crate::group) retry_backoff_max: Millis,
}

#[derive(Debug, PartialEq)]
pub(in crate::group) enum Input {
    Join(Vec<Protocol>),
    Assign {
        generation: i32,
        assignments: Vec<(String, Bytes)>,
    },
    Leave {
        reason: String,
    },
    Poll,
    Answer {
        ticket: Ticket,
        answer: Result<Answer, Failure>,
    },
    /// The deadline has come.
    Tick,
}

#[derive(Debug, PartialEq)]
pub(in crate::group) enum Output {
    /// Ask any broker for the coordinator, and open a connection to it: one that can't be reached is none.
    LookUp {
        ticket: Ticket,
    },
    /// To the coordinator, after what was sent before has been answered or hung up.
    Send {
        ticket: Ticket,
        to: Address,
        request: Request,
    },
    /// Drop the coordinator's connection, with the request that is out on it.
    HangUp,
    Event(GroupEvent),
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::group) enum Request {
    Join { member: String, protocols: Vec<Protocol> },
    Sync { generation: i32, member: String, protocol: String, assignments: Vec<(String, Bytes)> },
    Heartbeat { generation: i32, member: String },
    Leave { member: String, reason: String },
}

#[derive(Debug, PartialEq)]
pub(in crate::group) enum Answer {
    Coordinator(Address),
    /// The broker gave us an id, with which we have to join again (KIP-394).
    MemberId(String),
    Joined(Joined),
    Synced {
        protocol: Option<String>,
        assignment: Bytes,
    },
    Alive,
    Left,
}

#[derive(Debug, PartialEq)]
pub(in crate::group) struct Joined {
    pub(in crate::group) generation: i32,
    pub(in crate::group) protocol_type: Option<String>,
    pub(in crate::group) protocol: Option<String>,
    pub(in crate::group) leader: String,
    pub(in crate::group) member: String,
    pub(in crate::group) members: Vec<(String, Bytes)>,
    pub(in crate::group) skip_assignment: bool,
}

#[derive(Debug, PartialEq)]
pub(in crate::group) enum Failure {
    Refused {
        code: ResponseError,
        message: Option<String>,
    },
    /// No answer. `refused`: someone said no before Kafka's messages began.
    Connection {
        refused: bool,
        reason: String,
    },
}
