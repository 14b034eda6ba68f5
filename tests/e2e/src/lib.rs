//! A worker as a process, for tests from end to end, for the demo and for benches.
//!
//! Start at [`Setup::start`] for one standalone worker, at [`Cluster`] for several that share their work. The binary is `target/release/bulkhead`, the plugins are in
//! `target/plugins`; `cargo xtask` builds both.

pub mod apache;
mod cache;
mod cluster;
mod rest;
pub mod schema_registry;
mod topics;
mod worker;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{bail, ensure};

pub use cache::cached;
pub use cluster::{Cluster, DELAY, HEARTBEAT, Instance, Kind, Owner, Owners, SESSION};
pub use rest::Rest;
pub use topics::{Described, Record, Topics};
pub use worker::{Kafka, Setup, Signal, Worker};

/// The workspace's own folder.
pub fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here)
}

/// Where the example and test plugins are.
pub fn plugins() -> PathBuf {
    root().join("target/plugins")
}

fn binary() -> anyhow::Result<PathBuf> {
    let binary = root().join("target/release/bulkhead");
    ensure!(binary.exists(), "{} is missing: run `cargo build --release -p bulkhead`", binary.display());
    Ok(binary)
}

/// The address of the real Kafka that `cargo xtask test` has started; says so in one line if there is
/// none, so that nobody takes a test that did nothing for one that passed.
pub fn real_kafka(test: &str) -> Option<Kafka> {
    match std::env::var("BULKHEAD_KAFKA") {
        Ok(address) => Some(Kafka::At(address)),
        Err(_) => {
            println!("left out: {test} (needs BULKHEAD_KAFKA=host:port, which `cargo xtask test` sets)");
            None
        }
    }
}

/// Looks again and again until there is a value, at most for this long; fails naming what was awaited.
pub fn eventually<T>(what: &str, limit: Duration, mut look: impl FnMut() -> Option<T>) -> anyhow::Result<T> {
    let end = Instant::now() + limit;
    loop {
        if let Some(found) = look() {
            return Ok(found);
        }
        if Instant::now() > end {
            bail!("not within {limit:?}: {what}");
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}
