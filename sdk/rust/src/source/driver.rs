//! Drives one source task, for a component's exports and for native tests alike.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use super::batch::Sizes;
use super::wait::Pace;
use super::{Batch, Delivery, SourceTask, Wait};
use crate::Result;
use crate::bindings::source::exports::bulkhead::connect::source_task::SourceBatch;

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// A [`SourceTask`] of whatever type.
pub(crate) trait AnyTask {
    fn wants_deliveries(&self) -> bool;
    fn poll<'a>(&'a mut self, batch: &'a mut Batch, wait: Wait) -> Answer<'a, ()>;
    fn committed<'a>(&'a mut self, deliveries: &'a [Delivery]) -> Answer<'a, ()>;
    fn offsets_committed(&mut self) -> Answer<'_, ()>;
    fn stop(&mut self) -> Answer<'_, ()>;
}

impl<T: SourceTask> AnyTask for T {
    fn wants_deliveries(&self) -> bool {
        T::WANTS_DELIVERIES
    }

    fn poll<'a>(&'a mut self, batch: &'a mut Batch, wait: Wait) -> Answer<'a, ()> {
        Box::pin(SourceTask::poll(self, batch, wait))
    }

    fn committed<'a>(&'a mut self, deliveries: &'a [Delivery]) -> Answer<'a, ()> {
        Box::pin(SourceTask::committed(self, deliveries))
    }

    fn offsets_committed(&mut self) -> Answer<'_, ()> {
        Box::pin(SourceTask::offsets_committed(self))
    }

    fn stop(&mut self) -> Answer<'_, ()> {
        Box::pin(SourceTask::stop(self))
    }
}

/// A started task and what outlives its polls.
pub(crate) struct Driver {
    task: Box<dyn AnyTask>,
    pace: Rc<Pace>,
    expected: Sizes,
}

impl Driver {
    pub(crate) fn new(task: Box<dyn AnyTask>) -> Self {
        Self { task, pace: Rc::default(), expected: Sizes::default() }
    }

    pub(crate) fn wants_deliveries(&self) -> bool {
        self.task.wants_deliveries()
    }

    pub(crate) async fn poll(&mut self, max_wait: u32, max_records: u32, max_bytes: u32) -> Result<SourceBatch> {
        let room = Rc::new(Cell::new(max_records as usize));
        let mut batch = Batch::new(Rc::clone(&room), max_bytes as usize, self.expected);
        let wait = Wait::new(Duration::from_millis(max_wait.into()), room, Rc::clone(&self.pace));
        self.task.poll(&mut batch, wait).await?;
        let (batch, sizes) = batch.finish()?;
        self.expected = sizes;
        Ok(batch)
    }

    pub(crate) async fn committed(&mut self, deliveries: &[Delivery]) -> Result<()> {
        self.task.committed(deliveries).await
    }

    pub(crate) async fn offsets_committed(&mut self) -> Result<()> {
        self.task.offsets_committed().await
    }

    pub(crate) async fn stop(&mut self) -> Result<()> {
        self.task.stop().await
    }
}
