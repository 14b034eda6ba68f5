//! What one instance, and all of them together, may hold.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use wasmtime::ResourceLimiter;

/// Elements of one function table; as many as the engine's pool has room for.
const MAX_TABLE_ELEMENTS: usize = 50_000;
/// Core instances in one store: a component's module, its adapters and shims.
const MAX_CORE_INSTANCES: usize = 32;
const MAX_TABLES: usize = 32;
const MAX_MEMORIES: usize = 4;

/// Memory of all instances of a worker, against `sandbox.memory.budget`.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    limit: u64,
    used: AtomicU64,
}

impl MemoryBudget {
    pub(crate) fn new(limit: u64) -> Self {
        Self { limit, used: AtomicU64::new(0) }
    }

    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: u64) -> Result<(), MemoryRefused> {
        let taken = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            used.checked_add(bytes).filter(|sum| *sum <= self.limit)
        });
        taken.map(drop).map_err(|used| MemoryRefused::Worker { limit: self.limit, used, asked: bytes })
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A guest asked for more memory than there is for it. Ends the instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum MemoryRefused {
    #[error("used more than {} of memory (limit {limit} bytes, asked for {asked})", mebibytes(*limit))]
    Instance { limit: u64, asked: u64 },
    #[error(
        "needs {asked} more bytes of memory than the worker has left for plugins \
         ({used} of {limit} bytes are in use; `sandbox.memory.budget`)"
    )]
    Worker { limit: u64, used: u64, asked: u64 },
}

/// A guest asked for a function table that no honest component needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("asked for a table of {asked} elements ({MAX_TABLE_ELEMENTS} are allowed)")]
pub(crate) struct TableRefused {
    asked: usize,
}

/// Counts the memory of one instance; gives it back when the store is dropped.
pub(crate) struct Limiter {
    limit: u64,
    used: Arc<AtomicU64>,
    budget: Arc<MemoryBudget>,
    /// What was granted last, in case the engine cannot deliver it.
    last: u64,
}

impl Limiter {
    /// `used` shows others how much the instance has.
    pub(crate) fn new(limit: u64, used: Arc<AtomicU64>, budget: Arc<MemoryBudget>) -> Self {
        Self { limit, used, budget, last: 0 }
    }

    fn grow(&mut self, bytes: u64) -> Result<(), MemoryRefused> {
        let asked = self.used.load(Ordering::Relaxed).saturating_add(bytes);
        if asked > self.limit {
            return Err(MemoryRefused::Instance { limit: self.limit, asked });
        }
        self.budget.take(bytes)?;
        self.used.store(asked, Ordering::Relaxed);
        self.last = bytes;
        Ok(())
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(&mut self, current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        self.grow(desired.saturating_sub(current) as u64)?;
        Ok(true)
    }

    fn memory_grow_failed(&mut self, error: wasmtime::Error) -> wasmtime::Result<()> {
        tracing::debug!(cause = %error, "A memory could not grow.");
        self.used.fetch_sub(self.last, Ordering::Relaxed);
        self.budget.give_back(std::mem::take(&mut self.last));
        Ok(())
    }

    fn table_growing(&mut self, _current: usize, desired: usize, _maximum: Option<usize>) -> wasmtime::Result<bool> {
        if desired > MAX_TABLE_ELEMENTS {
            return Err(TableRefused { asked: desired }.into());
        }
        Ok(true)
    }

    fn instances(&self) -> usize {
        MAX_CORE_INSTANCES
    }

    fn tables(&self) -> usize {
        MAX_TABLES
    }

    fn memories(&self) -> usize {
        MAX_MEMORIES
    }
}

impl Drop for Limiter {
    fn drop(&mut self) {
        self.budget.give_back(self.used.swap(0, Ordering::Relaxed));
    }
}

/// As people write it: `64 MiB`, or bytes where it isn't round.
pub(crate) fn mebibytes(bytes: u64) -> String {
    const MIB: u64 = 1 << 20;
    if bytes > 0 && bytes.is_multiple_of(MIB) { format!("{} MiB", bytes / MIB) } else { format!("{bytes} bytes") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limiter(limit: u64, budget: &Arc<MemoryBudget>) -> Limiter {
        Limiter::new(limit, Arc::default(), Arc::clone(budget))
    }

    #[test]
    fn an_instance_over_its_limit_is_told_the_limit_and_what_it_asked_for() {
        let budget = Arc::new(MemoryBudget::new(u64::MAX));
        let mut limiter = limiter(64 << 20, &budget);
        limiter.grow(64 << 20).unwrap();
        let refused = limiter.grow(1 << 16).unwrap_err();
        assert_eq!(refused.to_string(), "used more than 64 MiB of memory (limit 67108864 bytes, asked for 67174400)");
    }

    #[test]
    fn the_budget_is_shared_and_gets_back_what_a_store_had() {
        let budget = Arc::new(MemoryBudget::new(100));
        let mut first = limiter(100, &budget);
        let mut second = limiter(100, &budget);
        first.grow(70).unwrap();
        assert!(matches!(second.grow(40), Err(MemoryRefused::Worker { limit: 100, used: 70, asked: 40 })));
        drop(first);
        second.grow(40).unwrap();
        assert_eq!(budget.used(), 40);
    }

    #[test]
    fn memory_the_engine_could_not_deliver_is_not_counted() {
        let budget = Arc::new(MemoryBudget::new(100));
        let mut limiter = limiter(100, &budget);
        limiter.grow(60).unwrap();
        limiter.memory_grow_failed(wasmtime::Error::msg("no")).unwrap();
        assert_eq!(budget.used(), 0);
        limiter.grow(100).unwrap();
    }
}
