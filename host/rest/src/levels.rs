//! Log levels by logger, by Connect's rules (KIP-495): a level is set for a logger and all below it.

use std::collections::BTreeMap;

use bulkhead_herder::api::Millis;
use tracing::level_filters::LevelFilter;
use utoipa::ToSchema;

use crate::ports::{LoggerLevel, Loggers};

/// The name of the logger above all others, understood in any case.
const ROOT: &str = "root";

/// The levels of Log4j, from the one that lets everything through to the one that lets nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ToSchema)]
#[schema(as = LogLevel, rename_all = "UPPERCASE")]
pub enum Level {
    All,
    Trace,
    Debug,
    Info,
    Warn,
    Error,
    Fatal,
    Off,
}

/// The levels of a worker's loggers. Pure: who owns it makes the levels take effect, from
/// [`LevelTable::filters`].
#[derive(Clone, Debug)]
pub struct LevelTable {
    levels: BTreeMap<String, LoggerLevel>,
}

impl Level {
    const EVERY: [Self; 8] =
        [Self::All, Self::Trace, Self::Debug, Self::Info, Self::Warn, Self::Error, Self::Fatal, Self::Off];

    /// Reads a name in any case.
    pub fn parse(text: &str) -> Option<Self> {
        Self::EVERY.into_iter().find(|level| level.name().eq_ignore_ascii_case(text))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::All => "ALL",
            Self::Trace => "TRACE",
            Self::Debug => "DEBUG",
            Self::Info => "INFO",
            Self::Warn => "WARN",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
            Self::Off => "OFF",
        }
    }

    pub(crate) fn names() -> String {
        Self::EVERY.map(Self::name).join(", ")
    }
}

/// `tracing` has two levels less.
impl From<Level> for LevelFilter {
    fn from(level: Level) -> Self {
        match level {
            Level::All | Level::Trace => Self::TRACE,
            Level::Debug => Self::DEBUG,
            Level::Info => Self::INFO,
            Level::Warn => Self::WARN,
            Level::Error | Level::Fatal => Self::ERROR,
            Level::Off => Self::OFF,
        }
    }
}

impl LevelTable {
    /// Only the root logger.
    pub fn new(root: Level) -> Self {
        let root = LoggerLevel { level: root, last_modified: None };
        Self { levels: BTreeMap::from([(ROOT.to_owned(), root)]) }
    }

    /// Adds a logger that the worker's configuration gives a level.
    pub fn with_logger(mut self, logger: &str, level: Level) -> Self {
        self.levels.insert(canonical(logger).to_owned(), LoggerLevel { level, last_modified: None });
        self
    }

    pub fn list(&self) -> BTreeMap<String, LoggerLevel> {
        self.levels.clone()
    }

    pub fn get(&self, logger: &str) -> Option<LoggerLevel> {
        self.levels.get(canonical(logger)).copied()
    }

    /// Sets the level of a logger, known or not, and of all below it; returns those that had another.
    pub fn set(&mut self, logger: &str, level: Level, now: Millis) -> Vec<String> {
        let logger = canonical(logger);
        let fresh = LoggerLevel { level, last_modified: Some(now) };
        let mut changed = Vec::new();
        for (name, known) in &mut self.levels {
            if is_below(name, logger) && known.level != level {
                *known = fresh;
                changed.push(name.clone());
            }
        }
        if !self.levels.contains_key(logger) {
            self.levels.insert(logger.to_owned(), fresh);
            changed.push(logger.to_owned());
            changed.sort();
        }
        changed
    }

    /// The filter of the root logger, and those of all others by target.
    pub fn filters(&self) -> (LevelFilter, impl Iterator<Item = (&str, LevelFilter)>) {
        let root = self.levels.get(ROOT).map_or(LevelFilter::INFO, |root| root.level.into());
        let others = self.levels.iter().filter(|(name, _)| *name != ROOT);
        (root, others.map(|(name, logger)| (name.as_str(), logger.level.into())))
    }
}

/// A level that came by the config log is none.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{level}`, set for the logger `{logger}` of the whole cluster, is no level")]
pub struct UnknownLevel {
    pub logger: String,
    pub level: String,
}

/// Makes take effect what was set for the whole cluster (KIP-976): a level by its name, or, with none, the
/// level of the nearest logger above. Returns the loggers whose level changed, sorted.
pub fn apply_level(loggers: &dyn Loggers, logger: &str, level: Option<&str>) -> Result<Vec<String>, UnknownLevel> {
    let unknown = |level: &str| UnknownLevel { logger: logger.to_owned(), level: level.to_owned() };
    let level = match level {
        Some(level) => Some(Level::parse(level).ok_or_else(|| unknown(level))?),
        None => level_above(&loggers.list(), canonical(logger)),
    };
    Ok(level.map(|level| loggers.set(logger, level)).unwrap_or_default())
}

/// None of the root logger, which has none above.
fn level_above(levels: &BTreeMap<String, LoggerLevel>, logger: &str) -> Option<Level> {
    let above = |name: &String| logger != ROOT && name != logger && is_below(logger, name);
    let nearest = levels.iter().filter(|(name, _)| above(name)).max_by_key(|(name, _)| match name.as_str() {
        ROOT => 0,
        name => name.len(),
    });
    nearest.map(|(_, found)| found.level)
}

fn canonical(logger: &str) -> &str {
    if logger.eq_ignore_ascii_case(ROOT) { ROOT } else { logger }
}

/// Java separates the parts of a logger's name by dots, Rust by double colons.
fn is_below(name: &str, logger: &str) -> bool {
    let below = |rest: &str| rest.is_empty() || rest.starts_with('.') || rest.starts_with("::");
    logger == ROOT || name.strip_prefix(logger).is_some_and(below)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MemoryLoggers;

    const NOW: Millis = Millis(7);

    #[test]
    fn setting_a_logger_names_those_whose_level_changed() {
        let mut table = LevelTable::new(Level::Info);
        assert_eq!(table.set("a.b", Level::Debug, NOW), ["a.b"]);
        assert_eq!(table.set("a.b", Level::Debug, NOW), [""; 0]);
        assert_eq!(table.set("a.b.c", Level::Error, NOW), ["a.b.c"]);
        assert_eq!(table.set("a.bc", Level::Error, NOW), ["a.bc"]);
        assert_eq!(table.set("a.b", Level::Info, NOW), ["a.b", "a.b.c"]);
        assert_eq!(table.set("a", Level::Error, NOW), ["a", "a.b", "a.b.c"]);
    }

    #[test]
    fn the_root_logger_is_above_all_and_known_in_any_case() {
        let mut table = LevelTable::new(Level::Info).with_logger("bulkhead_rest::routes", Level::Debug);
        assert_eq!(table.get("ROOT"), Some(LoggerLevel { level: Level::Info, last_modified: None }));
        assert_eq!(table.set("Root", Level::Off, NOW), ["bulkhead_rest::routes", "root"]);
        let (root, others) = table.filters();
        assert_eq!(root, LevelFilter::OFF);
        assert_eq!(others.collect::<Vec<_>>(), [("bulkhead_rest::routes", LevelFilter::OFF)]);
    }

    #[test]
    fn a_level_of_the_cluster_is_applied_as_one_of_this_worker() {
        let loggers = MemoryLoggers::new();
        assert_eq!(apply_level(&loggers, "a.b", Some("debug")), Ok(vec!["a.b".to_owned()]));
        assert_eq!(apply_level(&loggers, "a.b", Some("DEBUG")), Ok(Vec::new()));
        let error = apply_level(&loggers, "a.b", Some("LOUD")).unwrap_err();
        assert_eq!(error.to_string(), "`LOUD`, set for the logger `a.b` of the whole cluster, is no level");
        assert_eq!(loggers.get("a.b").map(|logger| logger.level), Some(Level::Debug));
    }

    #[test]
    fn without_a_level_a_logger_follows_the_one_above() {
        let loggers = MemoryLoggers::new();
        loggers.set("a", Level::Warn);
        loggers.set("a.b", Level::Error);
        loggers.set("a.b.c", Level::Debug);
        loggers.set("longer", Level::Off);
        assert_eq!(apply_level(&loggers, "a.b.c", None), Ok(vec!["a.b.c".to_owned()]));
        assert_eq!(loggers.get("a.b.c").map(|logger| logger.level), Some(Level::Error));
        assert_eq!(apply_level(&loggers, "a", None), Ok(["a", "a.b", "a.b.c"].map(str::to_owned).to_vec()));
        assert_eq!(loggers.get("a.b").map(|logger| logger.level), Some(Level::Info));
        assert_eq!(apply_level(&loggers, "Root", None), Ok(Vec::new()));
    }

    #[test]
    fn levels_are_read_in_any_case() {
        assert_eq!(Level::parse("Trace"), Some(Level::Trace));
        assert_eq!(Level::parse("LOUD"), None);
    }
}
