//! How long a restart of a connector with its task takes in a cluster, from the request until `GET …/status` shows
//! everything RUNNING again. Two clusters that are asked in turn in one run can be compared.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bulkhead_e2e::Rest;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::Message;
use rdkafka::{Offset, TopicPartitionList};
use serde_json::Value;

use crate::figures::Samples;

/// Restarts that aren't counted.
const WARM_UP: usize = 3;
const LIMIT: Duration = Duration::from_secs(30);
/// How long everything has to stay RUNNING, so that no late record of the restart is taken for its end.
const HOLD: Duration = Duration::from_millis(50);
/// How long the broker may take for metadata.
const PATIENCE: Duration = Duration::from_secs(10);

/// A cluster with a connector of one task that runs.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) name: String,
    /// One of its workers.
    pub(crate) url: String,
    pub(crate) connector: String,
    pub(crate) bootstrap: String,
    /// Its status topic.
    pub(crate) statuses: String,
}

impl Subject {
    pub(crate) fn new(name: &str, url: &str, connector: &str, bootstrap: &str, statuses: &str) -> Self {
        let [name, url, connector, bootstrap, statuses] =
            [name, url, connector, bootstrap, statuses].map(str::to_owned);
        Self { name, url, connector, bootstrap, statuses }
    }
}

/// Restarts every subject so many times, in turn. Returns milliseconds, by subject.
pub(crate) fn run(subjects: &[Subject], times: usize) -> anyhow::Result<Vec<Samples>> {
    let observed: Vec<_> = subjects.iter().map(Observed::new).collect::<Result<_, _>>()?;
    let mut samples = vec![Vec::new(); subjects.len()];
    for turn in 0..times + WARM_UP {
        for (observed, samples) in observed.iter().zip(&mut samples) {
            let took = observed.restart()?;
            if turn >= WARM_UP {
                samples.push(took.as_secs_f64() * 1000.0);
            }
        }
    }
    Ok(samples.into_iter().map(Samples::new).collect())
}

/// A subject, and what its workers write to their status topic. A poller alone could miss that something was
/// RESTARTING for a few milliseconds, and take the old RUNNING for the new one.
struct Observed {
    rest: Rest,
    connector: String,
    statuses: Receiver<(String, String)>,
}

/// How far the restart of an instance is, by the status topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Restarting,
    Running,
}

impl Observed {
    fn new(subject: &Subject) -> anyhow::Result<Self> {
        let rest = Rest::new(&subject.url);
        rest.wait(&subject.connector, "RUNNING", 1)?;
        let statuses = witness(&subject.bootstrap, &subject.statuses)?;
        Ok(Self { rest, connector: subject.connector.clone(), statuses })
    }

    fn restart(&self) -> anyhow::Result<Duration> {
        while self.statuses.try_recv().is_ok() {}
        let path = format!("/connectors/{}/restart?includeTasks=true", self.connector);
        let started = Instant::now();
        let (status, answer) = self.rest.ask("POST", &path, None)?;
        ensure!(status == 202, "POST {path}: {status} {answer}");
        let mut stages = BTreeMap::new();
        let mut end = None;
        loop {
            self.note(&mut stages);
            let done = stages.len() == 2 && stages.values().all(|stage| *stage == Stage::Running);
            let states = self.rest.states(&self.connector)?;
            let now = Instant::now();
            if done && states.len() == 2 && states.iter().all(|state| state == "RUNNING") {
                let end = *end.get_or_insert(now);
                if now - end > HOLD {
                    return Ok(end - started);
                }
            } else {
                end = None;
            }
            ensure!(started.elapsed() < LIMIT, "{} isn't back after {LIMIT:?}: {states:?}, {stages:?}", self.connector);
        }
    }

    /// Takes in what was written since the last look.
    fn note(&self, stages: &mut BTreeMap<String, Stage>) {
        while let Ok((key, state)) = self.statuses.try_recv() {
            let of_connector = key == format!("status-connector-{}", self.connector);
            if !of_connector && key != format!("status-task-{}-0", self.connector) {
                continue;
            }
            if state == "RESTARTING" {
                stages.insert(key, Stage::Restarting);
            } else if let Some(stage) = stages.get_mut(&key)
                && state == "RUNNING"
            {
                *stage = Stage::Running;
            }
        }
    }
}

/// Keys and states from now on, as soon as they can be read; ends when nobody listens any more.
fn witness(bootstrap: &str, topic: &str) -> anyhow::Result<Receiver<(String, String)>> {
    let consumer: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", bootstrap)
        .set("group.id", format!("witness-of-{topic}"))
        .set("enable.auto.commit", "false")
        .create()?;
    let metadata = consumer.fetch_metadata(Some(topic), PATIENCE)?;
    let partitions = metadata.topics().first().context("no such topic")?.partitions();
    let mut from = TopicPartitionList::new();
    for partition in partitions {
        let (_, end) = consumer.fetch_watermarks(topic, partition.id(), PATIENCE)?;
        from.add_partition_offset(topic, partition.id(), Offset::Offset(end))?;
    }
    consumer.assign(&from)?;
    let (say, statuses) = channel();
    thread::spawn(move || {
        loop {
            let Some(Ok(record)) = consumer.poll(Duration::from_secs(1)) else { continue };
            let value: Value = record.payload().and_then(|text| serde_json::from_slice(text).ok()).unwrap_or_default();
            let key = String::from_utf8_lossy(record.key().unwrap_or_default()).into_owned();
            if say.send((key, value["state"].as_str().unwrap_or_default().to_owned())).is_err() {
                return;
            }
        }
    });
    Ok(statuses)
}
