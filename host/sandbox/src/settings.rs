//! The worker properties that concern plugins, typed.

mod keys;
mod machine;
mod text;

use std::path::PathBuf;
use std::time::Duration;

use bulkhead_model::RawConfig;
use bulkhead_model::config::ConfigDef;

use crate::Error;
use crate::grant::{Ceiling, Policy};

pub(crate) use text::{bytes, list, milliseconds};

/// How the worker runs: decides what a ceiling (`sandbox.max.*`) is that nobody set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// One person's worker: a connector gets what its configuration asks for.
    Standalone,
    /// A shared cluster: a connector gets the defaults, unless the operator allows more.
    Distributed,
}

/// Everything a [`crate::Sandbox`] is opened with.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Folders to search for `*.wasm`, and single files.
    pub plugin_path: Vec<PathBuf>,
    pub cache_dir: PathBuf,
    /// How often to look for new, changed and removed files; none for only at the start.
    pub scan_interval: Option<Duration>,
    pub uploads: Uploads,
    /// Threads that guests run on.
    pub threads: usize,
    pub max_instances: u32,
    /// Bytes of guest memory, all instances together.
    pub memory_budget: u64,
    /// What a connector gets, and may ask for.
    pub policy: Policy,
    /// CPU time within one call.
    pub cpu_burst: Duration,
    /// For `put`, which may have to wait for a slow system.
    pub put_timeout: Duration,
    pub log_bytes_per_second: u32,
    /// How long a stopping instance is waited for.
    pub stop_grace: Duration,
    /// What `context.who-am-i` answers as the worker.
    pub worker: String,
}

/// Whether plugins may be handed in through the worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uploads {
    Refused,
    /// With so many bytes each at most.
    Taken {
        max_bytes: u64,
    },
}

impl Settings {
    /// The keys that [`Self::parse`] reads, with defaults and documentation.
    pub fn definition() -> ConfigDef {
        keys::definition()
    }

    /// Reads worker properties; those of others are left alone.
    pub fn parse(properties: &RawConfig, mode: Mode) -> Result<Self, Error> {
        let read = Reader { properties };
        Ok(Self {
            plugin_path: read.paths(keys::PLUGIN_PATH)?,
            cache_dir: read.cache_dir()?,
            scan_interval: read.scan_interval()?,
            uploads: read.uploads()?,
            threads: read.count(keys::THREADS, machine::cores_for_guests())?,
            max_instances: read.count(keys::MAX_INSTANCES, machine::max_instances() as usize)? as u32,
            memory_budget: read.bytes(keys::MEMORY_BUDGET, machine::memory() / 2)?,
            policy: read.policy(mode)?,
            cpu_burst: read.duration(keys::CPU_BURST)?,
            put_timeout: read.duration(keys::PUT_TIMEOUT)?,
            log_bytes_per_second: read.count(keys::LOG_RATE, 0)? as u32,
            stop_grace: read.duration(keys::STOP_GRACE)?,
            worker: properties.get("rest.advertised.host.name").unwrap_or_default().to_owned(),
        })
    }
}

/// Texts of properties, or of their defaults, as typed values.
struct Reader<'a> {
    properties: &'a RawConfig,
}

impl Reader<'_> {
    fn text(&self, key: &'static str) -> Option<String> {
        match self.properties.get(key) {
            Some(text) => Some(text.trim().to_owned()).filter(|text| !text.is_empty()),
            None => keys::default(key).map(str::to_owned),
        }
    }

    fn parsed<T>(&self, key: &'static str, parse: impl FnOnce(&str) -> Result<T, String>) -> Result<Option<T>, Error> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match parse(&text) {
            Ok(value) => Ok(Some(value)),
            Err(message) => Err(Error::setting(key, format!("`{text}` {message}"))),
        }
    }

    fn duration(&self, key: &'static str) -> Result<Duration, Error> {
        let parsed = self.parsed(key, milliseconds)?;
        parsed.ok_or_else(|| Error::setting(key, "must not be empty"))
    }

    fn count(&self, key: &'static str, otherwise: usize) -> Result<usize, Error> {
        let parsed = self.parsed(key, text::count)?;
        Ok(parsed.unwrap_or(otherwise))
    }

    fn bytes(&self, key: &'static str, otherwise: u64) -> Result<u64, Error> {
        let parsed = self.parsed(key, bytes)?;
        Ok(parsed.unwrap_or(otherwise))
    }

    fn paths(&self, key: &'static str) -> Result<Vec<PathBuf>, Error> {
        let parsed = self.parsed(key, |text| Ok(list(text).map(PathBuf::from).collect::<Vec<_>>()))?;
        parsed.ok_or_else(|| Error::setting(key, "is required: folders or `*.wasm` files, comma-separated"))
    }

    fn scan_interval(&self) -> Result<Option<Duration>, Error> {
        let interval = self.parsed(keys::SCAN_INTERVAL, |text| match text {
            "0" => Ok(None),
            text => milliseconds(text).map(Some),
        })?;
        Ok(interval.flatten())
    }

    fn uploads(&self) -> Result<Uploads, Error> {
        let enabled = self.parsed(keys::UPLOADS, |text| match text {
            text if text.eq_ignore_ascii_case("true") => Ok(true),
            text if text.eq_ignore_ascii_case("false") => Ok(false),
            _ => Err("is neither true nor false".to_owned()),
        })?;
        let max_bytes = self.bytes(keys::UPLOAD_SIZE, 0)?;
        Ok(if enabled == Some(true) { Uploads::Taken { max_bytes } } else { Uploads::Refused })
    }

    fn cache_dir(&self) -> Result<PathBuf, Error> {
        if let Some(dir) = self.text(keys::CACHE_DIR) {
            return Ok(PathBuf::from(dir));
        }
        let dir = machine::cache_dir();
        dir.ok_or_else(|| Error::setting(keys::CACHE_DIR, "is required, as the user has no home folder"))
    }

    fn policy(&self, mode: Mode) -> Result<Policy, Error> {
        let memory = self.bytes(keys::DEFAULT_MEMORY, 0)?;
        let max_memory = self.bytes(keys::MAX_MEMORY, u64::MAX)?;
        if memory > max_memory {
            let message = format!("{memory} is more than `{}` ({max_memory}) allows", keys::MAX_MEMORY);
            return Err(Error::setting(keys::DEFAULT_MEMORY, message));
        }
        Ok(Policy {
            memory,
            max_memory,
            files: self.rules(keys::DEFAULT_FILES)?,
            max_files: self.ceiling(keys::MAX_FILES, mode)?,
            network: self.rules(keys::DEFAULT_NETWORK)?,
            max_network: self.ceiling(keys::MAX_NETWORK, mode)?,
            env: self.rules(keys::DEFAULT_ENV)?,
            max_env: self.ceiling(keys::MAX_ENV, mode)?,
            call_timeout: self.duration(keys::CALL_TIMEOUT)?,
        })
    }

    fn rules<T: std::str::FromStr<Err = String>>(&self, key: &'static str) -> Result<Vec<T>, Error> {
        let text = self.text(key).unwrap_or_default();
        let rules: Result<Vec<T>, String> = list(&text).map(str::parse).collect();
        // A rule's error names the rule.
        rules.map_err(|message| Error::setting(key, message))
    }

    fn ceiling<T: std::str::FromStr<Err = String>>(&self, key: &'static str, mode: Mode) -> Result<Ceiling<T>, Error> {
        if self.properties.contains(key) {
            return self.rules(key).map(Ceiling::At);
        }
        Ok(match mode {
            Mode::Standalone => Ceiling::None,
            Mode::Distributed => Ceiling::Default,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse<const N: usize>(properties: [(&str, &str); N]) -> Result<Settings, String> {
        Settings::parse(&properties.into(), Mode::Distributed).map_err(|error| error.to_string())
    }

    #[test]
    fn only_the_plugin_path_is_required() {
        let settings = parse([("plugin.path", "/a, /b/c.wasm")]).unwrap();
        assert_eq!(settings.plugin_path, [PathBuf::from("/a"), PathBuf::from("/b/c.wasm")]);
        assert_eq!(settings.policy.memory, 64 << 20);
        assert_eq!(settings.policy.max_memory, 512 << 20);
        assert_eq!(settings.policy.call_timeout, Duration::from_secs(30));
        assert_eq!(settings.stop_grace, Duration::from_secs(5));
        assert_eq!(
            parse([]).unwrap_err(),
            "worker property `plugin.path`: is required: folders or `*.wasm` files, comma-separated"
        );
    }

    #[test]
    fn plugins_are_looked_for_again_and_handed_in_only_if_it_is_allowed() {
        let settings = parse([("plugin.path", "/a")]).unwrap();
        assert_eq!((settings.scan_interval, settings.uploads), (Some(Duration::from_secs(2)), Uploads::Refused));
        let properties = [
            ("plugin.path", "/a"),
            ("plugin.scan.interval.ms", "0"),
            ("plugin.upload.enable", "TRUE"),
            ("plugin.upload.max.bytes", "1k"),
        ];
        let settings = parse(properties).unwrap();
        assert_eq!((settings.scan_interval, settings.uploads), (None, Uploads::Taken { max_bytes: 1024 }));
    }

    #[test]
    fn a_wrong_value_is_refused_with_its_key() {
        for (key, value, message) in [
            ("sandbox.default.memory", "much", "`much` is no size (bytes, or a number with KiB, MiB or GiB)"),
            ("sandbox.cpu.burst.ms", "0", "`0` is no number of milliseconds above 0"),
            ("sandbox.max.files", "tmp:ro", "`tmp:ro` is no folder rule: the path must be absolute"),
            ("sandbox.default.network", "db", "`db` is no network rule: `host:port` expected"),
            ("plugin.upload.enable", "perhaps", "`perhaps` is neither true nor false"),
            ("plugin.upload.max.bytes", "all", "`all` is no size (bytes, or a number with KiB, MiB or GiB)"),
            ("plugin.scan.interval.ms", "-1", "`-1` is no number of milliseconds above 0"),
            ("sandbox.default.memory", "1GiB", "1073741824 is more than `sandbox.max.memory` (536870912) allows"),
        ] {
            let found = parse([("plugin.path", "/a"), (key, value)]).unwrap_err();
            assert_eq!(found, format!("worker property `{key}`: {message}"));
        }
    }

    #[test]
    fn every_key_has_documentation() {
        let definition = Settings::definition();
        assert!(definition.keys.iter().all(|key| key.documentation.ends_with('.')));
    }
}
