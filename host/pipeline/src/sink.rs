//! The sink loop: consumes, converts, puts, and commits what the task has made durable. At least once.
//!
//! Start at [`SinkLoop::run`]. A batch whose `put` failed with a retriable error is kept and put again,
//! with all partitions paused meanwhile; membership goes on, since the consumer is asked all the time.
//!
//! **Invariant:** an offset is committed only if `pre_commit` returned it and it isn't past what was
//! put; nothing is committed while a record that was reported is on its way to the dead-letter queue;
//! partitions are let go only after their last commit and `close`.

mod dead_letters;
mod decode;
mod faults;
mod fetch;
mod lookup;
mod positions;
mod run;
mod transform;

use std::time::Duration;

pub use dead_letters::{DeadLetterSettings, DeadLetters, has_reporter};
pub use decode::Decoder;
pub use run::SinkLoop;

pub use crate::acks::Acks;

/// Bounds and intervals of a sink task.
#[derive(Clone, Copy, Debug)]
pub struct SinkSettings {
    /// `offset.flush.interval.ms`
    pub flush_interval: Duration,
    /// `offset.flush.timeout.ms`: how long a commit waits for the dead-letter queue.
    pub flush_timeout: Duration,
    /// `max.poll.records` of the consumer. The default isn't Java's 500: a `put` crosses threads four times,
    /// whatever it carries.
    pub max_records: usize,
    /// No batch is larger than this, unless its first record is.
    pub max_bytes: usize,
}

impl Default for SinkSettings {
    fn default() -> Self {
        Self {
            flush_interval: Duration::from_secs(60),
            flush_timeout: Duration::from_secs(5),
            max_records: 5_000,
            max_bytes: 8 << 20,
        }
    }
}
