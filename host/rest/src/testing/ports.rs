//! Doubles of the smaller ports.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulkhead_herder::api::Millis;
use bulkhead_model::Instance;

use crate::levels::{Level, LevelTable};
use crate::ports::{InstanceLimits, InstanceUsage, LoggerLevel, Loggers, SandboxView};

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
pub(crate) struct MemorySandbox(Arc<Mutex<BTreeMap<Instance, InstanceUsage>>>);

impl MemorySandbox {
    pub(crate) fn run(&self, instance: Instance, usage: InstanceUsage) {
        self.0.lock().unwrap().insert(instance, usage);
    }
}

impl SandboxView for MemorySandbox {
    fn usage(&self, instance: &Instance) -> Option<InstanceUsage> {
        self.0.lock().unwrap().get(instance).cloned()
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
