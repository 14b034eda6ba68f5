//! What this machine has: the source of defaults.

use std::path::PathBuf;
use std::{env, fs, thread};

/// Memory maps of one instance: its memory in three parts, guard pages and its call stack.
const MAPS_PER_INSTANCE: u64 = 6;
/// What the rest of the process needs: code, thread stacks, the heap.
const MAPS_OF_THE_PROCESS: u64 = 2_000;
/// As much as 4 GiB of address space each leaves room for.
const MOST_INSTANCES: u64 = 10_000;

/// Assumed where the system doesn't say.
const USUAL_MAX_MAP_COUNT: u64 = 65_530;
const USUAL_MEMORY: u64 = 4 << 30;

/// All but one, which is left to what feeds them; and each thread less is one less to be woken for nothing.
pub(super) fn cores_for_guests() -> usize {
    thread::available_parallelism().map_or(1, |cores| (cores.get() - 1).max(1))
}

/// How many instances fit under the system's limit of memory maps for each process.
pub(super) fn max_instances() -> u32 {
    let maps = fs::read_to_string("/proc/sys/vm/max_map_count")
        .ok()
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(USUAL_MAX_MAP_COUNT);
    let instances = maps.saturating_sub(MAPS_OF_THE_PROCESS) / MAPS_PER_INSTANCE;
    instances.clamp(1, MOST_INSTANCES) as u32
}

/// Bytes of main memory.
pub(super) fn memory() -> u64 {
    let total = fs::read_to_string("/proc/meminfo").ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some(kibibytes << 10)
    });
    total.unwrap_or(USUAL_MEMORY)
}

/// `bulkhead/compiled` below the user's cache folder.
pub(super) fn cache_dir() -> Option<PathBuf> {
    let base = match env::var_os("XDG_CACHE_HOME").filter(|dir| !dir.is_empty()) {
        Some(dir) => PathBuf::from(dir),
        None => PathBuf::from(env::var_os("HOME").filter(|dir| !dir.is_empty())?).join(".cache"),
    };
    Some(base.join("bulkhead").join("compiled"))
}
