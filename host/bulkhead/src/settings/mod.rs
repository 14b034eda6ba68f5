//! A worker's properties: everything in them is read and checked before anything runs.
//!
//! Each crate checks what it reads itself. What is common to a worker, or about its cluster, is in
//! `keys`; `known` finds keys that nobody reads.

mod cluster;
mod converters;
mod keys;
mod known;
mod references;
#[cfg(test)]
mod tests;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bulkhead_herder::{ConverterVersions, Mode, RestartPolicy};
use bulkhead_model::config::{ConfigDef, TypedConfig};
use bulkhead_model::{RawConfig, WorkerId};
use bulkhead_registry::Registries;
use bulkhead_rest::TopicTracking;
use bulkhead_worker::Secrets;

use crate::properties::{self, PropertiesFileError};

pub use cluster::{ClusterSettings, Logs};
pub use converters::MissingConverters;
pub use known::Unheeded;
use references::Resolved;

/// Which of Connect's two kinds of worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkerMode {
    Standalone,
    Distributed,
}

/// What the properties of any worker say.
#[derive(Clone, Debug)]
pub struct WorkerSettings {
    pub rest: bulkhead_rest::Settings,
    pub worker: bulkhead_worker::Settings,
    pub sandbox: bulkhead_sandbox::Settings,
    pub kafka: bulkhead_kafka::Settings,
    key_converter: String,
    value_converter: String,
    header_converter: String,
    converter_versions: ConverterVersions,
    restart: RestartPolicy,
}

/// Properties that a worker can't be run with.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    #[error(transparent)]
    File(#[from] PropertiesFileError),
    #[error("{}: {}", .path.display(), problems.join("; "))]
    Wrong { path: PathBuf, problems: Vec<String> },
}

/// Reads the file of a standalone worker: settings, and the file of offsets. `forced` is set whatever
/// the file says. `secrets` learns what references in the file stand for.
pub fn standalone(
    path: &Path,
    forced: &RawConfig,
    secrets: &Secrets,
) -> Result<(WorkerSettings, PathBuf), SettingsError> {
    let mut properties = properties::read(path)?;
    for (key, value) in forced.iter() {
        properties.set(key, value);
    }
    parse_standalone(&properties, secrets).map_err(|problems| SettingsError::Wrong { path: path.to_owned(), problems })
}

/// Reads the file of a distributed worker.
pub fn distributed(path: &Path, secrets: &Secrets) -> Result<(WorkerSettings, ClusterSettings), SettingsError> {
    let properties = properties::read(path)?;
    let wrong = |problems| SettingsError::Wrong { path: path.to_owned(), problems };
    parse_distributed(&properties, secrets).map_err(wrong)
}

fn parse_standalone(properties: &RawConfig, secrets: &Secrets) -> Result<(WorkerSettings, PathBuf), Vec<String>> {
    let resolved = Resolved::new(properties, secrets.clone())?;
    let read = WorkerSettings::new(&resolved, WorkerMode::Standalone).map_err(|problems| resolved.masked(problems));
    read.map(|(settings, config)| (settings, PathBuf::from(config.text(keys::OFFSET_FILE).unwrap_or_default())))
}

fn parse_distributed(
    properties: &RawConfig,
    secrets: &Secrets,
) -> Result<(WorkerSettings, ClusterSettings), Vec<String>> {
    let resolved = Resolved::new(properties, secrets.clone())?;
    let read = WorkerSettings::new(&resolved, WorkerMode::Distributed).and_then(|(settings, config)| {
        let cluster = ClusterSettings::new(&resolved.properties, &config, &settings.kafka)?;
        Ok((settings, cluster))
    });
    read.map_err(|problems| resolved.masked(problems))
}

/// All keys with a definition that such a worker reads.
fn definitions(mode: WorkerMode) -> [ConfigDef; 2] {
    [keys::definition(mode), bulkhead_sandbox::Settings::definition()]
}

impl WorkerSettings {
    /// The error is everything that is wrong, as far as it can be seen.
    fn new(resolved: &Resolved, mode: WorkerMode) -> Result<(Self, TypedConfig), Vec<String>> {
        let properties = &resolved.properties;
        Unheeded::of(properties, &definitions(mode)).warn();
        let config = keys::definition(mode).parse(properties);
        let rest = bulkhead_rest::Settings::from_properties(properties).map_err(in_words);
        let worker = bulkhead_worker::Settings::from_properties(properties).map_err(in_words);
        let worker = worker.map(|worker| bulkhead_worker::Settings {
            providers: resolved.providers.clone(),
            registries: Some(Arc::new(Registries)),
            ..worker
        });
        let grants = match mode {
            WorkerMode::Standalone => bulkhead_sandbox::Mode::Standalone,
            WorkerMode::Distributed => bulkhead_sandbox::Mode::Distributed,
        };
        let sandbox = bulkhead_sandbox::Settings::parse(properties, grants).map_err(in_words);
        let config = match config {
            Ok(config) => config,
            Err(problems) => {
                // As in Kafka, a check says of a value that could not be read that it is null, too.
                let problems = problems.into_iter().filter(|problem| !problem.starts_with("Invalid value null "));
                let others = [rest.err(), worker.err(), sandbox.err()];
                return Err(problems.chain(others.into_iter().flatten()).collect());
            }
        };
        let kafka = bulkhead_kafka::Settings::from_properties(properties).map_err(in_words);
        let (rest, worker, sandbox, kafka) = match (rest, worker, sandbox, kafka) {
            (Ok(rest), Ok(worker), Ok(sandbox), Ok(kafka)) => (rest, worker, sandbox, kafka),
            (rest, worker, sandbox, kafka) => {
                return Err([rest.err(), worker.err(), sandbox.err(), kafka.err()].into_iter().flatten().collect());
            }
        };
        let converter = |key| config.text(key).unwrap_or_default().to_owned();
        let version = |key| config.text(key).map(str::to_owned);
        let settings = Self {
            rest,
            worker,
            sandbox,
            kafka,
            key_converter: converter(keys::KEY_CONVERTER),
            value_converter: converter(keys::VALUE_CONVERTER),
            header_converter: converter(keys::HEADER_CONVERTER),
            converter_versions: ConverterVersions {
                key: version(keys::KEY_CONVERTER_VERSION),
                value: version(keys::VALUE_CONVERTER_VERSION),
                header: version(keys::HEADER_CONVERTER_VERSION),
            },
            restart: restart_policy(&config),
        };
        Ok((settings, config))
    }

    /// Our address for others, given the one that the first listener got.
    pub fn worker_id(&self, bound: SocketAddr) -> WorkerId {
        self.rest.worker_id(bound, &machine_name())
    }

    pub fn herder(&self, mode: Mode, worker: WorkerId) -> bulkhead_herder::Settings {
        bulkhead_herder::Settings {
            mode,
            worker,
            key_converter: self.key_converter.clone(),
            value_converter: self.value_converter.clone(),
            header_converter: self.header_converter.clone(),
            converter_versions: self.converter_versions.clone(),
            topic_tracking: self.rest.topic_tracking != TopicTracking::Off,
            overrides: self.kafka.overrides().clone(),
            restart: self.restart,
        }
    }
}

fn restart_policy(config: &TypedConfig) -> RestartPolicy {
    let millis = |key| config.integer(key).and_then(|millis| u64::try_from(millis).ok()).unwrap_or_default();
    RestartPolicy {
        on_failure: config.text(keys::RESTART_POLICY).is_some_and(|policy| policy.eq_ignore_ascii_case("on-failure")),
        backoff: millis(keys::RESTART_BACKOFF),
        max_backoff: millis(keys::RESTART_BACKOFF_MAX),
        reset: millis(keys::RESTART_RESET),
    }
}

/// An error with its causes.
fn in_words(error: impl std::error::Error + Send + Sync + 'static) -> String {
    format!("{:#}", anyhow::Error::new(error))
}

/// The name by which others may know this machine.
fn machine_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    if name.trim().is_empty() { "localhost".to_owned() } else { name.trim().to_owned() }
}
