//! Source offsets in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bulkhead_model::ConnectorName;
use bulkhead_model::offset::{SourceOffset, SourcePartition};
use bulkhead_pipeline::ports::{BoxFuture, OffsetStore, OffsetStoreError, OffsetWrite};

type Stored = BTreeMap<(ConnectorName, String), (SourcePartition, SourceOffset)>;

/// Keeps what was committed; fails the next writes if told to.
#[derive(Clone, Debug, Default)]
pub struct MemoryOffsets {
    stored: Arc<Mutex<Stored>>,
    failures: Arc<Mutex<u32>>,
}

impl MemoryOffsets {
    /// The offset text of a partition.
    pub fn get(&self, connector: &str, partition: &str) -> Option<String> {
        let key = (ConnectorName::new(connector), SourcePartition(partition.into()).canonical());
        self.lock().get(&key).map(|(_, offset)| offset.0.to_string())
    }

    pub fn fail_next_writes(&self, count: u32) {
        *self.failures.lock().unwrap_or_else(PoisonError::into_inner) = count;
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Stored> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn store(&self, connector: &ConnectorName, offsets: Vec<OffsetWrite>) -> Result<(), OffsetStoreError> {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if *failures > 0 {
            *failures -= 1;
            return Err(OffsetStoreError("told to fail".to_owned()));
        }
        let mut stored = self.lock();
        for (partition, offset) in offsets {
            let key = (connector.clone(), partition.canonical());
            match offset {
                Some(offset) => stored.insert(key, (partition, offset)),
                None => stored.remove(&key),
            };
        }
        Ok(())
    }
}

impl OffsetStore for MemoryOffsets {
    fn read(
        &self,
        connector: &ConnectorName,
        partitions: Vec<SourcePartition>,
    ) -> BoxFuture<Result<Vec<Option<SourceOffset>>, OffsetStoreError>> {
        let stored = self.lock();
        let of = |partition: &SourcePartition| stored.get(&(connector.clone(), partition.canonical()));
        let found = partitions.iter().map(|partition| of(partition).map(|(_, offset)| offset.clone())).collect();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn all(
        &self,
        connector: &ConnectorName,
    ) -> BoxFuture<Result<Vec<(SourcePartition, SourceOffset)>, OffsetStoreError>> {
        let stored = self.lock();
        let mine = stored.iter().filter(|((owner, _), _)| owner == connector).map(|(_, entry)| entry.clone()).collect();
        Box::pin(std::future::ready(Ok(mine)))
    }

    fn write(&self, connector: &ConnectorName, offsets: Vec<OffsetWrite>) -> BoxFuture<Result<(), OffsetStoreError>> {
        Box::pin(std::future::ready(self.store(connector, offsets)))
    }
}
