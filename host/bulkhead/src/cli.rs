//! The command line.

use std::path::PathBuf;

use bulkhead_ctl::arguments::Ctl;
use clap::{Args, Parser, Subcommand};

/// A Kafka Connect worker in which every connector and every task is a WebAssembly sandbox of its own.
#[derive(Debug, Parser)]
#[command(name = "bulkhead", version)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run one worker by itself: connectors from files and by REST, source offsets in a local file.
    ConnectStandalone(ConnectStandalone),
    /// Run a worker of a cluster: connectors by REST, shared out between all workers with the same `group.id`.
    ConnectDistributed(ConnectDistributed),
    Ctl(Ctl),
}

#[derive(Debug, Args)]
pub struct ConnectDistributed {
    /// The worker's properties, as `connect-distributed.properties` of Kafka.
    pub worker: PathBuf,
}

#[derive(Debug, Args)]
pub struct ConnectStandalone {
    /// Start a Kafka inside this process and use it instead of `bootstrap.servers`: for trying things
    /// out, since its records are gone when the process ends.
    #[arg(long)]
    pub embedded_kafka: bool,
    /// A topic of the embedded Kafka with one partition. Topics that aren't named are made on first use,
    /// with four.
    #[arg(long = "embedded-topic", value_name = "TOPIC", requires = "embedded_kafka")]
    pub embedded_topics: Vec<String>,
    /// The worker's properties, as `connect-standalone.properties` of Kafka.
    pub worker: PathBuf,
    /// Connectors to create: properties, a JSON map, or `{"name", "config", "initial_state"}` in JSON.
    pub connectors: Vec<PathBuf>,
}
