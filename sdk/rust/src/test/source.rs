use std::collections::VecDeque;
use std::marker::PhantomData;
use std::time::Duration;

use serde_json::Value as Json;

use super::block_on;
use super::seen::{Seen, Taken};
use crate::component::start_source;
use crate::config::RawConfig;
use crate::offsets::{Fields, Partition};
use crate::source::{Driver, SourceTask};
use crate::{Error, Result, host, logging, offsets};

/// What the worker asks for in one `poll`.
const MAX_WAIT: u32 = 1_000;
const MAX_RECORDS: u32 = 2_000;
const MAX_BYTES: u32 = 4 << 20;

/// A source that gives nothing in this many polls in a row won't give any more.
const PATIENCE: u32 = 100;

/// Runs one task of a source, as the worker would.
///
/// Records that were [taken](Self::take) count as delivered, and their offsets as committed; those that the task handed over
/// beyond are lost at a restart, as if the worker had crashed in the middle of a batch.
pub struct SourceRun<T> {
    config: RawConfig,
    driver: Driver,
    /// Handed over by the task and not taken yet.
    ahead: VecDeque<Seen>,
    task: PhantomData<T>,
}

impl<T: SourceTask> SourceRun<T> {
    /// Starts a task of a new connector, which has no offsets yet. Panics if it doesn't start.
    pub fn start(config: impl Into<RawConfig>) -> Self {
        Self::try_start(config).unwrap_or_else(|error| panic!("the task doesn't start: {error}"))
    }

    /// The same, or says why it doesn't start.
    pub fn try_start(config: impl Into<RawConfig>) -> Result<Self> {
        host::native::with(|host| host.committed.clear());
        Self::resume(config)
    }

    fn resume(config: impl Into<RawConfig>) -> Result<Self> {
        logging::init();
        host::native::with(|host| host.stop_at = None);
        let config = config.into();
        let driver = block_on(start_source::<T>(config.clone()))?;
        Ok(Self { config, driver, ahead: VecDeque::new(), task: PhantomData })
    }

    /// Starts a task that finds these committed offsets.
    pub fn start_at(config: impl Into<RawConfig>, partition: &Partition, offset: impl Fields) -> Self {
        let mut json = Vec::new();
        offsets::write_json(&offset, &mut json);
        host::native::with(|host| host.committed.clear());
        commit(partition.json(), &String::from_utf8_lossy(&json));
        Self::resume(config).unwrap_or_else(|error| panic!("the task doesn't start: {error}"))
    }

    /// Polls once and answers with what the task handed over, without counting it as delivered.
    pub fn poll(&mut self) -> Result<Taken> {
        block_on(self.driver.poll(MAX_WAIT, MAX_RECORDS, MAX_BYTES)).and_then(Seen::all).map(Taken)
    }

    /// Polls until there are `count` records, and takes them. Panics if a poll fails or no more come.
    pub fn take(&mut self, count: usize) -> Taken {
        let mut fruitless = 0;
        while self.ahead.len() < count {
            let handed = self.poll().unwrap_or_else(|error| panic!("a poll failed: {error}"));
            fruitless = if handed.is_empty() { fruitless + 1 } else { 0 };
            assert!(fruitless < PATIENCE, "the source gave {} records, not {count}", self.ahead.len());
            self.ahead.extend(handed.0);
        }
        self.deliver(count)
    }

    /// Polls until a poll gives nothing, and takes everything. Panics if a poll fails.
    pub fn take_all(&mut self) -> Taken {
        loop {
            let handed = self.poll().unwrap_or_else(|error| panic!("a poll failed: {error}"));
            if handed.is_empty() {
                return self.deliver(self.ahead.len());
            }
            self.ahead.extend(handed.0);
        }
    }

    /// Drops the task as if it had crashed, and starts a fresh one from the offsets committed so far.
    pub fn restart_from_committed(&mut self) {
        let config = self.config.clone();
        self.driver = block_on(start_source::<T>(config)).unwrap_or_else(|error| panic!("no restart: {error}"));
        self.ahead.clear();
    }

    /// The offset committed for a partition, as JSON.
    pub fn committed(&self, partition: &Partition) -> Option<String> {
        let wanted = json(partition.json());
        host::native::with(|host| {
            host.committed.iter().find(|(known, _)| *known == wanted).map(|(_, offset)| offset.clone())
        })
    }

    /// The next reading of offsets, in a start that is to come on this thread, fails with this.
    pub fn fail_next_offsets(error: Error) {
        host::native::with(|host| host.fail_offsets = Some(error));
    }

    /// The worker says stop so long from now, by the stand-in's clock. Waits end then.
    pub fn stop_after(&mut self, duration: Duration) {
        host::native::with(|host| host.stop_at = Some(host.now + duration));
    }

    /// Stops the task.
    pub fn stop(mut self) -> Result<()> {
        block_on(self.driver.stop())
    }

    fn deliver(&mut self, count: usize) -> Taken {
        let records: Vec<Seen> = self.ahead.drain(..count).collect();
        for (partition, offset) in records.iter().filter_map(|record| record.offset.as_ref()) {
            commit(partition, offset);
        }
        Taken(records)
    }
}

fn commit(partition: &str, offset: &str) {
    let partition = json(partition);
    host::native::with(|host| {
        host.committed.retain(|(known, _)| *known != partition);
        host.committed.push((partition, offset.to_owned()));
    });
}

fn json(text: &str) -> Json {
    serde_json::from_str(text).expect("the SDK writes JSON")
}

impl<T> std::fmt::Debug for SourceRun<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SourceRun").field("config", &self.config).field("ahead", &self.ahead).finish_non_exhaustive()
    }
}
