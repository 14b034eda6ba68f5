//! A sandbox to try guests in.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bulkhead_doubles::MemoryOffsets;
use bulkhead_model::{ConnectorName, RawConfig};
use bulkhead_pipeline::ports::{PluginError, Plugins, PollLimits, SourceTask};
use bulkhead_sandbox::{Mode, Sandbox, SandboxedSource, Settings};

use crate::plugin;

pub const HOSTILE: &str = "io.bulkhead.test.Hostile";
pub const HOSTILE_SINK: &str = "io.bulkhead.test.HostileSink";

/// What the worker gives a source by default.
pub const POLL: PollLimits = PollLimits { max_wait_ms: 1000, max_records: 2000, max_bytes: 4 << 20 };

/// An open sandbox with its offsets.
pub struct Bench {
    pub sandbox: Sandbox,
    pub offsets: MemoryOffsets,
}

impl Bench {
    /// Opens a sandbox over compiled guests, with tight limits so that tests are quick.
    pub async fn open(guests: &[&str], properties: &[(&str, &str)]) -> Self {
        let files: Vec<PathBuf> = guests.iter().map(|name| plugin(name)).collect();
        Self::over(&files, properties).await
    }

    /// The same over any files.
    pub async fn over(files: &[PathBuf], properties: &[(&str, &str)]) -> Self {
        let offsets = MemoryOffsets::default();
        let sandbox = Sandbox::open(settings(files, properties), Arc::new(offsets.clone()));
        Self { sandbox: sandbox.await.expect("the sandbox opens"), offsets }
    }

    /// Brings a hostile source to life and starts it.
    pub async fn hostile(&self, name: &str, mode: &str, more: &[(&str, &str)]) -> Result<SandboxedSource, PluginError> {
        self.source(name, &source_config(mode, more)).await
    }

    /// Brings a source's task 0 to life and starts it.
    pub async fn source(&self, name: &str, config: &RawConfig) -> Result<SandboxedSource, PluginError> {
        let task = ConnectorName::new(name).task(0);
        let source = self.sandbox.source_task(&task, config).await?;
        source.start(config).await?;
        Ok(source)
    }
}

fn settings(files: &[PathBuf], properties: &[(&str, &str)]) -> Settings {
    let files: Vec<_> = files.iter().map(|file| file.display().to_string()).collect();
    let mut all = RawConfig::from([
        ("plugin.path", files.join(",")),
        ("sandbox.cache.dir", cache().display().to_string()),
        ("sandbox.max.instances", "1200".to_owned()),
        ("sandbox.cpu.burst.ms", "500".to_owned()),
        ("sandbox.call.timeout.ms", "20000".to_owned()),
        ("task.shutdown.graceful.timeout.ms", "1000".to_owned()),
    ]);
    for (key, value) in properties {
        all.set(*key, *value);
    }
    Settings::parse(&all, Mode::Standalone).expect("the settings are right")
}

/// One cache for all tests, so that each guest is compiled once.
fn cache() -> PathBuf {
    std::env::temp_dir().join("bulkhead-sandbox-tests")
}

/// A configuration of the hostile source.
pub fn source_config(mode: &str, more: &[(&str, &str)]) -> RawConfig {
    let mut config = RawConfig::from([("connector.class", HOSTILE), ("mode", mode), ("interval.ms", "10")]);
    for (key, value) in more {
        config.set(*key, *value);
    }
    config
}

/// Long enough for anything that happens at once.
pub const SOON: Duration = Duration::from_secs(5);
