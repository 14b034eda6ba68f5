//! SIGTERM and SIGINT.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// The orders to end that this process gets.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    /// From now on these signals don't end the process by themselves.
    pub fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Completes with the next one, also with one that came before it was waited for. Safe to drop.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
