//! A standalone worker or a cluster, where a test doesn't care which.

use std::path::{Path, PathBuf};

use bulkhead_e2e::{Cluster, Kafka, Record, Rest, Setup, Topics, Worker, eventually, real_kafka};
use serde_json::{Value, json};

use crate::{SINK, SOON, SOURCE};

const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    Standalone,
    /// Two workers.
    Cluster,
}

pub const BOTH: [Mode; 2] = [Mode::Standalone, Mode::Cluster];

/// Workers of one mode, and the folder that their connectors may use.
#[derive(Debug)]
pub struct Fleet {
    pub topics: Topics,
    /// No other test's.
    name: String,
    folder: PathBuf,
    workers: Workers,
}

#[derive(Debug)]
enum Workers {
    Standalone { worker: Worker, _own: tempfile::TempDir },
    Cluster(Cluster),
}

impl Fleet {
    /// None without a broker.
    pub fn new(test: &str, mode: Mode, folder: &Path) -> Option<Self> {
        let kafka = real_kafka(test)?;
        let Kafka::At(address) = &kafka else { panic!("real Kafka has an address") };
        let folder = folder.canonicalize().unwrap();
        let name = format!("{test}-{mode:?}-{}", std::process::id()).to_lowercase();
        let grant = format!("{}:rw", folder.display());
        let topics = Topics::at(address);
        let workers = match mode {
            Mode::Standalone => {
                let own = tempfile::tempdir().unwrap();
                let setup = Setup::new(kafka, own.path()).unwrap();
                let setup = setup.with("key.converter", STRING).with("value.converter", STRING);
                let setup = setup.with("offset.flush.interval.ms", "500").with("sandbox.default.files", &grant);
                Workers::Standalone { worker: setup.start().unwrap(), _own: own }
            }
            Mode::Cluster => {
                let cluster = Cluster::new(&kafka, test).unwrap().with("sandbox.default.files", &grant);
                let cluster = cluster.with_workers(2).unwrap();
                let formed = || cluster.topics.group(&cluster.group).ok().filter(|group| group.members == 2)?.leader;
                eventually("both are members", SOON, formed).unwrap();
                Workers::Cluster(cluster)
            }
        };
        Some(Self { topics, name, folder, workers })
    }

    /// Of every worker.
    pub fn rests(&self) -> Vec<Rest> {
        match &self.workers {
            Workers::Standalone { worker, .. } => vec![worker.rest.clone()],
            Workers::Cluster(cluster) => cluster.awake().into_iter().map(|number| cluster.rest(number)).collect(),
        }
    }

    /// Of a worker that has to pass on what is the leader's, if there is a leader.
    pub fn rest(&self) -> Rest {
        match &self.workers {
            Workers::Standalone { worker, .. } => worker.rest.clone(),
            Workers::Cluster(cluster) => cluster.rest(cluster.follower().unwrap()),
        }
    }

    pub fn topic(&self, purpose: &str) -> String {
        format!("{}-{purpose}", self.name)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Reads a file of this name to a topic of this name.
    pub fn source(&self, name: &str) -> Value {
        let file = self.file(&format!("{name}.txt"));
        json!({ "connector.class": SOURCE, "topic": self.topic(name), "file": file })
    }

    /// Writes a topic of this name to a file of this name.
    pub fn sink(&self, name: &str) -> Value {
        let file = self.file(&format!("{name}.txt"));
        json!({ "connector.class": SINK, "topics": self.topic(name), "file": file })
    }

    /// Asks the worker of [`Fleet::rest`], and again while a rebalance is in the way.
    pub fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let rest = self.rest();
        let settled = || {
            let (status, answer) = rest.ask(method, path, body).unwrap();
            let refused = [409, 500].contains(&status) && answer.to_string().contains("rebalance");
            (!refused).then_some((status, answer))
        };
        eventually(&format!("{method} {path} is answered"), SOON, settled).unwrap()
    }

    /// As [`Fleet::ask`], and it has to be a success.
    pub fn must(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let (status, answer) = self.ask(method, path, body);
        assert!((200..300).contains(&status), "{method} {path}: {status} {answer}");
        answer
    }

    /// A create request with further members.
    pub fn create(&self, name: &str, config: &Value, more: &Value) -> (u16, Value) {
        self.ask("POST", "/connectors", Some(&request(name, config, more)))
    }

    /// As [`Fleet::create`], and it has to be a success.
    pub fn created(&self, name: &str, config: &Value, more: &Value) {
        let (status, answer) = self.create(name, config, more);
        assert_eq!((status, &answer["name"]), (201, &json!(name)), "{answer}");
    }

    pub fn put(&self, name: &str, verb: &str) {
        self.must("PUT", &format!("/connectors/{name}/{verb}"), None);
    }

    /// Waits until no worker knows anything of it.
    pub fn delete(&self, name: &str) {
        self.must("DELETE", &format!("/connectors/{name}"), None);
        for rest in self.rests() {
            let gone = || {
                let status = |path: &str| rest.status("GET", &format!("/connectors/{name}{path}")).ok();
                (status("") == Some(404) && status("/status") == Some(404)).then_some(())
            };
            eventually(&format!("{name} is gone"), SOON, gone).unwrap();
        }
    }

    /// Waits until every worker says so.
    pub fn wait(&self, name: &str, state: &str, tasks: usize) {
        for rest in self.rests() {
            rest.wait(name, state, tasks).unwrap();
        }
    }

    /// The text of every record of a topic; none if there is no topic.
    pub fn lines(&self, purpose: &str) -> Vec<String> {
        let records = self.topics.read(&self.topic(purpose)).unwrap_or_default();
        records.iter().map(Record::value_text).collect()
    }

    pub fn offsets(&self, name: &str) -> Value {
        self.must("GET", &format!("/connectors/{name}/offsets"), None)
    }

    /// Keys and values in the config topic that are about this connector, in order. A standalone worker has none.
    pub fn config_records(&self, name: &str) -> Vec<(String, Value)> {
        let is_about = |key: &str| {
            let rest = ["connector-", "target-state-", "commit-"].iter().find_map(|prefix| key.strip_prefix(prefix));
            rest == Some(name) || key.starts_with(&format!("task-{name}-"))
        };
        let records = self.internal("configs").into_iter().map(|record| (record.key_text(), record.json()));
        records.filter(|(key, _)| is_about(key)).collect()
    }

    /// Every state that was ever written of the connector or, if asked so, of its tasks.
    pub fn states_said(&self, name: &str, of_tasks: bool) -> Vec<String> {
        let prefix = if of_tasks { format!("status-task-{name}-") } else { format!("status-connector-{name}") };
        let records = self.internal("status").into_iter().filter(|record| {
            let key = record.key_text();
            if of_tasks { key.starts_with(&prefix) } else { key == prefix }
        });
        records.filter_map(|record| record.json()["state"].as_str().map(str::to_owned)).collect()
    }

    fn internal(&self, purpose: &str) -> Vec<Record> {
        match &self.workers {
            Workers::Standalone { .. } => Vec::new(),
            Workers::Cluster(cluster) => cluster.topics.read(&cluster.topic(purpose)).unwrap(),
        }
    }
}

/// A create request; `more` are members beside name and configuration.
pub fn request(name: &str, config: &Value, more: &Value) -> Value {
    let mut request = json!({ "name": name, "config": config });
    for (member, value) in more.as_object().into_iter().flatten() {
        request[member] = value.clone();
    }
    request
}
