//! Rebalances, as a member goes through them (KIP-415): join, stop what is taken away, catch up with the
//! config log, start what is given.
//!
//! **Invariants:** an instance that is taken away has ended, and its farewell is in the status log, before
//! the worker joins again, which is what lets the leader give it to somebody else. Nothing is started on
//! an assignment that rests on another state of the config log than this worker has read.

use std::collections::BTreeSet;

use crate::Herder;
use crate::api::{Effect, GroupEvent, Token};
use crate::assignment::Assignment;
use crate::membership::{Membership, Phase, Read};
use crate::protocol::{self, AssignmentError, ConnectProtocol, MemberMetadata, Work};
use crate::questions::Question;

/// How long a hopeless round waits for its end: the leader can't catch up with a member.
const MISMATCH_PAUSE: u64 = 250;

/// So often a worker may fail to catch up before it gives up what it runs.
const MAX_FAILED_READS: u32 = 5;

impl Herder {
    pub(crate) fn caught_up(&mut self) {
        if self.membership.is_some() {
            self.join();
        }
    }

    pub(crate) fn group(&mut self, event: GroupEvent) {
        let Some(membership) = &mut self.membership else {
            return;
        };
        if matches!(membership.phase, Phase::Starting | Phase::Leaving | Phase::Left) {
            return;
        }
        match event {
            GroupEvent::RebalanceNeeded => self.rejoin(),
            GroupEvent::Elected { generation, protocol, member, members } => {
                self.elected(generation, &protocol, member, members);
            }
            GroupEvent::Synced { generation, protocol, member, assignment } => {
                if membership.phase == Phase::Joining {
                    self.synced(generation, &protocol, &member, &assignment);
                }
            }
            GroupEvent::Lost { reason } => {
                tracing::warn!(reason, "The group doesn't know this worker any more; joining anew.");
                self.rejoin();
            }
            GroupEvent::CoordinatorLost { reason } => {
                tracing::warn!(reason, "The group's coordinator can't be reached; stopping everything.");
                self.yield_all();
            }
            GroupEvent::Left { .. } if std::mem::take(&mut membership.asked_to_leave) => {}
            GroupEvent::Left { reason } => {
                tracing::warn!(reason, "The worker has left the group; stopping everything.");
                self.yield_all();
            }
        }
    }

    /// Something was configured that must be shared out.
    pub(crate) fn sharing_changed(&mut self) {
        if self.membership.as_ref().is_some_and(|membership| membership.phase == Phase::Settled) {
            self.join();
        }
    }

    /// Joins as soon as the present phase allows it.
    pub(crate) fn rejoin(&mut self) {
        match self.membership.as_mut().map(|membership| &mut membership.phase) {
            Some(Phase::Revoking { again, .. }) => *again = true,
            Some(Phase::Joining | Phase::Leading { .. } | Phase::CatchingUp { .. } | Phase::Settled) => self.join(),
            // These end with joining anyway, or with the worker.
            Some(
                Phase::Starting
                | Phase::Yielding
                | Phase::Waiting { .. }
                | Phase::Returning { .. }
                | Phase::Leaving
                | Phase::Left,
            )
            | None => {}
        }
    }

    fn join(&mut self) {
        if self.membership.as_ref().is_some_and(Membership::is_eager) && !self.assignment.is_nothing() {
            return self.yield_all();
        }
        self.send_join();
    }

    fn send_join(&mut self) {
        let Some(membership) = &mut self.membership else {
            return;
        };
        membership.phase = Phase::Joining;
        membership.scheduled = None;
        membership.round_follows = false;
        membership.expects_round = false;
        self.owners.clear();
        let protocols = membership.settings.protocol.offered().filter_map(|protocol| {
            let metadata = MemberMetadata {
                version: protocol.version(),
                url: membership.settings.url.clone(),
                config_offset: self.config_offset,
                allocation: membership.held.clone(),
            };
            match metadata.encode() {
                Ok(bytes) => Some((protocol.name(), bytes)),
                Err(error) => {
                    tracing::error!(%error, "The worker can't tell the group what it holds.");
                    None
                }
            }
        });
        self.effects.push(Effect::Join { protocols: protocols.collect() });
    }

    /// Gives up all it holds, stops it, then joins.
    fn yield_all(&mut self) {
        let Some(membership) = &mut self.membership else {
            return;
        };
        membership.phase = Phase::Yielding;
        membership.held = None;
        membership.scheduled = None;
        membership.leads = false;
        membership.leader_url = None;
        self.run_only(Work::default());
    }

    /// From now on these run here and nothing else.
    pub(crate) fn run_only(&mut self, work: Work) {
        self.assignment = Assignment::Shared(work);
        let names: BTreeSet<_> = self.cluster.names().chain(self.instances.connectors()).cloned().collect();
        for name in names {
            self.reconcile(&name);
        }
    }

    fn synced(&mut self, generation: i32, protocol: &str, member: &str, bytes: &[u8]) {
        let decoded = protocol::Assignment::decode(bytes);
        let Some(membership) = &mut self.membership else {
            return;
        };
        let before = membership.protocol;
        membership.generation = Some(generation);
        membership.rebalances += 1;
        let (assignment, protocol) = match (decoded, ConnectProtocol::from_name(protocol)) {
            (Ok(assignment), Some(protocol)) => (assignment, protocol),
            (Err(error), _) => return self.wait_for_another_round(&format!("the assignment can't be read: {error}")),
            (_, None) => return self.wait_for_another_round(&format!("protocol `{protocol}` is not one of Connect's")),
        };
        membership.note_protocol(protocol);
        membership.leads = assignment.leader == member;
        membership.expects_round &= membership.leads;
        membership.leader_url = Some(assignment.leader_url.clone());
        membership.scheduled = (assignment.delay_ms > 0).then(|| self.now.plus(u64::from(assignment.delay_ms)));
        tracing::info!(
            generation,
            protocol = protocol.name(),
            leader = assignment.leader_url,
            assigned = assignment.assigned.len(),
            revoked = assignment.revoked.len(),
            delay_ms = assignment.delay_ms,
            "The group of workers has formed.",
        );
        if protocol == ConnectProtocol::Eager {
            self.synced_eagerly(assignment, before);
        } else {
            self.synced_cooperatively(assignment);
        }
    }

    /// Everybody stops before joining, and so gets all anew. Whoever came without having stopped, because
    /// the group was cooperative until now, does so and comes again.
    fn synced_eagerly(&mut self, assignment: protocol::Assignment, before: Option<ConnectProtocol>) {
        if before != Some(ConnectProtocol::Eager) && !self.assignment.is_nothing() {
            return self.yield_all();
        }
        if let Some(membership) = &mut self.membership {
            membership.held = Some(assignment);
        }
        self.resolve();
    }

    fn synced_cooperatively(&mut self, assignment: protocol::Assignment) {
        let Some(membership) = &mut self.membership else {
            return;
        };
        let revoked = assignment.revoked.clone();
        let mut held = membership.held.take().map(|held| held.assigned).unwrap_or_default();
        held.subtract(&revoked);
        held.add(&assignment.assigned);
        membership.held = Some(protocol::Assignment { assigned: held, revoked: Work::default(), ..assignment });
        if revoked.is_empty() {
            return self.resolve();
        }
        membership.phase = Phase::Revoking { ending: revoked.clone(), again: false };
        if let Assignment::Shared(mut running) = self.assignment.clone() {
            running.subtract(&revoked);
            self.run_only(running);
        }
    }

    /// What was waited for may have come about: called after every step.
    pub(crate) fn go_on_rebalancing(&mut self) {
        match self.membership.as_ref().map(|membership| &membership.phase) {
            Some(Phase::Yielding) if !self.instances.any_live() => self.send_join(),
            Some(Phase::Revoking { ending, .. }) if self.has_ended(ending) => self.revoked(),
            Some(Phase::CatchingUp { .. }) if self.has_read_enough() => self.caught_up_with_assignment(),
            _ => {}
        }
    }

    /// Nothing of these is left, and the cluster has been told.
    fn has_ended(&self, ending: &Work) -> bool {
        ending.instances().all(|instance| !self.instances.is_live(&instance) && !self.is_being_reported(&instance))
    }

    fn revoked(&mut self) {
        let Some(membership) = &mut self.membership else {
            return;
        };
        if matches!(membership.phase, Phase::Revoking { again: true, .. }) {
            return self.join();
        }
        membership.round_follows = true;
        self.resolve();
    }

    /// Starts what the assignment gives, if this worker has read what the leader had read.
    fn resolve(&mut self) {
        let own = self.config_offset;
        let Some(Membership { held: Some(held), leads, .. }) = &self.membership else {
            return;
        };
        let failed = held.error != AssignmentError::None;
        let behind = own < held.config_offset;
        if behind || (failed && *leads) {
            let read = self.read_config();
            if let Some(membership) = &mut self.membership {
                membership.phase = Phase::CatchingUp { read };
            }
            return;
        }
        self.start_assigned();
    }

    fn start_assigned(&mut self) {
        let own = self.config_offset;
        let Some(membership) = &mut self.membership else {
            return;
        };
        let Some(held) = &membership.held else {
            return self.join();
        };
        if held.error != AssignmentError::None {
            let reason = format!("the leader has not read the config log up to {}", held.config_offset);
            return self.wait_for_another_round(&reason);
        }
        if held.config_offset != own {
            tracing::info!(own, assignment = held.config_offset, "The config log has grown; joining again.");
            return self.join();
        }
        let work = held.assigned.clone();
        let round_follows = membership.round_follows;
        membership.failed_reads = 0;
        membership.phase = Phase::Settled;
        self.instances.allow_starts(true);
        self.run_only(work);
        self.drop_all_leftovers();
        self.clean_up_statuses();
        self.report_lost();
        self.report_found();
        if round_follows {
            self.join();
        }
    }

    /// Whether the config log was read as far as the assignment demands.
    fn has_read_enough(&self) -> bool {
        let held = self.membership.as_ref().and_then(|membership| membership.held.as_ref());
        held.is_some_and(|held| held.error == AssignmentError::None && held.config_offset <= self.config_offset)
    }

    fn caught_up_with_assignment(&mut self) {
        if let Some(Membership { phase: Phase::CatchingUp { read }, .. }) = &self.membership {
            self.questions.withdraw(read.token);
        }
        self.start_assigned();
    }

    fn wait_for_another_round(&mut self, reason: &str) {
        tracing::warn!(reason, "Nothing can be started in this generation; joining again.");
        if let Some(membership) = &mut self.membership {
            membership.phase = Phase::Waiting { until: self.now.plus(MISMATCH_PAUSE) };
        }
    }

    /// Reads the config log to its end, within `worker.sync.timeout.ms`.
    pub(crate) fn read_config(&mut self) -> Read {
        let timeout = self.membership.as_ref().map_or(0, |membership| membership.settings.sync_timeout);
        let token = self.questions.ask(Question::ConfigRead);
        self.effects.push(Effect::ReadToEnd { token });
        Read { token, until: self.now.plus(timeout) }
    }

    pub(crate) fn config_read(&mut self, token: Token, outcome: Result<(), String>) {
        let ended = |read: &Read| read.token == token;
        match self.membership.as_ref().map(|membership| &membership.phase) {
            Some(Phase::Leading { read, .. }) if ended(read) => self.lead_on(),
            Some(Phase::CatchingUp { read }) if ended(read) => match outcome {
                Ok(()) => self.start_assigned(),
                Err(error) => self.read_failed(&error),
            },
            Some(Phase::Returning { read }) if ended(read) => match outcome {
                Ok(()) => self.join(),
                Err(error) => self.read_failed(&error),
            },
            _ => {}
        }
    }

    /// Leaves the group for a while: the others can go on. What fails too often gives up its work.
    fn read_failed(&mut self, error: &str) {
        let Some(membership) = &mut self.membership else {
            return;
        };
        tracing::warn!(error, "The config log could not be read in time; leaving the group for a while.");
        let settings = &membership.settings;
        let pause = match MAX_FAILED_READS.checked_sub(membership.failed_reads) {
            _ if membership.is_eager() => settings.unsync_backoff,
            None | Some(0) => {
                membership.failed_reads = 0;
                return self.yield_all();
            }
            Some(left) => settings.rebalance_delay / 10 / u64::from(left),
        };
        membership.failed_reads += 1;
        membership.phase = Phase::Waiting { until: self.now.plus(pause) };
        membership.asked_to_leave = true;
        self.effects.push(Effect::Leave { reason: "the worker is taking too long to read the config log".to_owned() });
    }

    pub(crate) fn membership_tick(&mut self) {
        let now = self.now;
        let Some(membership) = &self.membership else {
            return;
        };
        if membership.next_deadline().is_none_or(|due| due > now) {
            return;
        }
        match &membership.phase {
            Phase::Settled => self.join(),
            Phase::Leading { .. } => self.lead_on(),
            Phase::CatchingUp { .. } | Phase::Returning { .. } => self.read_failed("timed out"),
            Phase::Waiting { .. } => self.come_back(),
            Phase::Starting
            | Phase::Yielding
            | Phase::Joining
            | Phase::Revoking { .. }
            | Phase::Leaving
            | Phase::Left => {}
        }
    }

    fn come_back(&mut self) {
        if self.membership.as_ref().is_some_and(|membership| membership.failed_reads == 0) {
            return self.join();
        }
        let read = self.read_config();
        if let Some(membership) = &mut self.membership {
            membership.phase = Phase::Returning { read };
        }
    }
}

impl Membership {
    fn note_protocol(&mut self, protocol: ConnectProtocol) {
        let before = self.protocol.replace(protocol);
        match (before, protocol) {
            (Some(ConnectProtocol::Sessioned), ConnectProtocol::Compatible | ConnectProtocol::Eager) => {
                tracing::warn!(
                    "A worker of the group can't sign internal requests; signatures are not checked any more."
                );
            }
            (Some(ConnectProtocol::Compatible | ConnectProtocol::Eager), ConnectProtocol::Sessioned) => {
                tracing::info!("All workers of the group sign their internal requests; signatures are checked.");
            }
            _ => {}
        }
    }
}
