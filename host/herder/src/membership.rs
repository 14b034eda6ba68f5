//! Where this worker stands in its group.
//!
//! A plain record; `rebalance` changes it.

use crate::api::{Millis, Token};
use crate::protocol::{self, ConnectProtocol, Work};
use crate::settings::ClusterSettings;
use crate::view::GroupView;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Membership {
    pub(crate) settings: ClusterSettings,
    pub(crate) phase: Phase,
    pub(crate) protocol: Option<ConnectProtocol>,
    /// The last generation that this worker saw complete.
    pub(crate) generation: Option<i32>,
    /// What the worker tells the leader it holds: all it runs, and all it is about to run. None if it
    /// was never given anything, or gave everything up.
    pub(crate) held: Option<protocol::Assignment>,
    pub(crate) leads: bool,
    pub(crate) leader_url: Option<String>,
    /// When everybody is to join again, because work was lost that may come back.
    pub(crate) scheduled: Option<Millis>,
    /// This worker has to join again once the present round is done: what was taken away from it may be
    /// given to others then.
    pub(crate) round_follows: bool,
    /// This worker, as the leader, took something away from somebody: another round follows.
    pub(crate) expects_round: bool,
    /// The worker itself asked to leave, and hasn't been told that it did.
    pub(crate) asked_to_leave: bool,
    /// Tries in a row to read the config log as far as the assignment demands.
    pub(crate) failed_reads: u32,
    pub(crate) rebalances: u64,
}

/// How far the worker is with the present rebalance.
#[derive(Debug, PartialEq)]
pub(crate) enum Phase {
    /// The logs are being read for the first time.
    Starting,
    /// Everything stops, then the worker joins.
    Yielding,
    /// Waiting for the coordinator.
    Joining,
    /// This worker works out the assignment; first it reads the config log as far as the others have.
    Leading {
        election: Election,
        read: Read,
    },
    /// What was taken away is stopping. `again`: another rebalance has begun meanwhile.
    Revoking {
        ending: Work,
        again: bool,
    },
    /// The assignment rests on records that this worker hasn't read.
    CatchingUp {
        read: Read,
    },
    /// Everything assigned was told to start.
    Settled,
    /// Out of the group, or in a hopeless round, until then.
    Waiting {
        until: Millis,
    },
    /// Back from waiting: the config log is read before the worker joins.
    Returning {
        read: Read,
    },
    /// Everything stops for good.
    Leaving,
    Left,
}

/// A read of the config log to its end, and how long it may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Read {
    pub(crate) token: Token,
    pub(crate) until: Millis,
}

/// A generation that this worker leads.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Election {
    pub(crate) generation: i32,
    pub(crate) protocol: ConnectProtocol,
    /// This worker's member id.
    pub(crate) member: String,
    pub(crate) members: Vec<Candidate>,
}

/// A member that waits for its assignment.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Candidate {
    pub(crate) id: String,
    pub(crate) url: String,
    pub(crate) config_offset: i64,
    pub(crate) holds: Work,
}

impl Membership {
    pub(crate) fn new(settings: ClusterSettings) -> Self {
        Self {
            settings,
            phase: Phase::Starting,
            protocol: None,
            generation: None,
            held: None,
            leads: false,
            leader_url: None,
            scheduled: None,
            round_follows: false,
            expects_round: false,
            asked_to_leave: false,
            failed_reads: 0,
            rebalances: 0,
        }
    }

    /// No rebalance is under way or expected.
    pub(crate) fn is_settled(&self) -> bool {
        self.phase == Phase::Settled && !self.expects_round
    }

    /// The last complete generation, as statuses have it; 0 before the first.
    pub(crate) fn status_generation(&self) -> u64 {
        self.generation.and_then(|generation| u64::try_from(generation).ok()).unwrap_or(0)
    }

    /// Whether what is assigned here may be started: not while others may have been given it.
    pub(crate) fn may_start(&self) -> bool {
        self.phase == Phase::Settled
    }

    /// Whether the last round has told who leads, and no other is under way.
    pub(crate) fn knows_who_leads(&self) -> bool {
        match self.phase {
            Phase::Revoking { .. } | Phase::CatchingUp { .. } | Phase::Settled => true,
            // Otherwise it has left the group.
            Phase::Waiting { .. } => self.failed_reads == 0,
            Phase::Starting
            | Phase::Yielding
            | Phase::Joining
            | Phase::Leading { .. }
            | Phase::Returning { .. }
            | Phase::Leaving
            | Phase::Left => false,
        }
    }

    /// Whether internal requests are signed.
    pub(crate) fn signs(&self) -> bool {
        self.protocol == Some(ConnectProtocol::Sessioned)
    }

    pub(crate) fn is_eager(&self) -> bool {
        self.protocol == Some(ConnectProtocol::Eager)
    }

    pub(crate) fn next_deadline(&self) -> Option<Millis> {
        match &self.phase {
            Phase::Leading { read, .. } | Phase::CatchingUp { read } | Phase::Returning { read } => Some(read.until),
            Phase::Waiting { until } => Some(*until),
            Phase::Settled => self.scheduled,
            Phase::Starting
            | Phase::Yielding
            | Phase::Joining
            | Phase::Revoking { .. }
            | Phase::Leaving
            | Phase::Left => None,
        }
    }

    pub(crate) fn view(&self) -> GroupView {
        GroupView {
            generation: self.generation,
            protocol: self.protocol,
            leader: self.leader_url.clone(),
            leads: self.leads,
            rebalances: self.rebalances,
            settled: self.is_settled(),
        }
    }

    /// In words for people; none when there is nothing to wait for.
    pub(crate) fn stage(&self) -> Option<&'static str> {
        match self.phase {
            Phase::Starting => Some("reading the logs of the cluster"),
            Phase::Yielding => Some("stopping everything before a rebalance"),
            Phase::Joining => Some("waiting for the group of workers to form"),
            Phase::Leading { .. } => Some("reading the config log before sharing out the work"),
            Phase::Revoking { .. } => Some("stopping what goes to other workers"),
            Phase::CatchingUp { .. } | Phase::Returning { .. } => Some("reading the config log to its end"),
            Phase::Waiting { .. } => Some("waiting before it joins the group again"),
            Phase::Leaving | Phase::Left => Some("stopping everything because the worker shuts down"),
            Phase::Settled => None,
        }
    }
}
