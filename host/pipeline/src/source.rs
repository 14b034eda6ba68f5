//! The source loop: polls a task, converts what it hands over, produces it, and commits the offsets of
//! what Kafka has acknowledged. At least once.
//!
//! Start at [`SourceLoop::run`]. The next poll runs in the sandbox while the batch before it is being
//! converted and sent; back-pressure is the number and the bytes of records that Kafka has not
//! acknowledged ([`SourceSettings`]).
//!
//! **Invariant:** an offset is committed only after its record, and every record before it in the same
//! source partition, was acknowledged or skipped by `errors.tolerance`.

mod encode;
mod lookup;
mod run;
mod send;
mod submitted;
mod topics;

use std::time::Duration;

pub use encode::Encoder;
pub use run::SourceLoop;
pub use topics::{TopicCreation, TopicCreationError, TopicCreator};

pub use crate::acks::Acks;

use crate::ports::PollLimits;

/// Bounds and intervals of a source task.
#[derive(Clone, Copy, Debug)]
pub struct SourceSettings {
    /// `offset.flush.interval.ms`
    pub flush_interval: Duration,
    /// `offset.flush.timeout.ms`: how long one commit, and the wait for acknowledgements at the end, may take.
    pub flush_timeout: Duration,
    /// Polling stops while more records than this are unacknowledged. Each takes some 200 bytes beside its own in the
    /// producer's queue, which small records fill long before `max_outstanding_bytes` if the broker is slow.
    pub max_outstanding_records: usize,
    /// Polling stops while unacknowledged records weigh more than this.
    pub max_outstanding_bytes: usize,
    pub poll: PollLimits,
}

impl Default for SourceSettings {
    fn default() -> Self {
        Self {
            flush_interval: Duration::from_secs(60),
            flush_timeout: Duration::from_secs(5),
            max_outstanding_records: 20_000,
            max_outstanding_bytes: 32 << 20,
            poll: PollLimits { max_wait_ms: 1_000, max_records: 5_000, max_bytes: 32 << 20 },
        }
    }
}
