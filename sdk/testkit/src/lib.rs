//! Runs a compiled connector in the real sandbox, without Kafka and without a worker.
//!
//! What `bulkhead_sdk::test` does natively and within the author's own language, this does with the
//! finished component, whatever it was written in: limits, grants, traps and all. Start at [`Kit::open`],
//! then [`SourceRun`], [`SinkRun`], [`TransformRun`], [`PredicateRun`] or [`ConverterRun`].
//!
//! ```no_run
//! use bulkhead_testkit::Kit;
//!
//! let kit = Kit::open("target/wasm32-wasip2/release/counter.wasm")?;
//! let mut run = kit.source([("connector.class", "org.example.Counter"), ("topic", "t")])?;
//! assert_eq!(run.take(3)?, ["0", "1", "2"]);
//! run.kill(); // as a crash of the worker would
//! run.restart_from_committed()?;
//! assert_eq!(run.take(1)?, ["0"], "nothing was committed");
//! # Ok::<(), bulkhead_testkit::Failure>(())
//! ```

mod converter;
mod sink;
mod source;
mod transform;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bulkhead_doubles::MemoryOffsets;
use bulkhead_model::config::ConfigValue;
use bulkhead_model::plugin::PluginDesc;
use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::convert::ConvertError;
use bulkhead_pipeline::ports::{Connector, PluginError, Plugins};
use bulkhead_sandbox::{Mode, Sandbox, SandboxedConnector, Settings};
use tempfile::TempDir;
use tokio::runtime::{Builder, Runtime};

pub use bulkhead_pipeline::convert::{Role, SchemaAndValue};
pub use converter::{ConverterRun, Outcomes};
pub use sink::SinkRun;
pub use source::SourceRun;
pub use transform::{PredicateRun, TransformRun};

/// A component file, loaded once for all runs of a test.
pub struct Kit {
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) sandbox: Sandbox,
    pub(crate) offsets: MemoryOffsets,
    pub(crate) runtime: Runtime,
    folder: TempDir,
}

/// Why a run can't go on.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The file can't be used as a plugin.
    #[error("{}: {reason}", .file.display())]
    Unusable { file: PathBuf, reason: String },
    /// What the plugin says, or the sandbox of it.
    #[error(transparent)]
    Plugin(#[from] PluginError),
    #[error("the connector makes no task of this configuration")]
    NoTask,
    /// The configuration doesn't name one.
    #[error("the configuration has no `{0}`")]
    NoConverter(&'static str),
    /// A value that doesn't fit its schema.
    #[error(transparent)]
    Value(#[from] ConvertError),
    /// The plugin handed over less than was asked for.
    #[error("{found} records after {polls} polls, where {wanted} were asked for")]
    TooFew { found: usize, wanted: usize, polls: u32 },
}

impl Kit {
    /// Loads a component. Its instances may use [`Kit::folder`], and what their configuration asks for
    /// by `sandbox.*` keys.
    pub fn open(component: impl AsRef<Path>) -> Result<Self, Failure> {
        let file = component.as_ref();
        let unusable = |reason: String| Failure::Unusable { file: file.to_owned(), reason };
        let folder = tempfile::tempdir().map_err(|error| unusable(error.to_string()))?;
        let runtime = Builder::new_multi_thread().enable_all().build().map_err(|error| unusable(error.to_string()))?;
        let offsets = MemoryOffsets::default();
        let settings = settings(file, &folder).map_err(unusable)?;
        let opened = runtime.block_on(Sandbox::open(settings, Arc::new(offsets.clone())));
        let sandbox = opened.map_err(|error| unusable(error.to_string()))?;
        if let Some(broken) = sandbox.broken_files().first() {
            return Err(unusable(broken.reason.clone()));
        }
        Ok(Self { inner: Arc::new(Inner { sandbox, offsets, runtime, folder }) })
    }

    /// A folder that instances may read and write, under the same path as the test.
    pub fn folder(&self) -> &Path {
        self.inner.folder.path()
    }

    /// What is in the component.
    pub fn plugins(&self) -> Vec<PluginDesc> {
        self.inner.sandbox.catalog().iter().map(|plugin| PluginDesc::clone(plugin)).collect()
    }

    /// What the connector says of a configuration, beyond its definition.
    pub fn validate(&self, config: impl Into<RawConfig>) -> Result<Vec<ConfigValue>, Failure> {
        let config = config.into();
        self.connector(&config, async |connector: &SandboxedConnector| connector.validate(&config).await)
    }

    /// The configurations of at most this many tasks.
    pub fn task_configs(&self, config: impl Into<RawConfig>, max_tasks: u32) -> Result<Vec<RawConfig>, Failure> {
        let config = config.into();
        self.connector(&config, async |connector: &SandboxedConnector| {
            connector.start(&config).await?;
            connector.task_configs(max_tasks).await
        })
    }

    /// Starts the one task that a source makes of this configuration; `connector.class` says which source.
    pub fn source(&self, config: impl Into<RawConfig>) -> Result<SourceRun, Failure> {
        let config = config.into();
        let task = self.only_task(&config)?;
        SourceRun::start(self.inner.clone(), config, task)
    }

    /// Starts the one task that a sink makes of this configuration, with partition 0 of the first of its
    /// `topics` open.
    pub fn sink(&self, config: impl Into<RawConfig>) -> Result<SinkRun, Failure> {
        let config = config.into();
        let task = self.only_task(&config)?;
        SinkRun::start(self.inner.clone(), config, task)
    }

    /// Starts a transformation, with what a configuration would have below its alias; `type` says which.
    pub fn transform(&self, config: impl Into<RawConfig>) -> Result<TransformRun, Failure> {
        TransformRun::start(self.inner.clone(), config.into())
    }

    /// Starts a predicate, in the same way.
    pub fn predicate(&self, config: impl Into<RawConfig>) -> Result<PredicateRun, Failure> {
        PredicateRun::start(self.inner.clone(), config.into())
    }

    /// Starts a converter of keys, values or header values as a connector's configuration has it: `key.converter`,
    /// `value.converter` or `header.converter` says which, and what is below that key is its own.
    pub fn converter(&self, role: Role, config: impl Into<RawConfig>) -> Result<ConverterRun, Failure> {
        ConverterRun::start(self.inner.clone(), role, &config.into())
    }

    fn only_task(&self, config: &RawConfig) -> Result<RawConfig, Failure> {
        self.task_configs(config.clone(), 1)?.into_iter().next().ok_or(Failure::NoTask)
    }

    fn connector<T>(
        &self,
        config: &RawConfig,
        ask: impl AsyncFnOnce(&SandboxedConnector) -> Result<T, PluginError>,
    ) -> Result<T, Failure> {
        let Inner { sandbox, runtime, .. } = &*self.inner;
        runtime.block_on(async {
            let connector = sandbox.connector(&name(), config).await?;
            let answer = ask(&connector).await?;
            connector.stop().await?;
            Ok(answer)
        })
    }
}

fn settings(component: &Path, folder: &TempDir) -> Result<Settings, String> {
    let path = component.canonicalize().map_err(|error| error.to_string())?;
    let files = format!("{}:rw", folder.path().display());
    let properties =
        RawConfig::from([("plugin.path", path.to_string_lossy().into_owned()), ("sandbox.default.files", files)]);
    Settings::parse(&properties, Mode::Standalone).map_err(|error| error.to_string())
}

pub(crate) fn name() -> ConnectorName {
    ConnectorName::new("test")
}
