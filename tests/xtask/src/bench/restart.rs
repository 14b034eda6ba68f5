//! How long a restart takes in a cluster of three workers, by REST.

use anyhow::Context;
use bulkhead_e2e::{Cluster, Kafka, Kind, apache};

use super::Peer;
use crate::{build, prerequisites};

const WORKERS: usize = 3;
/// Restarts of each cluster of which the median counts.
const RESTARTS: usize = 21;
/// What is promised against the peer.
const TIMES: f64 = 20.0;

/// With the peer, both clusters are on the same broker and asked in turn; fails if we aren't faster by as much as is
/// promised.
pub fn run(peer: Peer) -> anyhow::Result<()> {
    prerequisites::check(prerequisites::KAFKA)?;
    build::plugins()?;
    build::worker()?;
    build::run("cargo", ["build", "--release", "--package", "bulkhead-bench"])?;
    let folder = tempfile::tempdir()?;
    let broker = apache::Kafka::fetch()?.start_broker(folder.path())?;
    let kafka = Kafka::At(broker.address());
    let mut clusters = vec![cluster(&kafka, "bulkhead", Kind::Bulkhead)?];
    if peer == Peer::Apache {
        clusters.push(cluster(&kafka, "apache", Kind::Apache)?);
    }
    let mut command = vec!["restart".to_owned(), "--bootstrap".to_owned(), broker.address()];
    command.extend(["--times".to_owned(), RESTARTS.to_string()]);
    for (cluster, name) in clusters.iter().zip(["bulkhead", "apache"]) {
        let (url, topic) = (cluster.rest(0).base().to_owned(), cluster.topic("status"));
        command.extend(["--cluster".to_owned(), format!("{name},{url},{topic},{CONNECTOR}")]);
    }
    command.extend(["--at-least".to_owned(), TIMES.to_string()]);
    build::run(&bulkhead_e2e::root().join("target/release/bulkhead-bench").display().to_string(), command)
}

const CONNECTOR: &str = "lines";

/// Three workers and a source of one task that waits for lines.
fn cluster(kafka: &Kafka, name: &str, kind: Kind) -> anyhow::Result<Cluster> {
    let mut cluster = Cluster::new(kafka, name)?;
    for _ in 0..WORKERS {
        cluster.add(kind)?;
    }
    let file = cluster.path().join("lines.txt");
    std::fs::write(&file, "one\n")?;
    let config = [
        ("connector.class", "org.apache.kafka.connect.file.FileStreamSourceConnector"),
        ("file", file.to_str().context("the temporary folder's path is not UTF-8")?),
        ("topic", &cluster.topic(CONNECTOR)),
    ];
    cluster.rest(0).create(CONNECTOR, &config)?;
    cluster.settled(&[(CONNECTOR, 1)])?;
    Ok(cluster)
}
