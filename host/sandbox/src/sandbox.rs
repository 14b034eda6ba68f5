//! The sandbox: what the worker gets its connectors and tasks from.

mod host;
mod parts;
mod plugins;

use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::Instance;
use bulkhead_pipeline::ports::OffsetStore;
use wasmtime::component::Linker;

use crate::cache::Cache;
use crate::catalog::{BrokenFile, Changes, InstallError, Installed, Opener, PluginFile, Upload};
use crate::stats::{Gauge, InstanceStats};
use crate::{Error, Settings, Uploads, engine, v0_1, wasi};

pub(crate) use host::{Host, Limits, Start};

/// All plugins of a worker, and the threads that they run on. Dropping it ends every instance.
pub struct Sandbox {
    settings: Settings,
    installed: Arc<Installed>,
    host: Arc<Host>,
}

impl Sandbox {
    /// Finds the plugins and makes them ready to run. Files that cannot be used are no error: see
    /// [`Self::broken_files`].
    pub async fn open(settings: Settings, offsets: Arc<dyn OffsetStore>) -> Result<Self, Error> {
        let engine = engine::open(settings.max_instances)?;
        let cache = Cache::open(&settings.cache_dir, &engine)?;
        let host = Arc::new(Host::new(&settings, offsets)?);
        let mut linker = Linker::new(&engine);
        wasi::add_to_linker(&mut linker).map_err(Error::engine)?;
        v0_1::add_to_linker(&mut linker).map_err(Error::engine)?;
        let opener = Arc::new(Opener { engine, linker, cache, host: Arc::clone(&host) });
        let installed = Arc::new(Installed::open(&settings.plugin_path, opener).await?);
        if let Some(interval) = settings.scan_interval {
            installed.keep_looking(interval);
        }
        Ok(Self { settings, installed, host })
    }

    /// Files on `plugin.path` that are of no use, or not in full, and why.
    pub fn broken_files(&self) -> Vec<BrokenFile> {
        self.installed.catalog().broken().collect()
    }

    /// All files on `plugin.path`.
    pub fn plugin_files(&self) -> Vec<PluginFile> {
        self.installed.catalog().files.clone()
    }

    /// Tells when what is installed changes.
    pub fn changes(&self) -> Changes {
        self.installed.changes()
    }

    /// Looks for changes on `plugin.path` now. A new file counts once it looks the same twice in a row.
    pub async fn look_again(&self) {
        self.installed.look_again().await;
    }

    /// Begins to take a plugin into the first folder of `plugin.path` that can be written to.
    pub async fn upload(&self) -> Result<Upload, InstallError> {
        Upload::begin(&self.installed).await
    }

    /// Whether that is allowed, and up to which size.
    pub fn uploads(&self) -> Uploads {
        self.settings.uploads
    }

    /// How many instances there are now, and how much memory they have.
    pub fn gauge(&self) -> Gauge {
        self.host.gauge()
    }

    /// The guests' threads. Who calls from there has no sleeping thread to wake, and shares them with every guest.
    pub fn threads(&self) -> &tokio::runtime::Handle {
        self.host.threads()
    }

    /// CPU time used for guests since the sandbox was opened, instances that are gone included.
    pub fn cpu_time(&self) -> Duration {
        self.host.cpu_time()
    }

    /// All instances there are now.
    pub fn instances(&self) -> Vec<InstanceStats> {
        self.host.instances()
    }

    /// The transforms, predicates and converters of a task that have an instance now.
    pub fn parts(&self, instance: &Instance) -> Vec<InstanceStats> {
        self.host.parts(instance)
    }

    /// A connector or task, if it has an instance now.
    pub fn instance(&self, instance: &Instance) -> Option<InstanceStats> {
        self.host.instance(instance)
    }
}
