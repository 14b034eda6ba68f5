//! Where source offsets are kept: a file of a standalone worker, the offsets topic of a cluster.

use bulkhead_model::offset::{SourceOffset, SourcePartition};
use bulkhead_model::{ConnectorName, RawConfig};

use super::BoxFuture;

/// A partition's new offset; none forgets the partition.
pub type OffsetWrite = (SourcePartition, Option<SourceOffset>);

/// Shared by all source tasks of a worker, and a trait object because sandboxes hold it as well.
///
/// Partitions are compared after sorting their members ([`SourcePartition::canonical`]).
pub trait OffsetStore: Send + Sync + 'static {
    /// Comes before anything else is asked for a source connector: its configuration may name a store of
    /// its own (`offsets.storage.topic`).
    fn configure(&self, _connector: &ConnectorName, _config: &RawConfig) -> BoxFuture<Result<(), OffsetStoreError>> {
        Box::pin(async { Ok(()) })
    }

    /// The last committed offset of each partition, in the order asked.
    fn read(
        &self,
        connector: &ConnectorName,
        partitions: Vec<SourcePartition>,
    ) -> BoxFuture<Result<Vec<Option<SourceOffset>>, OffsetStoreError>>;

    /// Everything committed for a connector.
    fn all(
        &self,
        connector: &ConnectorName,
    ) -> BoxFuture<Result<Vec<(SourcePartition, SourceOffset)>, OffsetStoreError>>;

    /// Durable once the answer is there.
    fn write(&self, connector: &ConnectorName, offsets: Vec<OffsetWrite>) -> BoxFuture<Result<(), OffsetStoreError>>;
}

/// The store could not be read or written.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct OffsetStoreError(pub String);
