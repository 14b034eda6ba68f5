//! The `log` crate's lines go to the worker, which adds connector and task and applies the levels set in REST.

use log::{LevelFilter, Log, Metadata, Record};

use crate::bindings::base::bulkhead::connect::logging::Level;
use crate::host;

struct WorkerLog;

/// Sends log lines to the worker from now on; calling it again does nothing.
pub(crate) fn init() {
    if log::set_logger(&WorkerLog).is_ok() {
        log::set_max_level(LevelFilter::Trace); // which levels are kept is for the worker to say
    }
}

impl Log for WorkerLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        host::log_enabled(level(metadata.level()), metadata.target())
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata()) {
            host::log(level(record.level()), record.target(), &record.args().to_string(), &[]);
        }
    }

    fn flush(&self) {}
}

fn level(level: log::Level) -> Level {
    match level {
        log::Level::Error => Level::Error,
        log::Level::Warn => Level::Warn,
        log::Level::Info => Level::Info,
        log::Level::Debug => Level::Debug,
        log::Level::Trace => Level::Trace,
    }
}
