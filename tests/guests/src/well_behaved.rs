//! How a source should be: steady, and exact about its offsets.

use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use bulkhead_sdk::prelude::*;

use crate::source::Settings;

/// Counts, and remembers the count in its offsets.
#[derive(Debug)]
pub(crate) struct WellBehaved {
    topic: String,
    interval: Duration,
    /// When the next record is due: waiting for its turn in a busy worker must not add up.
    due: Instant,
    source: Partition,
    /// Tells this instance from the one before a restart.
    instance: u64,
    count: u64,
    started_at: u64,
    filler: Vec<u8>,
}

impl WellBehaved {
    pub(crate) fn start(settings: &Settings, offsets: &Offsets) -> Result<Self> {
        let task = bulkhead_sdk::context::identity().task.unwrap_or(0);
        let source = Partition::new([("task", task)]);
        let count = offsets.read(&source)?.get_u64("count")?.unwrap_or(0);
        Ok(Self {
            topic: settings.topic.clone(),
            interval: Duration::from_millis(settings.interval_ms.into()),
            due: Instant::now(),
            source,
            instance: RandomState::new().hash_one(0),
            count,
            started_at: count,
            filler: vec![b'x'; settings.value_bytes as usize],
        })
    }

    /// True if a committed offset was there at the start.
    pub(crate) fn resumed(&self) -> bool {
        self.started_at > 0
    }

    /// Waits until a record is due and hands it over: `INSTANCE COUNT`.
    pub(crate) async fn record(&mut self, batch: &mut Batch, wait: &Wait) -> Result<()> {
        self.due = (self.due + self.interval).max(Instant::now());
        wait.sleep(self.due - Instant::now()).await;
        if bulkhead_sdk::context::should_stop() {
            return Ok(());
        }
        batch
            .push(&self.topic)
            .key_fmt(format_args!("{}", self.count))
            .value_fmt(format_args!("{:016x} {}", self.instance, self.count))
            .offset(&self.source, [("count", self.count + 1)]);
        self.count += 1;
        Ok(())
    }

    /// Hands over a whole batch of equal values at once.
    pub(crate) fn tick(&mut self, batch: &mut Batch, settings: &Settings) {
        while batch.len() < settings.batch_records as usize && batch.has_room() {
            batch.push(&self.topic).value_bytes(&self.filler).offset(&self.source, [("count", self.count + 1)]);
            self.count += 1;
        }
    }
}
