use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_model::offset::{TopicOffset, TopicPartition};
use bulkhead_pipeline::batch::{Batch, Encoding, SinkBatch, Values};
use bulkhead_pipeline::ports::{Plugins, Rejection, SinkTask};
use bulkhead_sandbox::SandboxedSink;

use crate::{Failure, Inner, name};

/// One task of a sink, which owns partition 0 of one topic.
pub struct SinkRun {
    kit: Arc<Inner>,
    /// Of the connector.
    config: RawConfig,
    task_config: RawConfig,
    task: Option<SandboxedSink>,
    partition: TopicPartition,
    /// Offset of the next record.
    next: i64,
    committed: i64,
}

impl SinkRun {
    pub(crate) fn start(kit: Arc<Inner>, config: RawConfig, task_config: RawConfig) -> Result<Self, Failure> {
        let topics = config.get("topics").unwrap_or("topic");
        let partition = TopicPartition::new(topics.split(',').next().unwrap_or(topics).trim(), 0);
        let mut run = Self { kit, config, task_config, task: None, partition, next: 0, committed: 0 };
        run.restart_from_committed()?;
        Ok(run)
    }

    /// Puts one batch of text values, and answers with the records that the sink refuses.
    pub fn put_texts(&mut self, texts: &[&str]) -> Result<Vec<Rejection>, Failure> {
        let batch = self.batch(texts);
        let Some(task) = &self.task else { return Ok(Vec::new()) };
        let rejected = self.kit.runtime.block_on(task.put(&batch))?;
        self.next += texts.len() as i64;
        Ok(rejected)
    }

    /// Lets the sink make records durable; answers with the offset that may be committed, and commits it.
    pub fn commit(&mut self) -> Result<i64, Failure> {
        let offered = [TopicOffset { partition: self.partition.clone(), offset: self.next }];
        if let Some(task) = &self.task {
            let returned = self.kit.runtime.block_on(task.pre_commit(&offered))?;
            self.committed = returned.first().map_or(self.committed, |returned| returned.offset);
        }
        Ok(self.committed)
    }

    /// Drops the sandbox, as it is: no `close`, no `stop`.
    pub fn kill(&mut self) {
        self.task = None;
    }

    /// Stops the task if it runs, and starts a fresh one, which gets records from the committed offset on.
    pub fn restart_from_committed(&mut self) -> Result<(), Failure> {
        self.stop()?;
        self.next = self.committed;
        let Inner { sandbox, runtime, .. } = &*self.kit;
        let task = runtime.block_on(async {
            let task = sandbox.sink_task(&name().task(0), &self.config).await?;
            task.start(&self.task_config).await?;
            task.open(std::slice::from_ref(&self.partition)).await?;
            Ok::<_, Failure>(task)
        });
        self.task = Some(task?);
        Ok(())
    }

    /// Closes the partition and stops the task.
    pub fn stop(&mut self) -> Result<(), Failure> {
        let Some(task) = self.task.take() else { return Ok(()) };
        self.kit.runtime.block_on(async {
            task.close(std::slice::from_ref(&self.partition)).await?;
            task.stop().await?;
            Ok(())
        })
    }

    fn batch(&self, texts: &[&str]) -> SinkBatch {
        let count = texts.len();
        SinkBatch {
            records: Batch { partition: vec![0; count], ..records(&self.partition.topic, texts) },
            offset: (self.next..self.next + count as i64).collect(),
            timestamp_type: Vec::new(),
            ..SinkBatch::default()
        }
    }
}

/// Records with these values and nothing else.
pub(crate) fn records(topic: &Arc<str>, texts: &[&str]) -> Batch {
    let count = texts.len();
    Batch {
        count,
        topics: vec![topic.clone()],
        keys: Values { encoding: vec![Encoding::None; count], ..Values::default() },
        values: Values {
            encoding: vec![Encoding::Text; count],
            len: texts.iter().map(|text| text.len() as u32).collect(),
            ..Values::default()
        },
        data: texts.concat().into(),
        ..Batch::default()
    }
}
