//! The status topic, as it is.

use std::collections::BTreeMap;

use bulkhead_e2e::{Cluster, Instance};

/// A record about an instance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    pub instance: Instance,
    /// None: the status was deleted.
    pub state: Option<String>,
    pub worker: String,
    pub generation: i64,
    pub timestamp: i64,
}

/// Records about instances that were made since then, in the order of each instance.
pub fn since(cluster: &Cluster, then: i64) -> Vec<Status> {
    let records = cluster.topics.read(&cluster.topic("status")).unwrap();
    let mut found: Vec<_> = records
        .into_iter()
        .filter(|record| record.timestamp >= then)
        .filter_map(|record| {
            let value = record.json();
            Some(Status {
                instance: instance(&record.key_text())?,
                state: value["state"].as_str().map(str::to_owned),
                worker: value["worker_id"].as_str().unwrap_or_default().to_owned(),
                generation: value["generation"].as_i64().unwrap_or_default(),
                timestamp: record.timestamp,
            })
        })
        .collect();
    found.sort_by_key(|status| status.timestamp);
    found
}

fn instance(key: &str) -> Option<Instance> {
    if let Some(name) = key.strip_prefix("status-connector-") {
        return Some(Instance { connector: name.to_owned(), task: None });
    }
    let (name, task) = key.strip_prefix("status-task-")?.rsplit_once('-')?;
    Some(Instance { connector: name.to_owned(), task: Some(task.parse().ok()?) })
}

/// States of each instance, one after the other.
pub fn by_instance(statuses: &[Status]) -> BTreeMap<Instance, Vec<&Status>> {
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for status in statuses {
        found.entry(status.instance.clone()).or_default().push(status);
    }
    found
}
