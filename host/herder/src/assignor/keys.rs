//! Numbers for connectors and tasks, so that a cluster's work is compared without touching a name.

use std::collections::{BTreeSet, HashMap};

use bulkhead_model::{ConnectorName, Instance};

use super::Configured;
use crate::protocol::Work;

/// Stands for an instance. Sorted: all connectors by name, then all tasks by connector and number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    kind: Kind,
    connector: u32,
    task: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Connector,
    Task,
}

impl Kind {
    pub(super) const BOTH: [Self; 2] = [Self::Connector, Self::Task];
}

/// The numbers of one round.
#[derive(Debug)]
pub(super) struct Keys<'a> {
    names: Vec<&'a ConnectorName>,
    numbers: HashMap<&'a ConnectorName, u32>,
    /// By connector; none if it isn't configured.
    tasks: Vec<Option<u32>>,
}

impl<'a> Keys<'a> {
    /// Of everything that is configured, held or remembered.
    pub(super) fn new(
        configured: &'a Configured,
        held: impl Iterator<Item = &'a Work>,
        remembered: impl Iterator<Item = &'a Instance>,
    ) -> Self {
        let mut names: BTreeSet<&ConnectorName> = configured.keys().collect();
        let mut last = None;
        let held = held.flat_map(|work| work.connectors.iter().chain(work.tasks.iter().map(|task| &task.connector)));
        for name in held.chain(remembered.map(Instance::connector)) {
            if last.replace(name) != Some(name) {
                names.insert(name);
            }
        }
        Self {
            numbers: (0..).zip(&names).map(|(number, name)| (*name, number)).collect(),
            tasks: names.iter().map(|name| configured.get(*name).copied()).collect(),
            names: names.into_iter().collect(),
        }
    }

    /// In order.
    pub(super) fn configured(&self) -> Vec<Key> {
        let by_number = || (0..).zip(&self.tasks).filter_map(|(number, tasks)| Some((number, (*tasks)?)));
        let connectors = by_number().map(|(connector, _)| Key { kind: Kind::Connector, connector, task: 0 });
        let tasks = by_number()
            .flat_map(|(connector, tasks)| (0..tasks).map(move |task| Key { kind: Kind::Task, connector, task }));
        connectors.chain(tasks).collect()
    }

    pub(super) fn is_configured(&self, key: Key) -> bool {
        let tasks = self.tasks[key.connector as usize];
        tasks.is_some_and(|tasks| key.kind == Kind::Connector || key.task < tasks)
    }

    pub(super) fn key(&self, instance: &Instance) -> Key {
        match instance {
            Instance::Connector(name) => self.connector(name),
            Instance::Task(task) => self.task(&task.connector, task.number),
        }
    }

    /// In the order of the work.
    pub(super) fn of(&self, work: &Work) -> Vec<Key> {
        let connectors = work.connectors.iter().map(|name| self.connector(name));
        connectors.chain(work.tasks.iter().map(|task| self.task(&task.connector, task.number))).collect()
    }

    fn connector(&self, name: &ConnectorName) -> Key {
        Key { kind: Kind::Connector, connector: self.numbers[name], task: 0 }
    }

    fn task(&self, name: &ConnectorName, task: u32) -> Key {
        Key { kind: Kind::Task, connector: self.numbers[name], task }
    }

    pub(super) fn instance(&self, key: Key) -> Instance {
        let name = self.names[key.connector as usize];
        match key.kind {
            Kind::Connector => Instance::Connector(name.clone()),
            Kind::Task => Instance::Task(name.task(key.task)),
        }
    }
}

impl Key {
    pub(super) fn kind(self) -> Kind {
        self.kind
    }
}

/// What is in the first and not in the second, both sorted and without repetition.
pub(super) fn difference(all: &[Key], without: &[Key]) -> Vec<Key> {
    let mut without = without.iter().peekable();
    let mut stays = |key: Key| {
        while without.next_if(|other| **other < key).is_some() {}
        without.peek() != Some(&&key)
    };
    all.iter().copied().filter(|key| stays(*key)).collect()
}

pub(super) fn contains(sorted: &[Key], key: Key) -> bool {
    sorted.binary_search(&key).is_ok()
}

/// Sorts and drops repetitions.
pub(super) fn set(mut keys: Vec<Key>) -> Vec<Key> {
    keys.sort_unstable();
    keys.dedup();
    keys
}
