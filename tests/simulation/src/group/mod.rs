//! The group of workers: its coordinator, and the client that each worker has in it.
//!
//! Both are as pure as the herder: what happens goes in, what is to be done comes out.

mod client;
mod coordinator;

pub(crate) use client::{Client, Output as ClientOutput};
pub(crate) use coordinator::{Coordinator, Output as CoordinatorOutput, Timer};

use crate::world::ProcessId;

/// What a client offers: protocols and its metadata for each, in order of preference.
pub(crate) type Protocols = Vec<(&'static str, Vec<u8>)>;

/// Ties an answer to the request.
pub(crate) type Ticket = u64;

/// From a client to the coordinator.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) from: ProcessId,
    pub(crate) ticket: Ticket,
    pub(crate) member: Option<String>,
    pub(crate) what: Request,
}

#[derive(Clone, Debug)]
pub(crate) enum Request {
    Join(Protocols),
    Sync { generation: i32, assignments: Vec<(String, Vec<u8>)> },
    Leave,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Joined(Joined),
    Synced(Vec<u8>),
    Left,
    UnknownMember,
    IllegalGeneration,
    RebalanceInProgress,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) generation: i32,
    pub(crate) protocol: String,
    pub(crate) member: String,
    pub(crate) leader: String,
    /// For the leader only.
    pub(crate) members: Vec<(String, Vec<u8>)>,
}

impl Ask {
    pub(crate) fn in_short(&self) -> String {
        let member = self.member.as_deref().unwrap_or("somebody new");
        match &self.what {
            Request::Join(_) => format!("{member} joins"),
            Request::Sync { generation, .. } => format!("{member} syncs {generation}"),
            Request::Leave => format!("{member} leaves"),
        }
    }
}

impl Answer {
    pub(crate) fn in_short(&self) -> String {
        match self {
            Self::Joined(joined) => format!("joined {} as {}", joined.generation, joined.member),
            Self::Synced(_) => "synced".to_owned(),
            Self::Left | Self::UnknownMember | Self::IllegalGeneration | Self::RebalanceInProgress => {
                format!("{self:?}")
            }
        }
    }
}
