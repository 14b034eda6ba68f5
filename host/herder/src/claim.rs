//! The leader's claim on the config log (KIP-618). With `exactly.once.source.support`, what only a leader may write is
//! written under a claim. Whoever claims the log last has it; the writes of all others fail.
//!
//! **Invariants:** nothing that is a leader's privilege is written without a claim. Whoever was fenced claims again only
//! in a later generation that it leads: by itself it can't know whether it was replaced.

use std::collections::{BTreeSet, VecDeque};

use crate::Herder;
use crate::api::{ConfigRecord, Effect, Millis, NotWritten, Token};
use crate::questions::Question;
use crate::settings::ExactlyOnce;

/// How long after a failure the log is claimed again.
const RETRY_MILLIS: u64 = 1_000;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Claim {
    standing: Standing,
    /// Writes that wait for the claim.
    waiting: VecDeque<(Token, Vec<ConfigRecord>)>,
    /// Writes under the present claim that weren't answered.
    under_way: BTreeSet<Token>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Standing {
    #[default]
    None,
    Asked(Token),
    Held,
    /// A write or the claim itself failed.
    Lost {
        retry: Millis,
    },
    /// Somebody else has claimed the log since, when so many rebalances had been seen.
    Fenced {
        rebalances: u64,
    },
}

impl Herder {
    /// Whether leaders claim the config log.
    pub(crate) fn claims(&self) -> bool {
        let membership = self.membership.as_ref();
        membership.is_some_and(|membership| match membership.settings.exactly_once {
            ExactlyOnce::Disabled => false,
            ExactlyOnce::Preparing => true,
        })
    }

    pub(crate) fn append(&mut self, token: Token, records: Vec<ConfigRecord>) {
        if self.claims() && is_privileged(&records) {
            self.claim.waiting.push_back((token, records));
        } else {
            self.effects.push(Effect::AppendConfig { token, records });
        }
    }

    /// Claims the log, or gives it up, and writes what waited for that: called after every step.
    pub(crate) fn go_on_claiming(&mut self) {
        if !self.claims() {
            return;
        }
        if !self.leads() {
            return self.forget_claim();
        }
        if self.claim_due().is_some_and(|due| due <= self.now) {
            let token = self.questions.ask(Question::Claim);
            self.claim.standing = Standing::Asked(token);
            self.effects.push(Effect::ClaimLog { token });
        }
        if self.claim.standing == Standing::Held {
            for (token, records) in std::mem::take(&mut self.claim.waiting) {
                self.claim.under_way.insert(token);
                self.effects.push(Effect::AppendAsLeader { token, records });
            }
        }
    }

    /// When the log is to be claimed; none if it is, or if it isn't up to this worker.
    pub(crate) fn claim_due(&self) -> Option<Millis> {
        let membership = self.membership.as_ref().filter(|membership| membership.leads && membership.knows_who_leads());
        let membership = membership.filter(|_| self.claims())?;
        match self.claim.standing {
            Standing::None => Some(Millis(0)),
            Standing::Lost { retry } => Some(retry),
            Standing::Fenced { rebalances } => (membership.rebalances > rebalances).then_some(Millis(0)),
            Standing::Asked(_) | Standing::Held => None,
        }
    }

    pub(crate) fn claimed(&mut self, token: Token, outcome: Result<(), String>) {
        if self.claim.standing != Standing::Asked(token) {
            return;
        }
        match outcome {
            Ok(()) => self.claim.standing = Standing::Held,
            Err(error) => {
                tracing::warn!(error, "The config log could not be claimed for this leader; trying again.");
                self.lose_claim();
                self.refuse_waiting(&NotWritten::Failed(format!("it could not be claimed for this leader: {error}")));
            }
        }
    }

    pub(crate) fn appended_as_leader(&mut self, token: Token, outcome: Result<(), NotWritten>) {
        let is_under_claim = self.claim.under_way.remove(&token);
        match &outcome {
            Err(NotWritten::Fenced(reason)) if is_under_claim => {
                tracing::warn!(reason, "Another worker has claimed the config log; asking the group who leads.");
                self.claim.under_way.clear();
                let rebalances = self.membership.as_ref().map_or(0, |membership| membership.rebalances);
                self.claim.standing = Standing::Fenced { rebalances };
                self.rejoin();
            }
            Err(NotWritten::Failed(_)) if is_under_claim => self.lose_claim(),
            Err(NotWritten::Fenced(_) | NotWritten::Failed(_)) | Ok(()) => {}
        }
        self.appended(token, outcome);
    }

    fn lose_claim(&mut self) {
        self.claim.under_way.clear();
        self.claim.standing = Standing::Lost { retry: self.now.plus(RETRY_MILLIS) };
    }

    fn forget_claim(&mut self) {
        self.claim.under_way.clear();
        match std::mem::take(&mut self.claim.standing) {
            Standing::None => {}
            Standing::Asked(_) | Standing::Held | Standing::Lost { .. } | Standing::Fenced { .. } => {
                self.effects.push(Effect::ForgetClaim);
            }
        }
        self.refuse_waiting(&NotWritten::Fenced("this worker doesn't lead any more".to_owned()));
    }

    fn refuse_waiting(&mut self, why: &NotWritten) {
        while let Some((token, _)) = self.claim.waiting.pop_front() {
            self.appended(token, Err(why.clone()));
        }
    }
}

/// Whether only a leader may write this: target states by themselves and levels of loggers are anybody's.
fn is_privileged(records: &[ConfigRecord]) -> bool {
    records.iter().any(|record| match record {
        ConfigRecord::Connector { .. }
        | ConfigRecord::Task { .. }
        | ConfigRecord::Commit { .. }
        | ConfigRecord::Restart(_)
        | ConfigRecord::TaskCount { .. }
        | ConfigRecord::SessionKey(_) => true,
        ConfigRecord::TargetState { .. } | ConfigRecord::LoggerLevel { .. } => false,
    })
}

#[cfg(test)]
mod tests;
