//! Work of a lost member waits for the rebalance delay before others get it (KIP-415).
//!
//! Looked at where it is plainest: two generations in a row with the same leader, of which the first one
//! took nothing away and waited for nothing. What was held in it by a member that is missing in the second
//! must not be handed out there.

use std::collections::BTreeMap;

use bulkhead_herder::protocol::{Assignment, AssignmentError, MemberMetadata, Work};

use crate::world::ProcessId;

/// See the module's documentation.
#[derive(Debug, Default)]
pub(crate) struct Delays {
    delay: u64,
    /// What members said they hold, in the generation that is being made.
    election: Option<(ProcessId, i32, BTreeMap<String, Work>)>,
    last: Option<Round>,
    /// How often the rule was put to the test.
    pub(crate) judged: u64,
}

#[derive(Debug)]
struct Round {
    leader: ProcessId,
    generation: i32,
    /// What each member holds when it has done as it was told.
    holds: BTreeMap<String, Work>,
    /// Nothing was revoked, no delay, no error.
    plain: bool,
    /// The leader knows that it is complete.
    complete: bool,
}

impl Delays {
    pub(crate) fn new(delay: u64) -> Self {
        Self { delay, ..Self::default() }
    }

    pub(crate) fn elected(&mut self, leader: ProcessId, generation: i32, members: &[(String, Vec<u8>)]) {
        let holds = |(id, metadata): &(String, Vec<u8>)| {
            let metadata = MemberMetadata::decode(metadata).ok()?;
            Some((id.clone(), metadata.allocation.map(|held| held.assigned).unwrap_or_default()))
        };
        self.election = Some((leader, generation, members.iter().filter_map(holds).collect()));
    }

    pub(crate) fn synced(&mut self, process: ProcessId, generation: i32) {
        if let Some(round) = &mut self.last
            && round.leader == process
            && round.generation == generation
        {
            round.complete = true;
        }
    }

    pub(crate) fn clock_jumped(&mut self) {
        self.last = None;
    }

    /// What is wrong with these assignments, if anything is.
    pub(crate) fn assigned(
        &mut self,
        leader: ProcessId,
        generation: i32,
        assignments: &[(String, Vec<u8>)],
    ) -> Option<String> {
        let (_, _, mut holds) =
            self.election.take().filter(|(by, number, _)| (*by, *number) == (leader, generation))?;
        let assignments: BTreeMap<_, _> =
            assignments.iter().filter_map(|(id, bytes)| Some((id.clone(), Assignment::decode(bytes).ok()?))).collect();
        let problem = self
            .last
            .as_ref()
            .filter(|last| last.plain && last.complete && last.leader == leader && last.generation + 1 == generation);
        let problem = problem.and_then(|last| too_early(last, &holds, &assignments));
        self.judged += u64::from(problem.is_some());
        let plain = assignments.values().all(|assignment| {
            assignment.version > 0
                && assignment.error == AssignmentError::None
                && assignment.revoked.is_empty()
                && assignment.delay_ms == 0
        });
        for (id, assignment) in &assignments {
            let held = holds.entry(id.clone()).or_default();
            held.subtract(&assignment.revoked);
            held.add(&assignment.assigned);
        }
        self.last = Some(Round { leader, generation, holds, plain, complete: false });
        problem.filter(|_| self.delay > 0)
    }
}

fn too_early(
    last: &Round,
    holds: &BTreeMap<String, Work>,
    assignments: &BTreeMap<String, Assignment>,
) -> Option<String> {
    let gone = last.holds.iter().filter(|(id, _)| !holds.contains_key(*id));
    let lost = gone.flat_map(|(id, work)| work.instances().map(move |instance| (id, instance)));
    let mut lost = lost.filter(|(_, instance)| !holds.values().any(|work| work.contains(instance)));
    lost.find_map(|(from, instance)| {
        let early = |assignment: &Assignment| assignment.version > 0 && assignment.assigned.contains(&instance);
        let (to, _) = assignments.iter().find(|(_, assignment)| early(assignment))?;
        Some(format!("{instance}, lost with {from}, was given to {to} without any delay"))
    })
}

/// Rewrites assignments as a leader would make them that doesn't mind duplicates.
pub(crate) fn keep_duplicates(assignments: &mut [(String, Vec<u8>)]) {
    let mut decoded: Vec<_> = assignments.iter().filter_map(|(_, bytes)| Assignment::decode(bytes).ok()).collect();
    if decoded.len() != assignments.len() {
        return;
    }
    let revoked: Vec<_> = decoded.iter().flat_map(|assignment| assignment.revoked.instances()).collect();
    let twice: Work = revoked
        .iter()
        .filter(|instance| revoked.iter().filter(|other| other == instance).count() > 1)
        .cloned()
        .collect();
    for ((_, bytes), assignment) in assignments.iter_mut().zip(&mut decoded) {
        assignment.revoked.subtract(&twice);
        if let Ok(rewritten) = assignment.encode() {
            *bytes = rewritten;
        }
    }
}
