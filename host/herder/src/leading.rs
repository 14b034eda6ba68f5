//! What the leader of the group does for all: it shares out the work, knows who owns what, cleans up
//! after what was deleted, and makes the key that signs internal requests.

use std::collections::BTreeSet;

use bulkhead_model::{Instance, State};
use indexmap::IndexMap;

use crate::Herder;
use crate::api::{ConfigRecord, Effect, Millis, NotWritten, Refusal, Secret, SessionKey, Status, StatusRecord, Token};
use crate::assignor::incremental::{Round, Share};
use crate::assignor::{Configured, eager};
use crate::membership::{Candidate, Election, Membership, Phase};
use crate::protocol::{Assignment, AssignmentError, ConnectProtocol, MAX_STRING, MemberMetadata, Work};
use crate::questions::Question;
use crate::session;

/// How long a session key that could not be written waits for its next try.
const KEY_RETRY_MILLIS: u64 = 1_000;

/// The session key that is being made.
#[derive(Debug, Default)]
pub(crate) struct NewKey {
    under_way: Option<Token>,
    retry: Option<Millis>,
}

impl Herder {
    pub(crate) fn elected(&mut self, generation: i32, protocol: &str, member: String, members: Vec<(String, Vec<u8>)>) {
        let Some(membership) = &mut self.membership else {
            return;
        };
        if membership.phase != Phase::Joining {
            return;
        }
        let Some(protocol) = ConnectProtocol::from_name(protocol) else {
            return tracing::error!(protocol, "The group chose a protocol that isn't one of Connect's.");
        };
        let members: Vec<_> = members.into_iter().map(|(id, metadata)| Candidate::read(id, &metadata)).collect();
        let election = Election { generation, protocol, member, members };
        if self.config_offset >= election.newest_offset() {
            return self.share_out(&election);
        }
        let read = self.read_config();
        if let Some(membership) = &mut self.membership {
            membership.phase = Phase::Leading { election, read };
        }
    }

    /// The config log was read to its end, or that took too long.
    pub(crate) fn lead_on(&mut self) {
        let Some(membership) = &mut self.membership else {
            return;
        };
        match std::mem::replace(&mut membership.phase, Phase::Joining) {
            Phase::Leading { election, read } => {
                self.questions.withdraw(read.token);
                self.share_out(&election);
            }
            other => membership.phase = other,
        }
    }

    /// Says who is to do what, by what this worker has read of the config log.
    fn share_out(&mut self, election: &Election) {
        if let Some(membership) = &mut self.membership {
            membership.expects_round = false;
        }
        let (own, newest) = (self.config_offset, election.newest_offset());
        let assignments = if self.may_run_unseen(election) {
            // Whoever runs something stops it now, and comes again.
            if let Some(membership) = &mut self.membership {
                membership.round_follows = true;
            }
            let nothing = |_: &Candidate| Assignment { config_offset: own, ..Assignment::default() };
            election.members.iter().map(nothing).collect()
        } else if own < newest {
            tracing::warn!(own, newest, "A worker says that it has read more of the config log than there is.");
            let refusal = |_: &Candidate| Assignment {
                error: AssignmentError::ConfigMismatch,
                config_offset: newest,
                ..Assignment::default()
            };
            election.members.iter().map(refusal).collect()
        } else {
            self.shares(election)
        };
        let (leader, leader_url) = (&election.member, election.url());
        let encode = |(candidate, assignment): (&Candidate, Assignment)| {
            let assignment = Assignment {
                version: election.protocol.version(),
                leader: leader.clone(),
                leader_url: leader_url.to_owned(),
                ..assignment
            };
            match assignment.encode() {
                Ok(bytes) => Some((candidate.id.clone(), bytes)),
                Err(error) => {
                    tracing::error!(member = candidate.id, %error, "An assignment can't be sent.");
                    None
                }
            }
        };
        let assignments = election.members.iter().zip(assignments).filter_map(encode).collect();
        self.effects.push(Effect::Assign { generation: election.generation, assignments });
    }

    /// Whether members may run something still, which nobody of an eager group does when it joins: those
    /// that come from a cooperative generation have stopped nothing.
    fn may_run_unseen(&self, election: &Election) -> bool {
        let before = self.membership.as_ref().and_then(|membership| membership.protocol);
        let is_new = before != Some(ConnectProtocol::Eager) && election.members.len() > 1;
        election.protocol == ConnectProtocol::Eager
            && (is_new || election.members.iter().any(|member| !member.holds.is_empty()))
    }

    /// In the order of the members.
    fn shares(&mut self, election: &Election) -> Vec<Assignment> {
        let configured = self.configured();
        let (shares, delay_ms) = match election.protocol {
            ConnectProtocol::Eager => (shares_eagerly(&configured, election), 0),
            ConnectProtocol::Compatible | ConnectProtocol::Sessioned => {
                self.shares_incrementally(&configured, election)
            }
        };
        if let Some(membership) = &mut self.membership {
            membership.expects_round = shares.iter().any(|share| !share.revoked.is_empty());
        }
        self.owners.clear();
        for (candidate, share) in election.members.iter().zip(&shares) {
            let mut owned = match election.protocol {
                ConnectProtocol::Eager => Work::default(),
                ConnectProtocol::Compatible | ConnectProtocol::Sessioned => candidate.holds.clone(),
            };
            owned.subtract(&share.revoked);
            owned.add(&share.assigned);
            self.owners.extend(owned.instances().map(|instance| (instance, candidate.url.clone())));
        }
        let config_offset = self.config_offset;
        let assignment = |Share { assigned, revoked }| Assignment {
            config_offset,
            assigned,
            revoked,
            delay_ms,
            ..Assignment::default()
        };
        shares.into_iter().map(assignment).collect()
    }

    fn shares_incrementally(&mut self, configured: &Configured, election: &Election) -> (Vec<Share>, u32) {
        let Some(membership) = &self.membership else {
            return (Vec::new(), 0);
        };
        let members: IndexMap<_, _> =
            election.members.iter().map(|member| (member.id.clone(), member.holds.clone())).collect();
        let mut outcome = self.assignor.assign(&Round {
            configured,
            members: &members,
            last_completed_generation: membership.generation.unwrap_or(-1),
            generation: election.generation,
            now: self.now,
            max_delay_ms: u32::try_from(membership.settings.rebalance_delay).unwrap_or(u32::MAX),
        });
        let shares = election.members.iter().map(|member| outcome.members.swap_remove(&member.id).unwrap_or_default());
        (shares.collect(), outcome.delay_ms)
    }

    fn configured(&self) -> Configured {
        // A longer name fits no assignment; only another program can have configured it.
        let connectors = self.cluster.connectors().filter(|(name, _)| name.as_str().len() <= MAX_STRING);
        connectors.map(|(name, connector)| (name.clone(), connector.task_count())).collect()
    }

    pub(crate) fn leads(&self) -> bool {
        self.membership.as_ref().is_none_or(|membership| membership.leads)
    }

    /// Refuses what only the leader may do.
    pub(crate) fn must_lead(&self) -> Result<(), Refusal> {
        match &self.membership {
            Some(Membership { leads: false, leader_url, .. }) => Err(Refusal::Elsewhere { to: leader_url.clone() }),
            Some(_) | None => Ok(()),
        }
    }

    /// No rebalance is under way or expected.
    pub(crate) fn is_settled(&self) -> bool {
        self.membership.as_ref().is_none_or(Membership::is_settled)
    }

    /// Refuses what must not be done beside a rebalance.
    pub(crate) fn must_be_settled(&self) -> Result<(), Refusal> {
        if self.is_settled() {
            return Ok(());
        }
        Err(Refusal::Conflict(
            "Cannot complete request momentarily due to stale configuration (typically caused by a concurrent config \
             change)"
                .to_owned(),
        ))
    }

    /// Refuses what only the owner of an instance may do: the leader knows who that is.
    pub(crate) fn must_own(&self, instance: &Instance) -> Result<(), Refusal> {
        if self.assignment.includes(instance) {
            return Ok(());
        }
        self.must_lead()?;
        Err(Refusal::Elsewhere { to: self.owners.get(instance).cloned() })
    }

    /// Removes what the status log still says of connectors and tasks that aren't configured.
    pub(crate) fn clean_up_statuses(&mut self) {
        if !self.may_clean_up() {
            return;
        }
        let left: Vec<_> = self.statuses.instances().filter(|instance| self.is_left_over(instance)).collect();
        for instance in left {
            self.forget_status(&instance);
        }
        let names: BTreeSet<_> =
            self.statuses.with_topics().filter(|name| !self.cluster.contains(name)).cloned().collect();
        for name in names {
            self.forget_topics(&name);
        }
    }

    /// The same for one of them, of which a worker has spoken that was no member any more when it was deleted.
    pub(crate) fn clean_up_status(&mut self, instance: &Instance) {
        if self.may_clean_up() && self.is_left_over(instance) {
            self.forget_status(instance);
        }
    }

    /// Not while members are still stopping what was deleted: a task that can't be seen any more has committed its last
    /// offsets.
    fn may_clean_up(&self) -> bool {
        self.leads() && !self.membership.as_ref().is_some_and(|membership| membership.expects_round)
    }

    fn is_left_over(&self, instance: &Instance) -> bool {
        !self.cluster.has(instance) && !self.instances.is_live(instance)
    }

    /// What nobody owns doesn't run: its worker is gone, and it waits to come back or to be given to
    /// another.
    pub(crate) fn report_lost(&mut self) {
        let Some(membership) = self.membership.as_ref().filter(|membership| membership.leads) else {
            return;
        };
        if membership.expects_round {
            // What was taken away says farewell itself.
            return;
        }
        let generation = membership.status_generation();
        let is_lost = |instance: &Instance| self.cluster.has(instance) && !self.owners.contains_key(instance);
        let lost: Vec<_> = self.statuses.instances().filter(is_lost).collect();
        for instance in lost {
            let Some(Status { state: State::Running | State::Paused, worker, .. }) = self.statuses.of(&instance) else {
                continue;
            };
            let worker = worker.clone();
            let status = Status { state: State::Unassigned, worker, generation, version: None };
            self.append_status(StatusRecord::of(&instance, Some(status)));
        }
    }

    /// When the session key has to be made or made anew; none if that is not up to this worker.
    pub(crate) fn key_due(&self) -> Option<Millis> {
        let membership = self.membership.as_ref()?;
        let is_ours = membership.leads && membership.signs() && membership.is_settled();
        if !is_ours || self.new_key.under_way.is_some() {
            return None;
        }
        let keys = &membership.settings.keys;
        let expiry = match self.cluster.session_key() {
            Some(key) if session::suits(key, keys) => Millis(u64::try_from(key.created).unwrap_or(0)).plus(keys.ttl),
            Some(_) | None => Millis(0),
        };
        Some(self.new_key.retry.map_or(expiry, |retry| retry.max(expiry)))
    }

    pub(crate) fn rotate_key(&mut self) {
        if self.key_due().is_none_or(|due| due > self.now) {
            return;
        }
        let Some(membership) = &self.membership else {
            return;
        };
        let size = session::key_size(&membership.settings.keys);
        let token = self.questions.ask(Question::SessionKey);
        self.new_key = NewKey { under_way: Some(token), retry: None };
        self.effects.push(Effect::NewSessionKey { token, size });
    }

    pub(crate) fn key_made(&mut self, token: Token, key: Secret) {
        let Some(membership) = self.membership.as_ref().filter(|_| self.new_key.under_way == Some(token)) else {
            return;
        };
        let created = i64::try_from(self.now.0).unwrap_or(i64::MAX);
        let key = SessionKey { key, algorithm: membership.settings.keys.algorithm.clone(), created };
        let token = self.questions.ask(Question::KeyAppend);
        self.new_key.under_way = Some(token);
        self.append(token, vec![ConfigRecord::SessionKey(key)]);
    }

    pub(crate) fn key_appended(&mut self, outcome: Result<(), NotWritten>) {
        self.new_key = NewKey::default();
        if let Err(error) = outcome {
            tracing::warn!(%error, "The session key could not be written; trying again.");
        }
        // Also when it was written: it is made anew only if it isn't read back by then.
        self.new_key.retry = Some(self.now.plus(KEY_RETRY_MILLIS));
    }
}

fn shares_eagerly(configured: &Configured, election: &Election) -> Vec<Share> {
    let mut works = eager::assign(configured, election.members.iter().map(|member| member.id.as_str()));
    let share =
        |member: &Candidate| Share { assigned: works.remove(&member.id).unwrap_or_default(), revoked: Work::default() };
    election.members.iter().map(share).collect()
}

impl Election {
    fn newest_offset(&self) -> i64 {
        self.members.iter().map(|member| member.config_offset).max().unwrap_or(-1)
    }

    /// The leader's own URL, as it told the group.
    fn url(&self) -> &str {
        let own = self.members.iter().find(|member| member.id == self.member);
        own.map(|member| member.url.as_str()).unwrap_or_default()
    }
}

impl Candidate {
    /// A member whose metadata can't be read holds nothing that anybody could know of.
    fn read(id: String, metadata: &[u8]) -> Self {
        match MemberMetadata::decode(metadata) {
            Ok(MemberMetadata { url, config_offset, allocation, .. }) => {
                let holds = allocation.map(|allocation| allocation.assigned).unwrap_or_default();
                Self { id, url, config_offset, holds }
            }
            Err(error) => {
                tracing::warn!(member = id, %error, "What a member says of itself can't be read.");
                Self { id, url: String::new(), config_offset: -1, holds: Work::default() }
            }
        }
    }
}
