use std::collections::VecDeque;
use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_model::offset::{SourceOffset, SourcePartition};
use bulkhead_pipeline::batch::SourceBatch;
use bulkhead_pipeline::ports::{OffsetStore, OffsetWrite, Plugins, PollLimits, SourceTask};
use bulkhead_sandbox::SandboxedSource;

use crate::{Failure, Inner, name};

const LIMITS: PollLimits = PollLimits { max_wait_ms: 500, max_records: 10_000, max_bytes: 32 << 20 };

/// Polls without a record before a source counts as having no more.
const PATIENCE: u32 = 20;

/// One task of a source.
pub struct SourceRun {
    kit: Arc<Inner>,
    /// Of the connector.
    config: RawConfig,
    task_config: RawConfig,
    /// None after [`Self::kill`].
    task: Option<SandboxedSource>,
    /// Polled, but not taken yet: texts of values, and what to commit with each.
    ahead: VecDeque<(String, Option<OffsetWrite>)>,
    /// Of the records taken since the last commit.
    uncommitted: Vec<OffsetWrite>,
}

impl SourceRun {
    pub(crate) fn start(kit: Arc<Inner>, config: RawConfig, task_config: RawConfig) -> Result<Self, Failure> {
        let mut run = Self { kit, config, task_config, task: None, ahead: VecDeque::new(), uncommitted: Vec::new() };
        run.restart_from_committed()?;
        Ok(run)
    }

    /// The values of the next records as text; polls until there are as many.
    pub fn take(&mut self, count: usize) -> Result<Vec<String>, Failure> {
        let mut polls = 0;
        let mut idle = 0;
        while self.ahead.len() < count {
            if idle == PATIENCE {
                return Err(Failure::TooFew { found: self.ahead.len(), wanted: count, polls });
            }
            polls += 1;
            idle = if self.poll()? == 0 { idle + 1 } else { 0 };
        }
        let mut texts = Vec::with_capacity(count);
        for (text, offset) in self.ahead.drain(..count) {
            texts.push(text);
            self.uncommitted.extend(offset);
        }
        Ok(texts)
    }

    /// Polls once, and says how many records came.
    pub fn poll(&mut self) -> Result<usize, Failure> {
        let Some(task) = &self.task else { return Ok(0) };
        let batch = self.kit.runtime.block_on(task.poll(LIMITS))?;
        let (count, mut offset_at) = (batch.records.count, 0);
        let mut offset_len = 0;
        for record in batch.records.records() {
            let text = String::from_utf8_lossy(record.value.bytes).into_owned();
            let len = batch.offset_len.get(record.index).map_or(0, |len| *len as usize);
            if len > 0 {
                (offset_at, offset_len) = (offset_at + offset_len, len);
            }
            self.ahead.push_back((text, offset(&batch, record.index, offset_at, offset_len)));
        }
        Ok(count)
    }

    /// Commits the offsets of all records taken so far, as the worker does now and then.
    pub fn commit(&mut self) -> Result<(), Failure> {
        let writes = std::mem::take(&mut self.uncommitted);
        let Inner { offsets, runtime, .. } = &*self.kit;
        // The store is in memory and has not been told to fail.
        let _ = runtime.block_on(offsets.write(&name(), writes));
        match &self.task {
            Some(task) => Ok(runtime.block_on(task.offsets_committed())?),
            None => Ok(()),
        }
    }

    /// Drops the sandbox, as it is: no `stop`, no commit.
    pub fn kill(&mut self) {
        self.task = None;
        self.ahead.clear();
        self.uncommitted.clear();
    }

    /// Stops the task if it runs, and starts a fresh one that finds the offsets committed so far.
    pub fn restart_from_committed(&mut self) -> Result<(), Failure> {
        self.stop()?;
        let Inner { sandbox, runtime, .. } = &*self.kit;
        let task = runtime.block_on(async {
            let task = sandbox.source_task(&name().task(0), &self.config).await?;
            task.start(&self.task_config).await?;
            Ok::<_, Failure>(task)
        });
        self.task = Some(task?);
        Ok(())
    }

    /// Stops the task.
    pub fn stop(&mut self) -> Result<(), Failure> {
        self.ahead.clear();
        self.uncommitted.clear();
        match self.task.take() {
            Some(task) => Ok(self.kit.runtime.block_on(task.stop())?),
            None => Ok(()),
        }
    }
}

fn offset(batch: &SourceBatch, index: usize, start: usize, len: usize) -> Option<OffsetWrite> {
    if len == 0 {
        return None;
    }
    let partition = batch.partition.get(index).map_or(0, |partition| *partition as usize);
    let text = String::from_utf8_lossy(&batch.offsets[start..start + len]);
    Some((SourcePartition(batch.partitions[partition].0.clone()), Some(SourceOffset(text.into()))))
}
