use std::cell::Cell;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::rc::Rc;

use super::block_on;
use super::seen::schema_definitions;
use crate::bindings::sink::exports::bulkhead::connect::sink_task as wit;
use crate::component::start_sink;
use crate::config::RawConfig;
use crate::sink::{Driver, Rejections, SinkTask};
use crate::source::Batch;
use crate::{Result, TopicOffset, TopicPartition, host, logging};

/// Runs one task of a sink, as the worker would.
pub struct SinkRun<T> {
    config: RawConfig,
    driver: Driver,
    /// What was put since the last commit, to be put again after a restart.
    uncommitted: Vec<wit::SinkBatch>,
    /// Offsets behind the last record put, by topic and partition.
    positions: BTreeMap<(String, i32), i64>,
    batches: u64,
    task: PhantomData<T>,
}

impl<T: SinkTask> SinkRun<T> {
    /// Starts a task. Panics if it doesn't start.
    pub fn start(config: impl Into<RawConfig>) -> Self {
        Self::try_start(config).unwrap_or_else(|error| panic!("the task doesn't start: {error}"))
    }

    /// Starts a task, or says why it doesn't start.
    pub fn try_start(config: impl Into<RawConfig>) -> Result<Self> {
        logging::init();
        let config = config.into();
        let driver = block_on(start_sink::<T>(config.clone()))?;
        Ok(Self { config, driver, uncommitted: Vec::new(), positions: BTreeMap::new(), batches: 0, task: PhantomData })
    }

    /// Puts one record for each text.
    pub fn put_texts<'a>(&mut self, topic: &str, texts: impl IntoIterator<Item = &'a str>) -> Result<Rejections> {
        self.put(|batch| {
            for text in texts {
                batch.push(topic).value(text);
            }
        })
    }

    /// Puts records that are made as a source makes them: `run.put(|batch| { batch.push("t").key("k").value("v"); })`. They
    /// come from partition 0 if they don't say otherwise, at the offsets behind those put before.
    pub fn put(&mut self, fill: impl FnOnce(&mut Batch)) -> Result<Rejections> {
        let mut batch = Batch::new(Rc::new(Cell::new(usize::MAX)), usize::MAX / 2, Default::default());
        fill(&mut batch);
        let batch = self.as_consumed(batch)?;
        self.uncommitted.push(batch);
        self.put_again()
    }

    /// Puts the last batch once more, as the worker does after a `retriable` error.
    pub fn put_again(&mut self) -> Result<Rejections> {
        let batch = self.uncommitted.last().cloned().expect("put something first");
        block_on(self.driver.put(batch))
    }

    /// Asks which offsets may be committed, and commits them.
    pub fn commit(&mut self) -> Result<Vec<TopicOffset>> {
        let offered: Vec<TopicOffset> = self
            .positions
            .iter()
            .map(|((topic, partition), &offset)| TopicOffset { topic: topic.clone(), partition: *partition, offset })
            .collect();
        let committed = block_on(self.driver.pre_commit(&offered))?;
        if committed == offered {
            self.uncommitted.clear();
        }
        Ok(committed)
    }

    /// Drops the task as if it had crashed, starts a fresh one and puts again what wasn't committed, in whole batches.
    pub fn restart_from_committed(&mut self) -> Result<()> {
        self.driver = block_on(start_sink::<T>(self.config.clone()))?;
        for batch in self.uncommitted.clone() {
            block_on(self.driver.put(batch))?;
        }
        Ok(())
    }

    /// Assigns partitions.
    pub fn open(&mut self, partitions: &[TopicPartition]) -> Result<()> {
        host::native::with(|host| host.assignment.extend_from_slice(partitions));
        block_on(self.driver.open(partitions))
    }

    /// Takes partitions away.
    pub fn close(&mut self, partitions: &[TopicPartition]) -> Result<()> {
        host::native::with(|host| host.assignment.retain(|assigned| !partitions.contains(assigned)));
        block_on(self.driver.close(partitions))
    }

    /// Stops the task.
    pub fn stop(mut self) -> Result<()> {
        block_on(self.driver.stop())
    }

    /// Gives each record of a batch its offset, as if it had been read from Kafka.
    fn as_consumed(&mut self, batch: Batch) -> Result<wit::SinkBatch> {
        let (produced, _) = batch.finish()?;
        let mut records = produced.records;
        let rows = records.count as usize;
        records.partition.resize(rows, 0);
        records.partition.iter_mut().for_each(|partition| *partition = (*partition).max(0));
        records.schemas = schema_definitions();
        let mut next = |row: usize| {
            let topic = records.topics[records.topic.get(row).copied().unwrap_or(0) as usize].clone();
            let position = self.positions.entry((topic, records.partition[row])).or_default();
            *position += 1;
            *position - 1
        };
        let offset = (0..rows).map(&mut next).collect();
        self.batches += 1;
        Ok(wit::SinkBatch {
            id: self.batches,
            records,
            offset,
            timestamp_type: Vec::new(),
            original_topic: Vec::new(),
            original_partition: Vec::new(),
            original_offset: Vec::new(),
        })
    }
}

impl<T> std::fmt::Debug for SinkRun<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SinkRun")
            .field("config", &self.config)
            .field("positions", &self.positions)
            .finish_non_exhaustive()
    }
}
