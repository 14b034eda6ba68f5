//! From a file to a component that can be instantiated.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::{ConnectorName, Instance};
use bulkhead_pipeline::ports::PluginError;
use wasmtime::Engine;
use wasmtime::component::{Component, InstancePre, Linker};

use super::pace::Pace;
use super::{Manifest, Plugins, version};
use crate::cache::{self, Cache};
use crate::grant::Grant;
use crate::instance::{Budget, Op};
use crate::sandbox::Host;
use crate::tenant::Tenant;
use crate::v0_1::{Indices, Role};

/// What a component may use to say what it is: more than enough for an honest one.
const MANIFEST_BUDGET: Budget = Budget { wall: Duration::from_secs(10), cpu: Duration::from_secs(2) };
/// Memory on top of what the component starts with.
const MANIFEST_MEMORY: u64 = 64 << 20;
const MAX_PLUGINS: usize = 100;
const MAX_KEYS: usize = 2_000;

/// What it takes to open component files.
pub(crate) struct Opener {
    pub(crate) engine: Engine,
    pub(crate) linker: Linker<Tenant>,
    pub(crate) cache: Cache,
    pub(crate) host: Arc<Host>,
}

impl Opener {
    /// Compiles what is in a file, or takes its code from the cache, and asks it for its manifest.
    pub(crate) async fn open(self: Arc<Self>, path: PathBuf, bytes: Vec<u8>, pace: Pace) -> Result<Plugins, String> {
        let this = Arc::clone(&self);
        let compiled = pace.work(move || this.compile(&bytes)).await;
        let compiled = compiled.map_err(|panic| format!("cannot be compiled: {panic}"))??;
        let initial_memory = initial_memory(&compiled.component)?;
        let pre = self.linker.instantiate_pre(&compiled.component).map_err(|error| missing(&error))?;
        let indices = Arc::new(Indices::of(&pre).map_err(|error| missing(&error))?);
        let manifest = match compiled.manifest {
            Some(manifest) => manifest,
            None => {
                let manifest = self.ask(&path, &pre, &indices, initial_memory).await?;
                let (this, component, kept) = (Arc::clone(&self), compiled.component, manifest.clone());
                let digest = compiled.digest.clone();
                let store = move || this.cache.store(&digest, &component, &kept);
                pace.work(store).await.map_err(|panic| panic.to_string())?;
                manifest
            }
        };
        Ok(Plugins { path, digest: compiled.digest, pre, indices, manifest, initial_memory })
    }

    fn compile(&self, bytes: &[u8]) -> Result<Compiled, String> {
        let digest = cache::digest(bytes);
        if let Some((component, manifest)) = self.cache.load(&self.engine, &digest) {
            return Ok(Compiled { digest, component, manifest: Some(manifest) });
        }
        check_header(bytes)?;
        let component =
            Component::new(&self.engine, bytes).map_err(|error| format!("is no valid component: {error:#}"))?;
        let kind = component.component_type();
        let imports = kind.imports(&self.engine).map(|(name, _)| name);
        let exports = kind.exports(&self.engine).map(|(name, _)| name);
        version::check(imports.chain(exports))?;
        Ok(Compiled { digest, component, manifest: None })
    }

    /// Asks an instance without capabilities what is in the component.
    async fn ask(
        &self,
        path: &Path,
        pre: &InstancePre<Tenant>,
        indices: &Arc<Indices>,
        initial_memory: u64,
    ) -> Result<Manifest, String> {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let instance = Instance::Connector(ConnectorName::new(name));
        let memory = initial_memory.saturating_add(MANIFEST_MEMORY);
        let grant = Grant::computing(memory, MANIFEST_BUDGET.wall);
        let start = crate::sandbox::Start {
            pre,
            indices,
            role: Role::Manifest,
            instance,
            part: None,
            class: "its manifest",
            budget: MANIFEST_BUDGET,
        };
        let handle = self.host.start(start, &grant).map_err(|error| of_manifest(&error))?;
        let asked = handle.call(Op::Manifest, MANIFEST_BUDGET, |accessor, exports| {
            Box::pin(async move {
                let guest = exports.manifest()?;
                let mut plugins = Vec::new();
                for plugin in guest.call_plugins(accessor).await?.into_iter().take(MAX_PLUGINS) {
                    let mut keys = guest.call_config_keys(accessor, plugin.name.clone()).await?;
                    keys.truncate(MAX_KEYS);
                    plugins.push((plugin, keys));
                }
                Ok(Manifest { plugins })
            })
        });
        let manifest = asked.await.map_err(|error| of_manifest(&error))?;
        if manifest.plugins.is_empty() {
            return Err("its manifest lists no plugin".to_owned());
        }
        Ok(manifest)
    }
}

struct Compiled {
    digest: String,
    component: Component,
    /// Known if the code came from the cache.
    manifest: Option<Manifest>,
}

/// Says of the commonest wrong files what they are.
fn check_header(bytes: &[u8]) -> Result<(), String> {
    match bytes.get(..8) {
        Some([0, b'a', b's', b'm', _, _, 1, 0]) => Ok(()),
        Some([0, b'a', b's', b'm', ..]) => {
            Err("is a core module; a component is needed (target wasm32-wasip2)".to_owned())
        }
        Some(_) | None => Err("is no WebAssembly file".to_owned()),
    }
}

fn missing(error: &wasmtime::Error) -> String {
    format!("does not fit this worker: {error:#}")
}

fn of_manifest(error: &PluginError) -> String {
    let cause = match error {
        PluginError::Crashed(crash) => crash.cause.clone(),
        PluginError::Retriable(_) | PluginError::Failed(_) | PluginError::Config { .. } | PluginError::Data(_) => {
            error.to_string()
        }
    };
    format!("cannot tell what it is: {cause}")
}

/// Bytes of the largest memory that the component starts with.
fn initial_memory(component: &Component) -> Result<u64, String> {
    const PAGE: u64 = 64 << 10;
    let required = component.resources_required().ok_or("imports core modules, which no plugin needs")?;
    let pages = required.max_initial_memory_size.unwrap_or(0);
    Ok(pages.saturating_mul(PAGE))
}
