//! The way from the reader's thread to whoever takes the events: as many bytes as [`ROOM`] wait on it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::runtime::Handle;
use tokio::sync::{Notify, Semaphore, mpsc};

use super::LogEvent;

/// Bytes of events that wait to be taken; the reader stops when there are more. A single larger record
/// passes alone.
const ROOM: u32 = 4 * 1024 * 1024;

/// What an event costs beside key and value.
const OVERHEAD: usize = 128;

/// What a log brings, in order. Closed when the log is.
#[derive(Debug)]
pub struct LogEvents {
    events: mpsc::UnboundedReceiver<(LogEvent, u32)>,
    room: Arc<Semaphore>,
}

/// The thread's side.
pub(super) struct Sender {
    events: mpsc::UnboundedSender<(LogEvent, u32)>,
    room: Arc<Semaphore>,
    runtime: Handle,
    closing: Arc<Closing>,
}

/// Tells the thread, wherever it waits, that the log is closed.
#[derive(Debug, Default)]
pub(super) struct Closing {
    closed: AtomicBool,
    told: Notify,
}

/// Nobody takes events any more.
#[derive(Debug)]
pub(super) struct Closed;

/// Has to be called in a runtime.
pub(super) fn channel() -> (Sender, LogEvents) {
    let (sender, events) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(ROOM as usize));
    let closing = Arc::default();
    let sender = Sender { events: sender, room: Arc::clone(&room), runtime: Handle::current(), closing };
    (sender, LogEvents { events, room })
}

impl LogEvents {
    /// The next event; none when the log is closed. Safe to drop half-way.
    pub async fn next(&mut self) -> Option<LogEvent> {
        let (event, cost) = self.events.recv().await?;
        self.room.add_permits(cost as usize);
        Some(event)
    }
}

impl Drop for LogEvents {
    /// Who waits for room waits no longer.
    fn drop(&mut self) {
        self.room.close();
    }
}

impl Sender {
    /// Hands an event over; waits as long as there is no room.
    pub(super) fn send(&self, event: LogEvent) -> Result<(), Closed> {
        let cost = cost(&event);
        match self.room.try_acquire_many(cost) {
            Ok(permits) => permits.forget(),
            Err(_) => self.runtime.block_on(self.wait(cost))?,
        }
        self.events.send((event, cost)).map_err(|_| Closed)
    }

    async fn wait(&self, cost: u32) -> Result<(), Closed> {
        let told = self.closing.told.notified();
        if self.closing.is_closed() {
            return Err(Closed);
        }
        tokio::select! {
            permits = self.room.acquire_many(cost) => permits.map_err(|_| Closed)?.forget(),
            () = told => return Err(Closed),
        }
        Ok(())
    }

    pub(super) fn closing(&self) -> Arc<Closing> {
        Arc::clone(&self.closing)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.closing.is_closed() || self.events.is_closed()
    }
}

impl Closing {
    pub(super) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        // There is one thread, which may be about to wait.
        self.told.notify_one();
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

fn cost(event: &LogEvent) -> u32 {
    let bytes = match event {
        LogEvent::Record(record) => [&record.key, &record.value].into_iter().flatten().map(|bytes| bytes.len()).sum(),
        LogEvent::ReadToEnd { .. } => 0,
    };
    u32::try_from(bytes + OVERHEAD).unwrap_or(ROOM).min(ROOM)
}
