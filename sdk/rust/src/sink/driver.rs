//! Drives one sink task, for a component's exports and for native tests alike.

use std::future::Future;
use std::pin::Pin;

use super::{Rejections, Schemas, SinkBatch, SinkTask};
use crate::bindings::sink::exports::bulkhead::connect::sink_task as wit;
use crate::data::Schema;
use crate::{Result, TopicOffset, TopicPartition};

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// A [`SinkTask`] of whatever type.
pub(crate) trait AnyTask {
    fn put<'a>(&'a mut self, batch: &'a SinkBatch) -> Answer<'a, Rejections>;
    fn pre_commit<'a>(&'a mut self, offered: &'a [TopicOffset]) -> Answer<'a, Vec<TopicOffset>>;
    fn open<'a>(&'a mut self, partitions: &'a [TopicPartition]) -> Answer<'a, ()>;
    fn close<'a>(&'a mut self, partitions: &'a [TopicPartition]) -> Answer<'a, ()>;
    fn stop(&mut self) -> Answer<'_, ()>;
}

impl<T: SinkTask> AnyTask for T {
    fn put<'a>(&'a mut self, batch: &'a SinkBatch) -> Answer<'a, Rejections> {
        Box::pin(SinkTask::put(self, batch))
    }

    fn pre_commit<'a>(&'a mut self, offered: &'a [TopicOffset]) -> Answer<'a, Vec<TopicOffset>> {
        Box::pin(SinkTask::pre_commit(self, offered))
    }

    fn open<'a>(&'a mut self, partitions: &'a [TopicPartition]) -> Answer<'a, ()> {
        Box::pin(SinkTask::open(self, partitions))
    }

    fn close<'a>(&'a mut self, partitions: &'a [TopicPartition]) -> Answer<'a, ()> {
        Box::pin(SinkTask::close(self, partitions))
    }

    fn stop(&mut self) -> Answer<'_, ()> {
        Box::pin(SinkTask::stop(self))
    }
}

/// A started task and the schemas that the worker has shown to it.
pub(crate) struct Driver {
    task: Box<dyn AnyTask>,
    schemas: Schemas,
}

impl Driver {
    pub(crate) fn new(task: Box<dyn AnyTask>) -> Self {
        Self { task, schemas: Schemas::new() }
    }

    pub(crate) async fn put(&mut self, mut batch: wit::SinkBatch) -> Result<Rejections> {
        for schema in std::mem::take(&mut batch.records.schemas) {
            self.schemas.insert(schema.id, Schema::from_nodes(schema.nodes)?);
        }
        let batch = SinkBatch::new(batch, std::mem::take(&mut self.schemas));
        let outcome = self.task.put(&batch).await;
        self.schemas = batch.into_schemas();
        outcome
    }

    pub(crate) async fn pre_commit(&mut self, offered: &[TopicOffset]) -> Result<Vec<TopicOffset>> {
        self.task.pre_commit(offered).await
    }

    pub(crate) async fn open(&mut self, partitions: &[TopicPartition]) -> Result<()> {
        self.task.open(partitions).await
    }

    pub(crate) async fn close(&mut self, partitions: &[TopicPartition]) -> Result<()> {
        self.task.close(partitions).await
    }

    pub(crate) async fn stop(&mut self) -> Result<()> {
        self.task.stop().await
    }
}
