//! Who is to be told of a delivery.
//!
//! librdkafka carries one machine word with each record. It holds the slot of the record's session and
//! the record's sequence, so a session's slot is given to another only when none of its records is on
//! its way any more.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use bulkhead_pipeline::ports::{ClientError, Delivery};

const SLOT_BITS: u32 = 16;
const SEQUENCE_BITS: u32 = u64::BITS - SLOT_BITS;

// A ticket travels as a pointer.
const _: () = assert!(usize::BITS == u64::BITS);

/// A record on its way: session and sequence in one word. 2^48 sequences last for nine years at a
/// million a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) slot: u16,
    pub(super) sequence: u64,
}

impl Ticket {
    pub(super) fn new(slot: u16, sequence: u64) -> Self {
        Self { slot, sequence }
    }

    pub(super) fn packed(self) -> usize {
        let sequence = self.sequence & ((1 << SEQUENCE_BITS) - 1);
        (u64::from(self.slot) << SEQUENCE_BITS | sequence) as usize
    }

    pub(super) fn unpacked(word: usize) -> Self {
        let word = word as u64;
        Self { slot: (word >> SEQUENCE_BITS) as u16, sequence: word & ((1 << SEQUENCE_BITS) - 1) }
    }
}

/// One task's share in a producer.
pub(super) struct Session {
    pub(super) slot: u16,
    pub(super) max_bytes: usize,
    /// On their way.
    pub(super) records: AtomicUsize,
    pub(super) bytes: AtomicUsize,
    pub(super) delivery: Arc<dyn Delivery>,
    /// The task has gone.
    closed: AtomicBool,
}

impl Session {
    pub(super) fn sent(&self, bytes: usize) {
        self.records.fetch_add(1, Ordering::AcqRel);
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
    }

    /// True for the last record on its way.
    pub(super) fn settled(&self, bytes: usize) -> bool {
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
        self.records.fetch_sub(1, Ordering::AcqRel) == 1
    }
}

/// The sessions of one producer, by slot.
#[derive(Default)]
pub(super) struct Sessions {
    slots: RwLock<Vec<Option<Arc<Session>>>>,
}

impl Sessions {
    pub(super) fn open(&self, delivery: Arc<dyn Delivery>, max_bytes: usize) -> Result<Arc<Session>, ClientError> {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let free = slots.iter().position(Option::is_none).unwrap_or(slots.len());
        let slot = u16::try_from(free)
            .map_err(|_| ClientError(format!("a producer is shared by at most {} tasks", u32::from(u16::MAX) + 1)))?;
        let session = Arc::new(Session {
            slot,
            max_bytes,
            records: AtomicUsize::new(0),
            bytes: AtomicUsize::new(0),
            delivery,
            closed: AtomicBool::new(false),
        });
        if free == slots.len() {
            slots.push(None);
        }
        slots[free] = Some(Arc::clone(&session));
        Ok(session)
    }

    /// The task has gone; its slot is free once its records are settled.
    pub(super) fn close(&self, session: &Session) {
        session.closed.store(true, Ordering::Release);
        if session.records.load(Ordering::Acquire) == 0 {
            self.free(session.slot);
        }
    }

    /// Tells a record's session what became of it.
    pub(super) fn settle(&self, ticket: Ticket, bytes: usize, tell: impl FnOnce(&dyn Delivery)) {
        let Some(session) = self.get(ticket.slot) else {
            tracing::error!(slot = ticket.slot, "A delivery report belongs to no session.");
            return;
        };
        tell(&*session.delivery);
        let last = session.settled(bytes);
        if last && session.closed.load(Ordering::Acquire) {
            self.free(ticket.slot);
        }
    }

    fn get(&self, slot: u16) -> Option<Arc<Session>> {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.get(usize::from(slot))?.clone()
    }

    /// Open ones, and closed ones whose records are still on their way.
    pub(super) fn count(&self) -> usize {
        let slots = self.slots.read().unwrap_or_else(PoisonError::into_inner);
        slots.iter().flatten().count()
    }

    /// Frees a slot whose session is closed and settled. Both who closes and who settles may come here
    /// for the same session, and the slot may have a new owner by then: hence the second look.
    fn free(&self, slot: u16) {
        let mut slots = self.slots.write().unwrap_or_else(PoisonError::into_inner);
        let entry = &mut slots[usize::from(slot)];
        let over = entry.as_ref().is_some_and(|session| {
            session.closed.load(Ordering::Acquire) && session.records.load(Ordering::Acquire) == 0
        });
        if over {
            *entry = None;
        }
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("slot", &self.slot)
            .field("records", &self.records)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use bulkhead_pipeline::ports::{ProduceError, Written};

    use super::*;

    #[derive(Default)]
    struct Kept(Mutex<Vec<u64>>);

    impl Delivery for Kept {
        fn delivered(&self, sequence: u64, _outcome: Result<Written, ProduceError>) {
            self.0.lock().unwrap().push(sequence);
        }

        fn wants_written(&self) -> bool {
            false
        }
    }

    #[test]
    fn a_ticket_comes_back_as_it_was() {
        for ticket in
            [Ticket::new(0, 0), Ticket::new(u16::MAX, (1 << SEQUENCE_BITS) - 1), Ticket::new(258, 1_000_000_007)]
        {
            assert_eq!(Ticket::unpacked(ticket.packed()), ticket);
        }
    }

    #[test]
    fn a_slot_is_not_reused_before_the_last_delivery() {
        let sessions = Sessions::default();
        let kept = Arc::new(Kept::default());
        let first = sessions.open(kept.clone(), 100).unwrap();
        first.sent(10);
        first.sent(10);
        sessions.close(&first);
        assert_eq!(sessions.open(kept.clone(), 100).unwrap().slot, 1);

        let failed = || Err(ProduceError::Retriable(String::new()));
        sessions.settle(Ticket::new(0, 7), 10, |delivery| delivery.delivered(7, failed()));
        assert_eq!(sessions.open(kept.clone(), 100).unwrap().slot, 2);
        sessions.settle(Ticket::new(0, 8), 10, |delivery| delivery.delivered(8, failed()));
        assert_eq!(sessions.open(kept.clone(), 100).unwrap().slot, 0);
        assert_eq!(*kept.0.lock().unwrap(), [7, 8]);
    }

    #[test]
    fn sessions_that_have_gone_leave_nothing() {
        let sessions = Sessions::default();
        let session = sessions.open(Arc::new(Kept::default()), 100).unwrap();
        assert_eq!(sessions.count(), 1);
        sessions.close(&session);
        assert_eq!(sessions.count(), 0);
    }
}
