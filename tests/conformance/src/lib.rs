//! Compares what a worker's REST interface answers with what Apache Kafka Connect answered.
//!
//! Scenarios (`scenarios/*.json`) are steps: requests, waits, files to write. [`run`] drives a worker
//! through them and notes its answers, without what differs from run to run (`normalise`); [`compare`]
//! sets them against the recorded ones in `expected/`. See `README.md` for the format of scenarios.
//!
//! **Invariant:** nothing here knows Bulkhead. Any worker can be driven, Apache's too.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod compare;
mod http;
mod normalise;
mod placeholders;
mod runner;
mod scenario;
mod views;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value};

pub use compare::{Difference, DifferenceKind, Quirks, Report, compare};
pub use placeholders::FileConnectors;
pub use runner::{Target, run};
pub use scenario::Scenario;

/// What a worker answered, by scenario and step.
pub type Observations = BTreeMap<String, BTreeMap<String, Value>>;

/// All scenarios of this folder, by name.
pub fn scenarios() -> anyhow::Result<Vec<Scenario>> {
    Scenario::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios"))
}

/// What Apache Kafka Connect 4.4 answered in distributed mode: one worker, which leads.
pub fn expected_distributed() -> anyhow::Result<Observations> {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("expected/apache-4.4.json"))
}

/// What Apache Kafka Connect 4.4 answered in standalone mode.
pub fn expected_standalone() -> anyhow::Result<Observations> {
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("expected/apache-4.4-standalone.json"))
}

/// Reads a file of observations.
pub fn read(file: &Path) -> anyhow::Result<Observations> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let document: Value = serde_json::from_str(&text).with_context(|| format!("{} is no JSON", file.display()))?;
    let scenarios = document.get("scenarios").cloned().unwrap_or_default();
    serde_json::from_value(scenarios).with_context(|| format!("{} holds no observations", file.display()))
}

/// Writes a file of observations, as [`read`] takes it.
pub fn write(observations: &Observations, file: &Path) -> anyhow::Result<()> {
    let document = Value::Object(Map::from_iter([("scenarios".to_owned(), serde_json::to_value(observations)?)]));
    let text = serde_json::to_string_pretty(&document)?;
    std::fs::write(file, text + "\n").with_context(|| format!("cannot write {}", file.display()))
}
