//! A connector's own offset topic (`offsets.storage.topic`, KIP-618), with the worker's topic behind it.

use std::collections::HashMap;

use bulkhead_model::ConnectorName;
use bulkhead_model::offset::{SourceOffset, SourcePartition};
use bulkhead_pipeline::ports::{BoxFuture, OffsetStore, OffsetStoreError, OffsetWrite};

use super::OffsetTopic;

/// Two topics as one store. The connector's own counts; the worker's is read where that one says nothing,
/// and written too, so that a connector that gives its topic up goes on where it was.
#[derive(Clone, Debug)]
pub struct OwnTopic {
    own: OffsetTopic,
    worker: OffsetTopic,
}

impl OwnTopic {
    /// The topics have to be two: if a connector names the worker's own, that one alone is its store.
    pub fn new(own: OffsetTopic, worker: OffsetTopic) -> Self {
        Self { own, worker }
    }

    /// What is forgotten has to be forgotten behind first: should the second write fail, the old offset of
    /// the worker's topic would come to light again.
    async fn append(&self, connector: &ConnectorName, offsets: Vec<OffsetWrite>) -> Result<(), OffsetStoreError> {
        let (forgotten, kept): (Vec<_>, Vec<_>) = offsets.iter().cloned().partition(|(_, offset)| offset.is_none());
        if !forgotten.is_empty() {
            self.worker.append(connector, &forgotten)?.await?;
        }
        self.own.append(connector, &offsets)?.await?;
        if !kept.is_empty() {
            let behind = self.worker.append(connector, &kept)?;
            let connector = connector.clone();
            // Nobody waits for it: it counts for nothing as long as the own topic is there.
            tokio::spawn(async move {
                if let Err(error) = behind.await {
                    tracing::warn!(%connector, %error, "Offsets are in the connector's own topic only.");
                }
            });
        }
        Ok(())
    }
}

impl OffsetStore for OwnTopic {
    fn read(
        &self,
        connector: &ConnectorName,
        partitions: Vec<SourcePartition>,
    ) -> BoxFuture<Result<Vec<Option<SourceOffset>>, OffsetStoreError>> {
        let own = self.own.read(connector, partitions.clone());
        let behind = self.worker.read(connector, partitions);
        Box::pin(async move {
            let (own, behind) = tokio::try_join!(own, behind)?;
            Ok(own.into_iter().zip(behind).map(|(own, behind)| own.or(behind)).collect())
        })
    }

    fn all(
        &self,
        connector: &ConnectorName,
    ) -> BoxFuture<Result<Vec<(SourcePartition, SourceOffset)>, OffsetStoreError>> {
        let (own, behind) = (self.own.all(connector), self.worker.all(connector));
        Box::pin(async move {
            let (own, behind) = tokio::try_join!(own, behind)?;
            let both = behind.into_iter().chain(own).map(|entry| (entry.0.canonical(), entry));
            let merged: HashMap<_, _> = both.collect();
            let mut merged: Vec<_> = merged.into_iter().collect();
            merged.sort_by(|(a, _), (b, _)| a.cmp(b));
            Ok(merged.into_iter().map(|(_, entry)| entry).collect())
        })
    }

    fn write(&self, connector: &ConnectorName, offsets: Vec<OffsetWrite>) -> BoxFuture<Result<(), OffsetStoreError>> {
        let (store, connector) = (self.clone(), connector.clone());
        Box::pin(async move { store.append(&connector, offsets).await })
    }
}
