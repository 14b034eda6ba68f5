//! No instance runs twice, as far as a group can know.

use bulkhead_model::Instance;

use crate::world::{Process, ProcessId, World};

impl World {
    /// An instance has started: it must run nowhere else, unless the coordinator has had reason to take one
    /// of the two workers for dead since it was told to start it.
    pub(crate) fn check_start(&mut self, id: ProcessId, instance: &Instance) {
        if !self.is_rightful(id, instance) {
            return;
        }
        let others: Vec<_> = self.living().map(|process| process.id).filter(|other| *other != id).collect();
        for other in others {
            if self.is_rightful(other, instance) {
                self.problem(format!("{instance} was started on w{} while it ran on w{}", id.worker, other.worker));
            }
        }
    }

    /// Whether it runs there, on a worker that had been a member when it was told to start it, and has been ever since.
    /// Of a worker that is back from a standstill both may be in the same millisecond, and that it joined comes later.
    fn is_rightful(&mut self, id: ProcessId, instance: &Instance) -> bool {
        let member_since = self.group.member_since(id);
        let life = self.process(id).and_then(|process| process.worker.running.get(instance));
        life.is_some_and(|life| member_since.is_some_and(|since| since < life.given))
    }

    /// Two workers that have settled in the same generation share no instance.
    pub(crate) fn check_settled(&mut self, id: ProcessId) {
        if !self.group.is_stable() {
            return;
        }
        let generation = self.group.generation;
        let Some(process) = self.process(id).filter(|process| process.has_settled(generation)) else { return };
        let running: Vec<_> = process.worker.running.keys().cloned().collect();
        let others = self.living().filter(|other| other.id != id && other.has_settled(generation));
        let shared = others.flat_map(|other| {
            let both = running.iter().filter(|instance| other.worker.running.contains_key(*instance));
            both.map(|instance| (other.id.worker, instance.clone()))
        });
        let shared: Vec<_> = shared.collect();
        if let Some((other, instance)) = shared.first() {
            self.problem(format!(
                "{instance} runs on w{} and on w{other}, which have both settled in generation {generation}",
                id.worker
            ));
        }
    }
}

impl Process {
    fn has_settled(&self, generation: i32) -> bool {
        if self.standstill.is_some() || self.client.generation() != Some(generation) {
            return false;
        }
        let group = &self.herder.view().group;
        group.settled && group.generation == Some(generation)
    }
}
