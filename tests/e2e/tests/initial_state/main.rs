//! Connectors that don't run from the start (KIP-980), and those that begin where they are told: standalone and in a
//! cluster, on real Kafka. Judged by every worker's REST interface and by what is in the topics.

#![allow(clippy::unwrap_used)]

mod fleet;
mod migration;
mod offsets;
mod states;

use std::time::Duration;

const SOON: Duration = Duration::from_secs(20);

/// Each name has its place in a plugin path of Apache's as well.
const SOURCE: &str = "org.apache.kafka.connect.file.FileStreamSourceConnector";
const SINK: &str = "org.apache.kafka.connect.file.FileStreamSinkConnector";
