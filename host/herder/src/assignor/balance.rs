//! How many instances each member has: taking from the rich, giving to the poor.

use super::keys::{Key, Kind};

/// What a member is to have, in the order in which it is taken away again.
#[derive(Debug, Default)]
pub(super) struct Load {
    connectors: Vec<Key>,
    tasks: Vec<Key>,
}

impl Load {
    pub(super) fn new(keys: impl IntoIterator<Item = Key>) -> Self {
        let mut load = Self::default();
        keys.into_iter().for_each(|key| load.push(key));
        load
    }

    pub(super) fn push(&mut self, key: Key) {
        self.of(key.kind()).push(key);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.connectors.is_empty() && self.tasks.is_empty()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = Key> {
        self.connectors.iter().chain(&self.tasks).copied()
    }

    fn of(&mut self, kind: Kind) -> &mut Vec<Key> {
        match kind {
            Kind::Connector => &mut self.connectors,
            Kind::Task => &mut self.tasks,
        }
    }

    pub(super) fn count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Connector => self.connectors.len(),
            Kind::Task => self.tasks.len(),
        }
    }

    /// Takes this many away from the front.
    pub(super) fn take(&mut self, excess: &Excess) -> Vec<Key> {
        let mut taken: Vec<Key> = self.connectors.drain(..excess.connectors).collect();
        taken.extend(self.tasks.drain(..excess.tasks));
        taken
    }
}

/// How much a member has too much.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Excess {
    connectors: usize,
    tasks: usize,
}

impl Excess {
    fn of(&mut self, kind: Kind) -> &mut usize {
        match kind {
            Kind::Connector => &mut self.connectors,
            Kind::Task => &mut self.tasks,
        }
    }

    pub(super) fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// What each member is to give up so that, when all of `configured` is given out, no member has two more
/// than another.
pub(super) fn excess(loads: &[Load], configured: &[Key]) -> Vec<Excess> {
    let mut excess = vec![Excess::default(); loads.len()];
    let connectors = configured.partition_point(|key| key.kind() == Kind::Connector);
    for (kind, total) in [(Kind::Connector, connectors), (Kind::Task, configured.len() - connectors)] {
        excess_of(kind, total, loads, &mut excess);
    }
    excess
}

fn excess_of(kind: Kind, total: usize, loads: &[Load], excess: &mut [Excess]) {
    let counts = || loads.iter().map(|load| load.count(kind));
    let (Some(least), Some(mut extra)) = (total.checked_div(loads.len()), total.checked_rem(loads.len())) else {
        return;
    };
    let balanced = counts().all(|count| count == least || count == least + 1);
    if total == 0 || (balanced && counts().filter(|count| *count == least + 1).count() == extra) {
        return;
    }
    for (count, excess) in counts().zip(excess) {
        if count <= least {
            continue;
        }
        let granted = usize::from(extra > 0);
        extra -= granted;
        *excess.of(kind) = count - least - granted;
    }
}

/// Gives each to a member that has least of its kind; equals are served in turn, in the order given.
pub(super) fn give(loads: &mut [Load], order: &[usize], keys: &[Key]) {
    for kind in Kind::BOTH {
        let mut order = order.to_vec();
        order.sort_by_key(|member| loads[*member].count(kind));
        let mut keys = keys.iter().copied().filter(|key| key.kind() == kind).peekable();
        while keys.peek().is_some() {
            let Some(least) = order.first().map(|member| loads[*member].count(kind)) else { return };
            let poorest = order.iter().take_while(|member| loads[**member].count(kind) == least).count();
            for (member, key) in order[..poorest].iter().zip(keys.by_ref()) {
                loads[*member].push(key);
            }
        }
    }
}
