//! Distributed workers as processes on real Kafka: what the acceptance list of the cluster's specification asks for
//! (`g04` is its number 4), mixed clusters with Apache's worker, kills, and field cases that need more than one
//! worker. Judged by every worker's REST interface, by what is in the topics, and by what arrives in files.

#![allow(clippy::unwrap_used)]

mod config;
mod fencing;
mod field_cases;
mod group;
mod herder;
mod hostile_records;
mod kills;
mod mixed;
mod pipe;
mod statuses;
mod witness;

use std::time::Duration;

use bulkhead_e2e::{Cluster, real_kafka};

/// For what happens without waiting for a session or a delay.
const SOON: Duration = Duration::from_secs(20);

/// A cluster of this many workers of ours; none without a broker.
fn cluster(test: &str, workers: usize) -> Option<Cluster> {
    let kafka = real_kafka(test)?;
    Some(Cluster::new(&kafka, test).unwrap().with_workers(workers).unwrap())
}

/// As [`cluster`], with properties that all workers have.
fn cluster_with(test: &str, workers: usize, properties: &[(&str, &str)]) -> Option<Cluster> {
    let kafka = real_kafka(test)?;
    let mut cluster = Cluster::new(&kafka, test).unwrap();
    for (key, value) in properties {
        cluster = cluster.with(key, value);
    }
    Some(cluster.with_workers(workers).unwrap())
}
