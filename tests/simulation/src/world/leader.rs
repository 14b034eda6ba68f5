//! The config log as its leader writes to it, where workers prepare for exactly-once sources (KIP-618): whoever claimed
//! it last can write, all of a transaction or nothing; the others are told that they were fenced.

use bulkhead_herder::ExactlyOnce;
use bulkhead_herder::api::{ConfigRecord, Event, NotWritten, Token};

use super::logs::LATE;
use super::{AppendFault, Happening, ProcessId, World};

/// Records on their way into the log, which come to be there together.
#[derive(Debug)]
pub(crate) struct Transaction {
    from: ProcessId,
    claim: u64,
    /// None: the answer went out already.
    token: Option<Token>,
    records: Vec<ConfigRecord>,
}

impl World {
    pub(super) fn claim_log(&mut self, id: ProcessId, token: Token) {
        if self.conditions.exactly_once == ExactlyOnce::Disabled {
            self.problem(format!("w{}: claims the config log", id.worker));
        }
        let pace = self.conditions.pace;
        let Some(process) = self.process(id) else { return };
        process.writing.claim = None;
        let takes = process.dice.between(pace.network);
        self.after(takes, Happening::Claim(id, token));
    }

    /// A claim arrives, be its process alive, frozen or gone. Some answers get lost.
    pub(super) fn claim(&mut self, id: ProcessId, token: Token) {
        self.claims += 1;
        let (claim, pace) = (self.claims, self.conditions.pace);
        self.write_down(Some(id.worker), || "claim".to_owned());
        let unreliable = pace.network.0 != pace.network.1;
        let Some(process) = self.process(id) else { return };
        let takes = process.dice.between(pace.network);
        let outcome = if unreliable && process.dice.one_in(10) {
            Err("no coordinator".to_owned())
        } else {
            process.writing.claim = Some(claim);
            Ok(())
        };
        self.after(takes, Happening::Event(id, Event::LogClaimed { token, outcome }));
    }

    pub(super) fn forget_claim(&mut self, id: ProcessId) {
        if let Some(process) = self.process(id) {
            process.writing.claim = None;
        }
    }

    pub(super) fn append_as_leader(&mut self, id: ProcessId, token: Token, records: Vec<ConfigRecord>) {
        let (now, pace) = (self.now, self.conditions.pace);
        let Some(process) = self.process(id) else { return };
        let Some(claim) = process.writing.claim else {
            return self.answer_leader(id, token, Err(NotWritten::Fenced("it is not claimed".to_owned())));
        };
        let begin = process.writing.leader_at.max(now) + process.dice.between(pace.write);
        process.writing.leader_at = begin;
        let fault = process.writing.faults.pop_front();
        let at = if fault == Some(AppendFault::Late) { begin + process.dice.between(LATE) } else { begin };
        let answer = fault.is_none().then_some(token);
        if fault.is_some() {
            process.writing.claim = None;
        }
        match fault {
            // Without its end a transaction is nothing.
            Some(AppendFault::Lost | AppendFault::Half) => {}
            Some(AppendFault::Unacknowledged | AppendFault::Late) | None => {
                self.agenda.put(at, Happening::Commit(Transaction { from: id, claim, token: answer, records }));
            }
        }
        if fault.is_some() {
            self.answer_leader(id, token, Err(NotWritten::Failed("no broker".to_owned())));
        }
    }

    pub(super) fn commit(&mut self, transaction: Transaction) {
        let Transaction { from, claim, token, records } = transaction;
        // What a process hadn't sent when it ended is lost.
        if self.process(from).is_none() {
            return;
        }
        let counts = claim == self.claims;
        if counts {
            records.into_iter().for_each(|record| self.write_config(Some(record)));
            // The mark of its end.
            self.config.skip(1);
        } else {
            self.write_down(Some(from.worker), || "fenced".to_owned());
            // Its client is closed.
            self.process(from).map(|process| process.writing.claim.take_if(|present| *present == claim));
        }
        if let Some(token) = token {
            let outcome = if counts { Ok(()) } else { Err(NotWritten::Fenced("a newer claim".to_owned())) };
            self.answer_leader(from, token, outcome);
        }
    }

    fn answer_leader(&mut self, id: ProcessId, token: Token, outcome: Result<(), NotWritten>) {
        let pace = self.conditions.pace;
        let Some(process) = self.process(id) else { return };
        let takes = process.dice.between(pace.network);
        self.after(takes, Happening::Event(id, Event::AppendedAsLeader { token, outcome }));
    }

    /// What only a leader may write is not written without a claim.
    pub(super) fn check_privilege(&mut self, id: ProcessId, records: &[ConfigRecord]) {
        let is_anybodys = |record: &ConfigRecord| {
            matches!(record, ConfigRecord::TargetState { .. } | ConfigRecord::LoggerLevel { .. })
        };
        if self.conditions.exactly_once == ExactlyOnce::Preparing && !records.iter().all(is_anybodys) {
            self.problem(format!("w{}: writes {records:?} without a claim", id.worker));
        }
    }
}
