//! The threads that guests run on.
//!
//! They are a tokio runtime of their own, so that REST, group membership and Kafka never wait for a
//! guest; and one that looks at its timers often, because a guest that computes without end is always
//! ready to run.

use tokio::runtime::{Builder, Handle, Runtime};

use crate::Error;

/// Polls between two looks at timers and sockets. Tokio's 61 would let a 5 ms timer fire twice a second
/// beside one guest that never waits.
const EVENT_INTERVAL: u32 = 2;

/// Threads for files and name lookups, which block.
const BLOCKING_THREADS: usize = 64;

pub(crate) struct GuestRuntime(Option<Runtime>);

impl GuestRuntime {
    pub(crate) fn start(threads: usize) -> Result<Self, Error> {
        Builder::new_multi_thread()
            .worker_threads(threads)
            .max_blocking_threads(BLOCKING_THREADS)
            .event_interval(EVENT_INTERVAL)
            .thread_name("guests")
            .enable_all()
            .build()
            .map(|runtime| Self(Some(runtime)))
            .map_err(|source| Error::Threads { source })
    }

    pub(crate) fn handle(&self) -> &Handle {
        self.0.as_ref().expect("the runtime is there until drop").handle()
    }
}

impl Drop for GuestRuntime {
    /// A runtime's own drop waits for blocking work, which async code must not do.
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}
