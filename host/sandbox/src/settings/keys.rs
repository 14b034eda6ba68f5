//! Names, defaults and documentation of the worker properties.

use bulkhead_model::config::{ConfigDef, ConfigKey, ConfigType, DefaultValue, Importance};

pub(super) const PLUGIN_PATH: &str = "plugin.path";
pub(super) const SCAN_INTERVAL: &str = "plugin.scan.interval.ms";
pub(super) const UPLOADS: &str = "plugin.upload.enable";
pub(super) const UPLOAD_SIZE: &str = "plugin.upload.max.bytes";
pub(super) const CACHE_DIR: &str = "sandbox.cache.dir";
pub(super) const THREADS: &str = "sandbox.threads";
pub(super) const MAX_INSTANCES: &str = "sandbox.max.instances";
pub(super) const DEFAULT_MEMORY: &str = "sandbox.default.memory";
pub(super) const MAX_MEMORY: &str = "sandbox.max.memory";
pub(super) const MEMORY_BUDGET: &str = "sandbox.memory.budget";
pub(super) const DEFAULT_FILES: &str = "sandbox.default.files";
pub(super) const MAX_FILES: &str = "sandbox.max.files";
pub(super) const DEFAULT_NETWORK: &str = "sandbox.default.network";
pub(super) const MAX_NETWORK: &str = "sandbox.max.network";
pub(super) const DEFAULT_ENV: &str = "sandbox.default.env";
pub(super) const MAX_ENV: &str = "sandbox.max.env";
pub(super) const CALL_TIMEOUT: &str = "sandbox.call.timeout.ms";
pub(super) const PUT_TIMEOUT: &str = "sandbox.put.timeout.ms";
pub(super) const CPU_BURST: &str = "sandbox.cpu.burst.ms";
pub(super) const LOG_RATE: &str = "sandbox.log.bytes.per.second";
pub(super) const STOP_GRACE: &str = "task.shutdown.graceful.timeout.ms";

/// Where there is none, the machine decides or there is nothing to fall back to.
type Default = Option<&'static str>;

/// The one list: name, type, default, documentation.
#[rustfmt::skip]
const KEYS: &[(&str, ConfigType, Default, &str)] = &[
    (PLUGIN_PATH, ConfigType::List, None,
     "Folders of component files (`*.wasm`) and single files, comma-separated."),
    (SCAN_INTERVAL, ConfigType::Long, Some("2000"),
     "How often `plugin.path` is looked at for new, changed and removed files; 0 for only at the start."),
    (UPLOADS, ConfigType::Boolean, Some("false"),
     "Whether `PUT /bulkhead/plugins` installs plugins. Whoever can reach the REST interface can then install one."),
    (UPLOAD_SIZE, ConfigType::String, Some("64MiB"),
     "The largest plugin that is taken so."),
    (CACHE_DIR, ConfigType::String, None,
     "Folder for compiled code, written and read by the worker alone. Without it: `bulkhead/compiled` below the user's cache folder."),
    (THREADS, ConfigType::Int, None,
     "Threads that plugins run on. Without it: one for each core but one."),
    (MAX_INSTANCES, ConfigType::Int, None,
     "Connectors and tasks that may run at a time. Without it: what `vm.max_map_count` has room for, at most 10000."),
    (DEFAULT_MEMORY, ConfigType::String, Some("64MiB"),
     "Memory of an instance whose connector says nothing in `sandbox.memory`."),
    (MAX_MEMORY, ConfigType::String, Some("512MiB"),
     "The most memory that `sandbox.memory` may ask for."),
    (MEMORY_BUDGET, ConfigType::String, None,
     "Memory of all instances together. Without it: half of the machine's."),
    (DEFAULT_FILES, ConfigType::List, None,
     "Folders open to a connector that says nothing in `sandbox.files`, as `path:ro` or `path:rw`, comma-separated."),
    (MAX_FILES, ConfigType::List, None,
     "The most that `sandbox.files` may ask for. Without it: anything in standalone mode, the default in distributed mode."),
    (DEFAULT_NETWORK, ConfigType::List, None,
     "Peers that a connector which says nothing in `sandbox.network` may connect to, as `host:port`, comma-separated. \
      The host may be a name, `*.name`, an address, a CIDR range or `*`; the port may be `*`."),
    (MAX_NETWORK, ConfigType::List, None,
     "The most that `sandbox.network` may ask for. Without it: anything in standalone mode, the default in distributed mode."),
    (DEFAULT_ENV, ConfigType::List, None,
     "Names of environment variables shown to a connector that says nothing in `sandbox.env`, comma-separated."),
    (MAX_ENV, ConfigType::List, None,
     "The most that `sandbox.env` may ask for. Without it: anything in standalone mode, the default in distributed mode."),
    (CALL_TIMEOUT, ConfigType::Long, Some("30000"),
     "How long a call into a plugin may take; `poll` may wait for records on top of it. A connector may have its own."),
    (PUT_TIMEOUT, ConfigType::Long, Some("300000"),
     "How long a sink's `put` may take, which may have to wait for a slow system."),
    (CPU_BURST, ConfigType::Long, Some("10000"),
     "CPU time that a plugin may use within one call; `put` and `poll` have this much for every 10000 records."),
    (LOG_RATE, ConfigType::Int, Some("65536"),
     "Bytes of log lines kept each second of each instance; more is dropped and counted."),
    (STOP_GRACE, ConfigType::Long, Some("5000"),
     "How long a stopping connector or task is waited for before its sandbox is dropped."),
];

pub(super) fn default(name: &str) -> Default {
    KEYS.iter().find(|(key, ..)| *key == name)?.2
}

pub(super) fn definition() -> ConfigDef {
    let keys = KEYS.iter().map(|(name, kind, default, documentation)| {
        let default = match default {
            Some(text) => DefaultValue::Value((*text).to_owned()),
            None if *name == PLUGIN_PATH => DefaultValue::Required,
            None => DefaultValue::Null,
        };
        ConfigKey::new(name, *kind, default, Importance::Medium, documentation)
    });
    ConfigDef { keys: keys.collect() }
}
