//! Apache's worker and ours, one after the other.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bulkhead_e2e::{Cluster, Kind, Rest, Topics, eventually, real_kafka};
use serde_json::{Value, json};

use crate::seen::Seen;

const SOON: Duration = Duration::from_secs(90);

const SOURCE: &str = "org.apache.kafka.connect.file.FileStreamSourceConnector";
const SINK: &str = "org.apache.kafka.connect.file.FileStreamSinkConnector";
const STRING: &str = "org.apache.kafka.connect.storage.StringConverter";
const TRANSFORMS: &str = "org.apache.kafka.connect.transforms";
const CONVERTERS: &str = "org.apache.kafka.connect.converters";
const JSON: &str = "org.apache.kafka.connect.json.JsonConverter";

/// Both workers, each a cluster of its own, with the same properties and one folder for data.
pub struct Workers {
    theirs: Cluster,
    ours: Cluster,
    folder: PathBuf,
    _folder: tempfile::TempDir,
}

impl Workers {
    /// None without a broker.
    pub fn start(test: &str) -> Option<Self> {
        let kafka = real_kafka(test)?;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        let start = |whose: &str, kind| {
            let mut cluster = Cluster::new(&kafka, &format!("{test}-{whose}")).unwrap();
            cluster = cluster.with("sandbox.default.files", &format!("{}:rw", path.display()));
            for (provider, class) in [("file", "File"), ("dir", "Directory"), ("env", "EnvVar")] {
                let class = format!("org.apache.kafka.common.config.provider.{class}ConfigProvider");
                cluster = cluster.with(&format!("config.providers.{provider}.class"), &class);
            }
            cluster = cluster.with("config.providers", "file,dir,env");
            cluster.add(kind).unwrap();
            cluster
        };
        fs::create_dir_all(path.join("secrets/dir")).unwrap();
        fs::write(path.join("secrets/all.properties"), "origin=somewhere: else\nlinger=7\n").unwrap();
        fs::write(path.join("secrets/dir/answer"), "42").unwrap();
        let (theirs, ours) = (start("theirs", Kind::Apache), start("ours", Kind::Bulkhead));
        Some(Self { theirs, ours, folder: path, _folder: folder })
    }

    pub fn topics(&self) -> &Topics {
        &self.ours.topics
    }

    /// A name of this run alone, for topics and connectors.
    pub fn name(&self, name: &str) -> String {
        self.ours.topic(name)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Has Apache's worker run connectors until `done`, then ours with copies of their configurations.
    fn each_runs(&self, connectors: &[(String, Value)], done: impl Fn(&Rest, Turn)) {
        let [theirs, ours] = [&self.theirs, &self.ours].map(|cluster| cluster.rest(0));
        for (name, config) in connectors {
            create(&theirs, name, config);
        }
        done(&theirs, Turn::Apache);
        let copies = theirs.must("GET", "/connectors?expand=info", None).unwrap();
        for (name, _) in connectors {
            let copy = &copies[name]["info"]["config"];
            assert_eq!(*copy, theirs.must("GET", &format!("/connectors/{name}/config"), None).unwrap());
            finish(&theirs, name);
            create(&ours, name, copy);
            assert_eq!(*copy, ours.must("GET", &format!("/connectors/{name}/config"), None).unwrap());
        }
        done(&ours, Turn::Bulkhead);
        connectors.iter().for_each(|(name, _)| finish(&ours, name));
    }

    /// As [`Workers::each_runs`], until so many records were added to a topic each time.
    pub fn each_writes(&self, connectors: &[(String, Value)], topics: &[(String, usize)]) {
        self.each_runs(connectors, |rest, turn| {
            for (topic, count) in topics {
                let count = count * turn.number();
                let outcome = eventually(&format!("{topic} has {count} records"), SOON, || {
                    (self.topics().read(topic).ok()?.len() >= count).then_some(())
                });
                outcome.unwrap_or_else(|error| panic!("{error}: {}", statuses(rest)));
            }
        });
        for (topic, count) in topics {
            let records = self.topics().read(topic).unwrap();
            assert_eq!(records.len(), count * 2, "{topic}");
            let (theirs, ours) = records.split_at(*count);
            for (theirs, ours) in theirs.iter().zip(ours) {
                assert_eq!(Seen::of(ours), Seen::of(theirs), "{topic}");
            }
        }
    }

    /// Has each sink read to the end of its topics, from their beginning; returns what each has written to its file.
    pub fn each_reads(&self, sinks: &[(String, Value)], topics: &[Vec<String>]) -> Vec<[String; 2]> {
        let file = |name: &str| self.file(&format!("{name}.out"));
        self.each_runs(sinks, |rest, turn| {
            for ((name, _), topics) in sinks.iter().zip(topics) {
                let end: usize = topics.iter().map(|topic| self.topics().read(topic).unwrap().len()).sum();
                let read = || committed(rest, name).filter(|offset| *offset == end as u64).map(drop);
                let outcome = eventually(&format!("{name} has read {end} records"), SOON, read);
                outcome.unwrap_or_else(|error| panic!("{error}: {}", statuses(rest)));
                // What comes after this begins anew, and goes to a file of its own.
                rest.must("PUT", &format!("/connectors/{name}/stop"), None).unwrap();
                rest.wait(name, "STOPPED", 0).unwrap();
                let reset =
                    || (rest.status("DELETE", &format!("/connectors/{name}/offsets")).ok()? == 200).then_some(());
                eventually(&format!("the offsets of {name} are reset"), SOON, reset).unwrap();
                fs::rename(file(name), file(&turn.of(name))).unwrap();
            }
        });
        let written = |turn: Turn, name: &str| fs::read_to_string(file(&turn.of(name))).unwrap();
        sinks.iter().map(|(name, _)| [Turn::Apache, Turn::Bulkhead].map(|turn| written(turn, name))).collect()
    }

    /// A source of these lines; its topic has its own name.
    pub fn source(&self, name: &str, lines: &str, more: &str) -> (String, Value) {
        let (file, name) = (self.file(&format!("{name}.in")), self.name(name));
        fs::write(&file, lines).unwrap();
        let own = format!("connector.class = {SOURCE}\nfile = {}\ntopic = {name}\n", file.display());
        (name.clone(), self.config(&(own + more)))
    }

    pub fn sink(&self, name: &str, topic: &str, more: &str) -> (String, Value) {
        let name = self.name(name);
        let file = self.file(&format!("{name}.out"));
        let own = format!("connector.class = {SINK}\nfile = {}\ntopics = {topic}\n", file.display());
        (name, self.config(&(own + more)))
    }

    /// Of lines `key = value`, in which some places and names are short.
    fn config(&self, text: &str) -> Value {
        let secrets = self.file("secrets").display().to_string();
        let text = text.replace("{T}", TRANSFORMS).replace("{C}", CONVERTERS).replace("{STRING}", STRING);
        let text = text.replace("{JSON}", JSON).replace("{secrets}", &secrets).replace("{group}", &self.ours.group);
        let pairs = text.lines().filter_map(|line| line.split_once(" = "));
        pairs.map(|(key, value)| (key.to_owned(), json!(value))).collect::<serde_json::Map<_, _>>().into()
    }
}

/// Whose turn it is.
#[derive(Clone, Copy)]
enum Turn {
    Apache,
    Bulkhead,
}

impl Turn {
    fn number(self) -> usize {
        match self {
            Self::Apache => 1,
            Self::Bulkhead => 2,
        }
    }

    fn of(self, name: &str) -> String {
        format!("{name}-{}", self.number())
    }
}

fn create(rest: &Rest, name: &str, config: &Value) {
    rest.must("POST", "/connectors", Some(&json!({"name": name, "config": config}))).unwrap();
}

/// The next one to run it may rely on its being gone.
fn finish(rest: &Rest, name: &str) {
    rest.delete(name).unwrap();
    eventually(&format!("{name} is gone"), SOON, || rest.states(name).ok()?.is_empty().then_some(())).unwrap();
}

fn statuses(rest: &Rest) -> Value {
    rest.must("GET", "/connectors?expand=status", None).unwrap_or_default()
}

/// The sum over all partitions of a sink.
fn committed(rest: &Rest, name: &str) -> Option<u64> {
    let (_, answer) = rest.ask("GET", &format!("/connectors/{name}/offsets"), None).ok()?;
    answer["offsets"].as_array()?.iter().map(|entry| entry["offset"]["kafka_offset"].as_u64()).sum()
}
