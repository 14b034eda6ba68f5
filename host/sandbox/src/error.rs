//! Why a sandbox cannot be opened. What goes wrong with single plugins isn't here: see
//! [`crate::BrokenFile`] and [`bulkhead_pipeline::ports::PluginError`].

use std::io;
use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("worker property `{key}`: {message}")]
    Setting { key: String, message: String },
    #[error("`plugin.path` names `{path}`, which cannot be read")]
    PluginPath { path: PathBuf, source: io::Error },
    #[error("the folder for compiled code `{path}` (`sandbox.cache.dir`) cannot be used")]
    CacheDir { path: PathBuf, source: io::Error },
    #[error("the WebAssembly engine cannot be set up")]
    Engine { source: Box<dyn std::error::Error + Send + Sync> },
    #[error("the threads that guests run on cannot be started")]
    Threads { source: io::Error },
}

impl Error {
    pub(crate) fn setting(key: &str, message: impl Into<String>) -> Self {
        Self::Setting { key: key.to_owned(), message: message.into() }
    }

    pub(crate) fn engine(source: wasmtime::Error) -> Self {
        Self::Engine { source: source.into() }
    }
}
