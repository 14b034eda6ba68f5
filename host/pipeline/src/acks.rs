//! The bridge from the client's delivery thread to the loop.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use crate::ports::{Delivery, ProduceError, Written};

/// How long to wait for room in the producer's queue, if no delivery comes before.
const QUEUE_FULL_WAIT: Duration = Duration::from_millis(20);

/// Deliveries since the loop last looked. One for each task.
#[derive(Debug, Default)]
pub struct Acks {
    arrived: Mutex<Arrived>,
    notify: Notify,
    wants_written: AtomicBool,
}

/// What arrived, in order of arrival.
#[derive(Debug, Default)]
pub struct Arrived {
    /// Acknowledged sequences as half-open ranges: acknowledgements mostly come in order.
    pub acked: Vec<(u64, u64)>,
    pub failed: Vec<(u64, ProduceError)>,
    /// Where records were written, if the task wants to know.
    pub written: Vec<(u64, Written)>,
}

impl Acks {
    /// Whether to keep where records were written; not, unless asked.
    pub fn want_written(&self, wanted: bool) {
        self.wants_written.store(wanted, Relaxed);
    }

    /// Takes what arrived.
    pub fn take(&self) -> Arrived {
        std::mem::take(&mut *self.lock())
    }

    /// Resolves when something has arrived since the last [`Acks::take`]. May resolve once too often.
    pub async fn arrived(&self) {
        self.notify.notified().await;
    }

    /// Waits for room in the producer's queue: for the next delivery, but not for long.
    pub(crate) async fn room(&self) {
        let _ = timeout(QUEUE_FULL_WAIT, self.arrived()).await;
    }

    fn lock(&self) -> MutexGuard<'_, Arrived> {
        self.arrived.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Delivery for Acks {
    fn delivered(&self, sequence: u64, outcome: Result<Written, ProduceError>) {
        let mut arrived = self.lock();
        match outcome {
            Ok(written) => {
                match arrived.acked.last_mut() {
                    Some((_, end)) if *end == sequence => *end += 1,
                    Some(_) | None => arrived.acked.push((sequence, sequence + 1)),
                }
                if self.wants_written() {
                    arrived.written.push((sequence, written));
                }
            }
            Err(error) => arrived.failed.push((sequence, error)),
        }
        drop(arrived);
        self.notify.notify_one();
    }

    fn wants_written(&self) -> bool {
        self.wants_written.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Written {
        Written { topic: "t".into(), partition: 0, offset: 0, timestamp: 0 }
    }

    #[test]
    fn acknowledgements_in_order_are_one_range() {
        let acks = Acks::default();
        for sequence in [0, 1, 2, 4, 5] {
            acks.delivered(sequence, Ok(written()));
        }
        acks.delivered(3, Err(ProduceError::Record("too large".to_owned())));
        let arrived = acks.take();
        assert_eq!(arrived.acked, [(0, 3), (4, 6)]);
        assert_eq!(arrived.failed.len(), 1);
        assert!(arrived.written.is_empty());
        assert!(acks.take().acked.is_empty());
    }
}
