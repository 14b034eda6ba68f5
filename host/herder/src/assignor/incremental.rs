//! The assignor of protocols `compatible` and `sessioned` (KIP-415): what runs stays where it is, and what
//! a lost member ran waits for it to come back.
//!
//! A round only takes work away or only hands it out: what a member has too much is revoked first and is
//! given to others in the next round, when it has stopped.

use std::collections::BTreeSet;

use bulkhead_model::Instance;
use indexmap::{IndexMap, IndexSet};

use super::Configured;
use super::balance::{self, Excess, Load};
use super::keys::{Key, Keys, Kind, contains, difference, set};
use crate::api::Millis;
use crate::protocol::Work;

/// Milliseconds to the power of the number of rounds in a row that revoked to balance.
const REVOCATION_BACKOFF: u64 = 40;

/// The memory of a leader. A new leader begins with none.
#[derive(Clone, Debug, Default)]
pub struct Assignor {
    previous_generation: Option<i32>,
    previous_members: BTreeSet<String>,
    /// What is given out, as far as anyone knows.
    previous: Vec<Instance>,
    /// What the round before took away; it may run still.
    revoked: Vec<Instance>,
    /// When the wait for lost work ends, or that for the next revocation.
    scheduled: Option<Millis>,
    delay: u64,
    /// Members that came with nothing while lost work was waiting.
    candidates: IndexSet<String>,
    revoked_to_balance: bool,
    successive_revocations: u32,
}

/// What there is to decide about.
#[derive(Clone, Debug)]
pub struct Round<'a> {
    pub configured: &'a Configured,
    /// What each member says it holds, by member id. The order says who keeps one more when the work can't
    /// be shared out evenly.
    pub members: &'a IndexMap<String, Work>,
    /// The last generation that this worker saw complete.
    pub last_completed_generation: i32,
    pub generation: i32,
    pub now: Millis,
    /// `scheduled.rebalance.max.delay.ms`.
    pub max_delay_ms: u32,
}

/// What is decided.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    pub members: IndexMap<String, Share>,
    /// After so many milliseconds all members are to join again; 0 for never.
    pub delay_ms: u32,
}

/// What one member is to start and to stop.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Share {
    pub assigned: Work,
    pub revoked: Work,
}

/// A round half-way; everything about members is by their place in the round.
#[derive(Debug)]
struct Plan<'a> {
    round: &'a Round<'a>,
    keys: Keys<'a>,
    configured: Vec<Key>,
    members: Vec<Member>,
    /// What somebody ran and nobody runs any more.
    lost: Vec<Key>,
    /// To be given to whoever has least.
    unowned: Vec<Key>,
}

#[derive(Debug)]
struct Member {
    /// Sorted.
    held: Vec<Key>,
    revoked: Vec<Key>,
}

impl Assignor {
    pub fn assign(&mut self, round: &Round<'_>) -> Outcome {
        let revoked = std::mem::take(&mut self.revoked);
        let mut previous = std::mem::take(&mut self.previous);
        if self.previous_generation != Some(round.last_completed_generation) {
            previous.clear();
        }
        let keys = Keys::new(round.configured, round.members.values(), previous.iter().chain(&revoked));
        let (mut plan, mut loads) = Plan::new(round, keys, &previous, &revoked);
        self.wait_for_lost(&mut plan, &mut loads);
        self.balance(&mut plan, &mut loads);
        balance::give(&mut loads, &plan.by_id(), &set(std::mem::take(&mut plan.unowned)));
        self.remember(&plan, &loads);
        plan.outcome(&loads, self.delay)
    }

    /// Decides whether what is lost is given away now, and to whom.
    fn wait_for_lost(&mut self, plan: &mut Plan<'_>, loads: &mut [Load]) {
        let Round { members, now, max_delay_ms, .. } = *plan.round;
        if plan.lost.is_empty() && !self.revoked_to_balance {
            return self.end_wait();
        }
        let nobody_left = self.previous_members.iter().all(|member| members.contains_key(member));
        if (self.scheduled.is_none() && nobody_left) || max_delay_ms == 0 {
            return plan.unowned.extend(&plan.lost);
        }
        if self.scheduled.is_some_and(|due| due <= now) {
            self.give_lost(plan, loads);
            self.end_wait();
            self.revoked_to_balance = false;
            return;
        }
        let idle = members.keys().zip(loads).filter(|(_, load)| load.is_empty());
        self.candidates.extend(idle.map(|(member, _)| member.clone()));
        let max_delay = u64::from(max_delay_ms);
        self.delay = self.scheduled.map_or(max_delay, |due| (due.0 - now.0).min(max_delay));
        self.scheduled = Some(now.plus(self.delay));
    }

    fn end_wait(&mut self) {
        self.candidates.clear();
        self.scheduled = None;
        self.delay = 0;
    }

    /// Lost work goes to those that came with nothing, one of which may be who lost it.
    fn give_lost(&self, plan: &mut Plan<'_>, loads: &mut [Load]) {
        let places = self.candidates.iter().filter_map(|candidate| plan.round.members.get_index_of(candidate));
        let candidates: Vec<usize> = places.collect();
        if candidates.is_empty() {
            return plan.unowned.extend(&plan.lost);
        }
        for kind in Kind::BOTH {
            let lost = plan.lost.iter().filter(|key| key.kind() == kind);
            lost.zip(candidates.iter().cycle()).for_each(|(key, member)| loads[*member].push(*key));
        }
    }

    /// Takes from members what they have too much, unless that was done in the round before.
    fn balance(&mut self, plan: &mut Plan<'_>, loads: &mut [Load]) {
        if self.delay > 0 {
            self.revoked_to_balance = false;
            return;
        }
        let excess = balance::excess(loads, &plan.configured);
        if excess.iter().all(Excess::is_none) {
            if std::mem::take(&mut self.revoked_to_balance) {
                self.successive_revocations = 0;
            }
            return;
        }
        if self.revoked_to_balance && self.back_off(plan.round) {
            return;
        }
        self.revoked_to_balance = true;
        for ((member, load), excess) in plan.members.iter_mut().zip(loads).zip(&excess) {
            member.revoked.extend(load.take(excess));
        }
    }

    /// Whether the next revocation has to wait.
    fn back_off(&mut self, round: &Round<'_>) -> bool {
        self.successive_revocations = self.successive_revocations.saturating_add(1);
        let backoff = REVOCATION_BACKOFF.saturating_pow(self.successive_revocations);
        self.delay = backoff.min(u64::from(round.max_delay_ms));
        if self.delay > 0 {
            self.scheduled = Some(round.now.plus(self.delay));
        }
        self.delay > 0
    }

    fn remember(&mut self, plan: &Plan<'_>, loads: &[Load]) {
        let revoked = set(plan.members.iter().flat_map(|member| &member.revoked).copied().collect());
        let given = set(loads.iter().flat_map(Load::keys).collect());
        let mut previous = difference(&given, &revoked);
        previous.extend(&plan.lost);
        let instances = |keys: Vec<Key>| keys.into_iter().map(|key| plan.keys.instance(key)).collect();
        self.previous = instances(set(previous));
        self.revoked = instances(revoked);
        self.previous_generation = Some(plan.round.generation);
        self.previous_members = plan.round.members.keys().cloned().collect();
    }
}

impl<'a> Plan<'a> {
    /// Compares what is configured, held and remembered. Whatever is not configured any more, or is held
    /// by more than one member, is taken away.
    fn new(round: &'a Round<'a>, keys: Keys<'a>, previous: &[Instance], revoked: &[Instance]) -> (Self, Vec<Load>) {
        let configured = keys.configured();
        let held: Vec<Vec<Key>> = round.members.values().map(|work| keys.of(work)).collect();
        let (active, mut unwanted) = counted(held.iter().flatten().copied().collect());
        let mut previous = set(previous.iter().map(|instance| keys.key(instance)).collect());
        if revoked.iter().any(|instance| contains(&active, keys.key(instance))) {
            previous.clone_from(&active);
        }
        unwanted.extend(active.iter().filter(|key| !keys.is_configured(**key)));
        let unwanted = set(unwanted);
        let mut lost = difference(&previous, &active);
        lost.retain(|key| keys.is_configured(*key));
        let unowned = difference(&difference(&configured, &previous), &active);

        let split = |held: Vec<Key>| {
            let (revoked, next): (Vec<_>, Vec<_>) = held.iter().partition(|key| contains(&unwanted, **key));
            (Member { held: set(held), revoked }, Load::new(next))
        };
        let (members, loads) = held.into_iter().map(split).unzip();
        (Self { round, keys, configured, members, lost, unowned }, loads)
    }

    /// Places of the members in the order of their ids.
    fn by_id(&self) -> Vec<usize> {
        let mut places: Vec<usize> = (0..self.members.len()).collect();
        places.sort_by_key(|place| self.round.members.get_index(*place).map(|(id, _)| id));
        places
    }

    fn outcome(&self, loads: &[Load], delay: u64) -> Outcome {
        let share = |(member, load): (&Member, &Load)| Share {
            assigned: self.work(load.keys().filter(|key| !contains(&member.held, *key))),
            revoked: self.work(member.revoked.iter().copied()),
        };
        let shares = self.members.iter().zip(loads).map(share);
        Outcome {
            members: self.round.members.keys().cloned().zip(shares).collect(),
            delay_ms: u32::try_from(delay).unwrap_or(u32::MAX),
        }
    }

    fn work(&self, keys: impl Iterator<Item = Key>) -> Work {
        keys.map(|key| self.keys.instance(key)).collect()
    }
}

/// Each once, and those that were there more than once.
fn counted(mut keys: Vec<Key>) -> (Vec<Key>, Vec<Key>) {
    keys.sort_unstable();
    let repeated = keys.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
    keys.dedup();
    (keys, repeated)
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
