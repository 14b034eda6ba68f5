//! Logs to standard output, without secrets, and with levels that `/admin/loggers` changes while the worker runs.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulkhead_rest::{Level, LevelTable, LoggerLevel, Loggers};
use bulkhead_worker::Secrets;
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

/// Starts logging; `secrets` are left out of it. To be called once, before anything is logged.
pub fn init(secrets: Secrets) -> Arc<TracingLoggers> {
    let table = LevelTable::new(Level::Info);
    let (filter, handle) = reload::Layer::new(targets(&table));
    let lines = tracing_subscriber::fmt::layer().with_ansi(io::stdout().is_terminal());
    let lines = lines.with_writer(move || Masked { secrets: secrets.clone(), out: io::stdout() });
    tracing_subscriber::registry().with(lines.with_filter(filter)).init();
    Arc::new(TracingLoggers { table: Mutex::new(table), filter: handle })
}

fn targets(table: &LevelTable) -> Targets {
    let (root, others) = table.filters();
    Targets::new().with_default(root).with_targets(others)
}

/// Writes whole lines, which is how they come, with references where they hold secrets: whoever logs, a
/// plugin or a client, may not know that it does.
struct Masked<W> {
    secrets: Secrets,
    out: W,
}

impl<W: Write> Write for Masked<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.out.write_all(self.secrets.mask(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use bulkhead_model::RawConfig;
    use bulkhead_worker::Providers;

    use super::*;

    #[test]
    fn lines_are_written_without_secrets() {
        let properties = RawConfig::from([("config.providers", "e"), ("config.providers.e.class", "EnvVar")]);
        let variables = BTreeMap::from([("KEY".to_owned(), "S3CRET-42".to_owned())]);
        let secrets = Secrets::default();
        let providers = Providers::from_properties(&properties, &variables, secrets.clone()).unwrap();
        let mut written = Masked { secrets, out: Vec::new() };
        providers.resolve(&RawConfig::from([("k", "${e:KEY}")]));
        written.write_all(b"a S3CRET-42 line\n").unwrap();
        assert_eq!(written.out, b"a ${e:KEY} line\n");
    }
}
