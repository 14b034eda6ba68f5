//! A worker's process: the herder, the worker that obeys it, its client in the group, its clock, and how
//! far it has read.

use std::collections::{BTreeMap, VecDeque};

use bulkhead_herder::Herder;
use bulkhead_herder::api::{Millis, StatusRecord, Token};
use bulkhead_model::work::Run;
use bulkhead_model::{ConnectorName, Instance};

use super::Happening;
use crate::conditions::Conditions;
use crate::dice::Dice;
use crate::group::Client;
use crate::logs::STATUS_PARTITIONS;
use crate::worker::FakeWorker;

/// The worker's number, and how often it was started before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    pub worker: usize,
    pub life: u64,
}

/// See the module's documentation.
pub(crate) struct Process {
    pub(crate) id: ProcessId,
    pub(crate) herder: Herder,
    pub(crate) worker: FakeWorker,
    pub(crate) client: Client,
    pub(crate) dice: Dice,
    /// What its clock shows when the simulation begins.
    pub(crate) clock: u64,
    pub(crate) standstill: Option<Standstill>,
    /// Whatever came while it stood still.
    pub(crate) inbox: VecDeque<Happening>,
    pub(crate) reading: Reading,
    pub(crate) writing: Writing,
    pub(crate) tick: Option<u64>,
    pub(crate) link: Link,
    pub(crate) ending: bool,
    pub(crate) restarts: Restarts,
    /// So many of the next answers of the leader get lost.
    pub(crate) lost_answers: u32,
}

/// What doesn't go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standstill {
    /// The whole process.
    Frozen,
    /// Only the herder: heartbeats are sent, and what was commanded is carried out.
    HerderBlocked { since: u64 },
}

/// How far it is with the logs.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(crate) begun: bool,
    pub(crate) caught_up: bool,
    /// The offset to read next.
    pub(crate) position: i64,
    /// Reads to the end that aren't done.
    pub(crate) markers: Vec<(i64, Token)>,
    /// When the last record that is on its way will be here.
    pub(crate) config_at: u64,
    pub(crate) status_at: [u64; STATUS_PARTITIONS],
    /// More time that each record takes.
    pub(crate) lag: u64,
    pub(crate) failures: u32,
}

/// Its producers.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    pub(crate) config_at: u64,
    pub(crate) leader_at: u64,
    /// Its claim on the config log, whether it still counts or not.
    pub(crate) claim: Option<u64>,
    pub(crate) status_at: u64,
    pub(crate) faults: VecDeque<AppendFault>,
    pub(crate) status_faults: u32,
}

/// How an append ends badly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppendFault {
    /// Nothing was written.
    Lost,
    /// Only the first record was written.
    Half,
    /// All was written: only the acknowledgement got lost.
    Unacknowledged,
    /// All is written, long after it was given up.
    Late,
}

/// Its way to the coordinator.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Link {
    pub(crate) cut: bool,
    /// When the last request arrives.
    pub(crate) sent: u64,
    /// It was mended while the process stood still.
    pub(crate) mended_unseen: bool,
    /// Changes whenever the way is cut or mended.
    pub(crate) changes: u64,
}

/// What restarts it was asked for, and what it made of them.
#[derive(Debug, Default)]
pub(crate) struct Restarts {
    pub(crate) asked: BTreeMap<ConnectorName, u32>,
    pub(crate) begun: BTreeMap<Instance, u32>,
    /// Runs that must not outlive a restart request.
    pub(crate) doomed: Vec<(Instance, Run)>,
    /// RESTARTING that could not be written, and will be written again.
    pub(crate) unwritten: Vec<StatusRecord>,
}

/// The clocks' beginning.
const EPOCH: u64 = 1_700_000_000_000;

impl Process {
    pub(crate) fn new(id: ProcessId, conditions: &Conditions, clock_error: i64) -> Self {
        let owner = 1_000 + (id.worker as u64) * 100 + id.life;
        Self {
            id,
            herder: Herder::new(conditions.settings(id.worker)),
            worker: FakeWorker::default(),
            client: Client::new(id),
            dice: Dice::of(conditions.seed, owner),
            clock: EPOCH.saturating_add_signed(clock_error),
            standstill: None,
            inbox: VecDeque::new(),
            reading: Reading::default(),
            writing: Writing::default(),
            tick: None,
            link: Link::default(),
            ending: false,
            restarts: Restarts::default(),
            lost_answers: 0,
        }
    }

    pub(crate) fn millis(&self, now: u64) -> Millis {
        Millis(self.clock + now)
    }

    pub(crate) fn is_frozen(&self) -> bool {
        self.standstill == Some(Standstill::Frozen)
    }
}
