//! A bounded memory for what is made from schemas.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;

/// Remembers as many values as it is told to; the one that was not used for the longest time goes first.
#[derive(Debug)]
pub(crate) struct Cache<K, V> {
    entries: HashMap<K, Entry<V>>,
    capacity: usize,
    clock: u64,
}

#[derive(Debug)]
struct Entry<V> {
    value: V,
    used: u64,
}

impl<K: Hash + Eq + Clone, V: Clone> Cache<K, V> {
    pub(crate) fn new(capacity: usize) -> Self {
        Self { entries: HashMap::new(), capacity, clock: 0 }
    }

    pub(crate) fn get<Q: Hash + Eq + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        self.clock += 1;
        let entry = self.entries.get_mut(key)?;
        entry.used = self.clock;
        Some(entry.value.clone())
    }

    /// Looks through everything for the oldest entry; that costs less than making what it holds.
    pub(crate) fn insert(&mut self, key: K, value: V) {
        if self.capacity == 0 {
            return;
        }
        if self.entries.len() >= self.capacity
            && let Some(oldest) = self.entries.iter().min_by_key(|(_, entry)| entry.used)
        {
            let oldest = oldest.0.clone();
            self.entries.remove(&oldest);
        }
        self.entries.insert(key, Entry { value, used: self.clock });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_entry_makes_room() {
        let mut cache = Cache::new(2);
        cache.insert("a", 1);
        cache.insert("b", 2);
        assert_eq!(cache.get("a"), Some(1));
        cache.insert("c", 3);
        assert_eq!((cache.get("a"), cache.get("b"), cache.get("c")), (Some(1), None, Some(3)));
    }

    #[test]
    fn nothing_is_remembered_without_room() {
        let mut cache = Cache::new(0);
        cache.insert("a", 1);
        assert_eq!(cache.get("a"), None);
    }
}
