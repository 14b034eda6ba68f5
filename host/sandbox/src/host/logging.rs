//! `logging`.

use crate::output::{self, Level};
use crate::tenant::Tenant;
use crate::v0_1::wit::logging;

impl logging::Host for Tenant {
    fn enabled(&mut self, level: logging::Level, _logger: String) -> bool {
        output::enabled(level.into())
    }

    fn log(&mut self, level: logging::Level, logger: String, message: String, fields: Vec<(String, String)>) {
        self.shared.output.log(level.into(), &logger, &message, &fields);
    }
}

impl From<logging::Level> for Level {
    fn from(level: logging::Level) -> Self {
        match level {
            logging::Level::Trace => Self::Trace,
            logging::Level::Debug => Self::Debug,
            logging::Level::Info => Self::Info,
            logging::Level::Warn => Self::Warn,
            logging::Level::Error => Self::Error,
        }
    }
}
