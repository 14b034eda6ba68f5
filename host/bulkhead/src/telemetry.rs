//! Logs to standard output, with levels that `/admin/loggers` changes while the worker runs.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulkhead_rest::{Level, LevelTable, LoggerLevel, Loggers};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::reload;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

use crate::driver::now;

/// The levels in force, and the way to change them.
pub struct TracingLoggers {
    table: Mutex<LevelTable>,
    filter: reload::Handle<Targets, Registry>,
}

/// Starts logging. To be called once, before anything is logged.
pub fn init() -> Arc<TracingLoggers> {
    let table = LevelTable::new(Level::Info);
    let (filter, handle) = reload::Layer::new(targets(&table));
    let lines = tracing_subscriber::fmt::layer().with_ansi(std::io::stdout().is_terminal());
    tracing_subscriber::registry().with(lines.with_filter(filter)).init();
    Arc::new(TracingLoggers { table: Mutex::new(table), filter: handle })
}

fn targets(table: &LevelTable) -> Targets {
    let (root, others) = table.filters();
    Targets::new().with_default(root).with_targets(others)
}

impl TracingLoggers {
    fn lock(&self) -> MutexGuard<'_, LevelTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Loggers for TracingLoggers {
    fn list(&self) -> BTreeMap<String, LoggerLevel> {
        self.lock().list()
    }

    fn get(&self, logger: &str) -> Option<LoggerLevel> {
        self.lock().get(logger)
    }

    fn set(&self, logger: &str, level: Level) -> Vec<String> {
        let mut table = self.lock();
        let changed = table.set(logger, level, now());
        if let Err(error) = self.filter.reload(targets(&table)) {
            tracing::error!(%error, "The new log level could not be put in force.");
        }
        changed
    }
}
