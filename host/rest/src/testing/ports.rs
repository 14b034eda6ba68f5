//! Doubles of the smaller ports.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulkhead_herder::api::Millis;
use bulkhead_model::Instance;
use bulkhead_model::plugin::PluginKind;

use super::plugin;
use crate::levels::{Level, LevelTable};
use crate::ports::{
    BoxFuture, Installed, InstanceLimits, InstanceUsage, LoggerLevel, Loggers, PartUsage, PluginFile, PluginFiles,
    PluginUpload, SandboxView, UploadError,
};

/// Levels that nothing follows; the clock stands at 7.
pub(crate) struct MemoryLoggers(Mutex<LevelTable>);

impl MemoryLoggers {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(LevelTable::new(Level::Info)))
    }
}

impl Loggers for MemoryLoggers {
    fn list(&self) -> BTreeMap<String, LoggerLevel> {
        self.0.lock().unwrap().list()
    }

    fn get(&self, logger: &str) -> Option<LoggerLevel> {
        self.0.lock().unwrap().get(logger)
    }

    fn set(&self, logger: &str, level: Level) -> Vec<String> {
        self.0.lock().unwrap().set(logger, level, Millis(7))
    }
}

/// Says of instances what it was told.
#[derive(Clone, Default)]
pub(crate) struct MemorySandbox(Arc<Mutex<BTreeMap<Instance, Running>>>);

struct Running {
    usage: InstanceUsage,
    parts: Vec<PartUsage>,
}

impl MemorySandbox {
    pub(crate) fn run(&self, instance: Instance, usage: InstanceUsage) {
        self.run_with_parts(instance, usage, Vec::new());
    }

    pub(crate) fn run_with_parts(&self, instance: Instance, usage: InstanceUsage, parts: Vec<PartUsage>) {
        self.0.lock().unwrap().insert(instance, Running { usage, parts });
    }
}

impl SandboxView for MemorySandbox {
    fn usage(&self, instance: &Instance) -> Option<InstanceUsage> {
        Some(self.0.lock().unwrap().get(instance)?.usage.clone())
    }

    fn parts(&self, instance: &Instance) -> Vec<PartUsage> {
        self.0.lock().unwrap().get(instance).map(|running| running.parts.clone()).unwrap_or_default()
    }
}

/// Takes any text for the class of a plugin, but for a few that it refuses.
#[derive(Clone, Default)]
pub(crate) struct MemoryPluginFiles(Arc<Mutex<Files>>);

#[derive(Default)]
struct Files {
    max_bytes: Option<u64>,
    files: Vec<PluginFile>,
}

struct MemoryUpload {
    to: MemoryPluginFiles,
    text: String,
}

impl MemoryPluginFiles {
    /// Takes plugins of up to this size from now on.
    pub(crate) fn take(&self, max_bytes: u64) {
        self.0.lock().unwrap().max_bytes = Some(max_bytes);
    }

    pub(crate) fn add_broken(&self, name: &str, faults: &[&str]) {
        let faults = faults.iter().map(|fault| (*fault).to_owned()).collect();
        let file = PluginFile { name: name.to_owned(), digest: None, plugins: Vec::new(), faults };
        self.0.lock().unwrap().files.push(file);
    }
}

impl PluginFiles for MemoryPluginFiles {
    fn list(&self) -> Vec<PluginFile> {
        self.0.lock().unwrap().files.clone()
    }

    fn max_bytes(&self) -> Option<u64> {
        self.0.lock().unwrap().max_bytes
    }

    fn begin(&self) -> BoxFuture<'_, Result<Box<dyn PluginUpload>, UploadError>> {
        let upload = MemoryUpload { to: self.clone(), text: String::new() };
        Box::pin(async move { Ok(Box::new(upload) as Box<dyn PluginUpload>) })
    }
}

impl PluginUpload for MemoryUpload {
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), UploadError>> {
        self.text.push_str(str::from_utf8(bytes).unwrap());
        Box::pin(async { Ok(()) })
    }

    fn install(self: Box<Self>) -> BoxFuture<'static, Result<Installed, UploadError>> {
        let text = str::to_owned;
        let refusal = match self.text.as_str() {
            "" => Some(UploadError::Unusable(text("the component is empty"))),
            "taken" => Some(UploadError::Conflict(text("the version is taken"))),
            "busy" => Some(UploadError::Busy(text("another plugin comes in"))),
            "broken disk" => Some(UploadError::Failed(text("the disk is broken"))),
            _ => None,
        };
        Box::pin(async move {
            if let Some(refusal) = refusal {
                return Err(refusal);
            }
            let plugin = Arc::new(plugin(&self.text, PluginKind::Source, Some("1.0"), &[]));
            let simple = self.text.rsplit('.').next().unwrap();
            let (name, digest) = (format!("{simple}-1.0.wasm"), Some(self.text.len().to_string()));
            let file = PluginFile { name, digest, plugins: vec![plugin], faults: Vec::new() };
            let files = &mut self.to.0.lock().unwrap().files;
            let is_new = !files.contains(&file);
            if is_new {
                files.push(file.clone());
            }
            Ok(Installed { file, is_new })
        })
    }
}

/// Of an instance that has used a bit of everything.
pub(crate) fn usage() -> InstanceUsage {
    InstanceUsage {
        memory_bytes: 20,
        peak_memory_bytes: 40,
        cpu: Duration::from_millis(1_500),
        dropped_log_lines: 7,
        limits: InstanceLimits {
            memory_bytes: 64,
            call_timeout: Duration::from_secs(30),
            cpu_burst: Duration::from_secs(10),
        },
    }
}
