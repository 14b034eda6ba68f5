//! The sandbox: what the worker gets its connectors and tasks from.

mod host;
mod plugins;

use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::Instance;
use bulkhead_pipeline::ports::OffsetStore;
use futures::future::join_all;
use wasmtime::component::Linker;

use crate::cache::Cache;
use crate::catalog::{self, BrokenFile, Catalog, Opener};
use crate::stats::{Gauge, InstanceStats};
use crate::{Error, Settings, engine, v0_1, wasi};

pub(crate) use host::{Host, Limits, Start};

/// All plugins of a worker, and the threads that they run on. Dropping it ends every instance.
pub struct Sandbox {
    settings: Settings,
    catalog: Catalog,
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
        let files = catalog::scan(&settings.plugin_path)?;
        let opened = join_all(files.into_iter().map(|file| Arc::clone(&opener).open(file))).await;
        let catalog = Catalog::new(opened);
        for BrokenFile { path, reason } in &catalog.broken {
            tracing::warn!(file = %path.display(), reason, "A plugin file cannot be used.");
        }
        Ok(Self { settings, catalog, host })
    }

    /// Files on `plugin.path` that are of no use, or not in full, and why.
    pub fn broken_files(&self) -> &[BrokenFile] {
        &self.catalog.broken
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

    /// A connector or task, if it has an instance now.
    pub fn instance(&self, instance: &Instance) -> Option<InstanceStats> {
        self.host.instance(instance)
    }
}
