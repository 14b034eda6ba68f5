//! What can go wrong with a command.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the worker at {url} can't be asked")]
    Unreachable { url: String, source: Box<ureq::Error> },
    /// The worker's own words.
    #[error("{message} (HTTP {status})")]
    Refused { status: u16, message: String },
    #[error("{request} was answered with HTTP {status}, but not as a Connect worker answers")]
    NotConnect { request: String, status: u16 },
    #[error("the answer to {request} isn't what a Connect worker answers")]
    Unexpected { request: String, source: serde_json::Error },
    #[error("{} can't be read", .file.display())]
    Unreadable { file: PathBuf, source: io::Error },
    #[error("{} can't be used: {message}", .file.display())]
    Unusable { file: PathBuf, message: String },
    #[error("{} can't be written", .file.display())]
    Unwritable { file: PathBuf, source: io::Error },
    #[error("the output can't be written")]
    Output(#[source] io::Error),
    #[error("something of it still runs after {} s (`--wait` gives it more)", .waited.as_secs())]
    StillRuns { waited: Duration },
    #[error("errors in the configuration: {count}")]
    Invalid { count: u64 },
    #[error("{0}")]
    Usage(String),
    /// Some of it happened.
    #[error("{done}, but then")]
    Partly { done: String, source: Box<Error> },
    #[error("`{name}` isn't stopped, which `--stop-and-resume` would see to")]
    NotStopped { name: String, source: Box<Error> },
}

impl Error {
    /// Whoever reads the output has read enough.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, Self::Output(error) if error.kind() == io::ErrorKind::BrokenPipe)
    }

    /// As the command line has it.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(if matches!(self, Self::Usage(_)) { 2 } else { 1 })
    }

    /// For `map_err`, where something was done before.
    pub fn after(done: String) -> impl FnOnce(Self) -> Self {
        |source| Self::Partly { done, source: Box::new(source) }
    }
}
