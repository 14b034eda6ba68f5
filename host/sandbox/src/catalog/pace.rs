//! How much of the machine compiling may take.

use tokio::task::{JoinError, spawn_blocking};

/// See the module's documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// All of it: nothing runs yet.
    AtOnce,
    /// What others leave: one thread with the lowest priority.
    InBackground,
}

impl Pace {
    /// Does work that computes for long or waits for files.
    pub(crate) async fn work<T: Send + 'static>(
        self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, JoinError> {
        spawn_blocking(move || match self {
            Self::AtOnce => work(),
            Self::InBackground => in_background(work),
        })
        .await
    }
}

/// In a pool of its own, since the compiler takes the threads of the pool that it is called from.
fn in_background<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).thread_name(|_| "plugin-compiler".to_owned());
    match pool.start_handler(|_| yield_to_others()).build() {
        Ok(pool) => pool.install(work),
        Err(error) => {
            tracing::warn!(%error, "No thread for compiling in the background.");
            work()
        }
    }
}

#[cfg(target_os = "linux")]
fn yield_to_others() {
    const LOWEST: i32 = 19;
    // On Linux this is about the calling thread alone.
    if let Err(error) = rustix::process::setpriority_process(None, LOWEST) {
        tracing::debug!(%error, "The compiler's thread keeps its priority.");
    }
}

#[cfg(not(target_os = "linux"))]
fn yield_to_others() {}
