//! What is to happen, by time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// Things at the same time happen in the order in which they were put down.
#[derive(Debug)]
pub(crate) struct Agenda<T> {
    entries: BinaryHeap<Entry<T>>,
    last: u64,
}

#[derive(Debug)]
struct Entry<T> {
    at: u64,
    number: u64,
    what: T,
}

impl<T> Default for Agenda<T> {
    fn default() -> Self {
        Self { entries: BinaryHeap::new(), last: 0 }
    }
}

impl<T> Agenda<T> {
    pub(crate) fn put(&mut self, at: u64, what: T) {
        self.last += 1;
        self.entries.push(Entry { at, number: self.last, what });
    }

    /// Takes what comes next, if it comes until then.
    pub(crate) fn take(&mut self, until: u64) -> Option<(u64, T)> {
        if self.entries.peek()?.at > until {
            return None;
        }
        self.entries.pop().map(|entry| (entry.at, entry.what))
    }
}

impl<T> Ord for Entry<T> {
    /// The earliest is the greatest, as the heap gives out the greatest first.
    fn cmp(&self, other: &Self) -> Ordering {
        (other.at, other.number).cmp(&(self.at, self.number))
    }
}

impl<T> PartialOrd for Entry<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Eq for Entry<T> {}

impl<T> PartialEq for Entry<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.number) == (other.at, other.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_happen_by_time_and_then_in_order() {
        let mut agenda = Agenda::default();
        for (at, what) in [(5, "c"), (1, "a"), (5, "d"), (2, "b"), (9, "e")] {
            agenda.put(at, what);
        }
        let happened: Vec<_> = std::iter::from_fn(|| agenda.take(8)).collect();
        assert_eq!(happened, [(1, "a"), (2, "b"), (5, "c"), (5, "d")]);
        assert_eq!(agenda.take(9), Some((9, "e")));
    }
}
