//! How the worker steers a loop, and what the loop tells it.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use crate::guest::GuestFailure;
use crate::ports::{Crash, ErrorInfo, PluginError};
use crate::tolerance::Stage;

/// What is wanted of a running task; carried by a `watch` channel, so that only the newest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    Running,
    Paused,
    Stop,
}

/// What a loop tells the worker while it runs. Called from the loop; must not wait.
pub trait Observer: Send + Sync + 'static {
    /// The task is up: `start` has returned, or it is paused before its first call.
    fn started(&self);
    fn paused(&self);
    fn resumed(&self);
    /// The task uses a topic for the first time in this run, or since topics were forgotten (KIP-558).
    fn topic_used(&self, topic: &str);
    /// How often the topics that the task uses were forgotten, so that they are to be told again.
    fn topics_forgotten(&self) -> u64 {
        0
    }
}

/// The topics that a loop has told its observer of.
#[derive(Debug, Default)]
pub(crate) struct ToldTopics {
    told: HashSet<Arc<str>>,
    forgotten: u64,
}

impl ToldTopics {
    /// Forgets what the observer has forgotten. Once for each batch.
    pub(crate) fn look(&mut self, observer: &impl Observer) {
        let forgotten = observer.topics_forgotten();
        if std::mem::replace(&mut self.forgotten, forgotten) != forgotten {
            self.told.clear();
        }
    }

    pub(crate) fn contains(&self, topic: &str) -> bool {
        self.told.contains(topic)
    }

    pub(crate) fn tell(&mut self, topic: Arc<str>, observer: &impl Observer) {
        observer.topic_used(&topic);
        self.told.insert(topic);
    }
}

/// Why a task ended by itself.
#[derive(Debug, thiserror::Error)]
pub enum TaskFailure {
    /// The plugin said so, or the sandbox ended it.
    #[error("{call}: {error}")]
    Plugin { call: Call, error: PluginError },
    /// A transform or predicate in a sandbox of its own said so, or the sandbox ended it.
    #[error("{0}")]
    Guest(#[from] GuestFailure),
    /// The plugin asked for another try for longer than is allowed.
    #[error("{call}: {error} (tried again for {after:?}: errors.retry.timeout)")]
    GaveUp { call: Call, error: ErrorInfo, after: Duration },
    /// A record could not be processed, and `errors.tolerance` is `none`.
    #[error("{record} failed at stage {stage}: {message} (with errors.tolerance=all it would be skipped)")]
    Record { record: String, stage: Stage, message: String },
    /// The client of Kafka, or the store of offsets.
    #[error("{0}")]
    Client(String),
}

/// The calls into a task, as failures name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    Start,
    Poll,
    Committed,
    Open,
    Put,
    PreCommit,
    Close,
    Stop,
}

impl TaskFailure {
    /// What the status shows: the sandbox's own account of a crash, which names the call, or the
    /// message.
    pub fn trace(&self) -> String {
        match self {
            Self::Plugin { error: PluginError::Crashed(Crash { trace, .. }), .. } => trace.clone(),
            Self::Plugin { .. } | Self::Guest(_) | Self::GaveUp { .. } | Self::Record { .. } | Self::Client(_) => {
                self.to_string()
            }
        }
    }
}

/// Waits until a paused task is wanted to run or to stop; a closed channel means stop.
pub(crate) async fn wait_while_paused(wanted: &mut watch::Receiver<Wanted>) -> Wanted {
    match wanted.wait_for(|wanted| *wanted != Wanted::Paused).await {
        Ok(wanted) => *wanted,
        Err(_) => Wanted::Stop,
    }
}

/// For `map_err` on calls into the plugin.
pub(crate) fn failed_in(call: Call) -> impl FnOnce(PluginError) -> TaskFailure {
    move |error| TaskFailure::Plugin { call, error }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Start => "start",
            Self::Poll => "poll",
            Self::Committed => "committed",
            Self::Open => "open",
            Self::Put => "put",
            Self::PreCommit => "pre-commit",
            Self::Close => "close",
            Self::Stop => "stop",
        })
    }
}
