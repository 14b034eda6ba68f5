//! AvroConverter with a real schema registry, and beside a worker of Apache's whose converter is another program.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::time::Duration;

use bulkhead_e2e::apache::{self, Peer};
use bulkhead_e2e::schema_registry::{self, SchemaRegistry};
use bulkhead_e2e::{Kafka, Record, Rest, Setup, Topics, Worker, eventually, real_kafka};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(120);

/// What both workers make of a line before it is written: a struct of several types.
const MAKE_STRUCT: &[(&str, &str)] = &[
    ("transforms", "hoist,number,narrow,day,date,name"),
    ("transforms.hoist.type", "org.apache.kafka.connect.transforms.HoistField$Value"),
    ("transforms.hoist.field", "line"),
    ("transforms.number.type", "org.apache.kafka.connect.transforms.InsertField$Value"),
    ("transforms.number.static.field", "number"),
    ("transforms.number.static.value", "-7"),
    ("transforms.narrow.type", "org.apache.kafka.connect.transforms.Cast$Value"),
    ("transforms.narrow.spec", "number:int8"),
    ("transforms.day.type", "org.apache.kafka.connect.transforms.InsertField$Value"),
    ("transforms.day.static.field", "day"),
    ("transforms.day.static.value", "2026-01-02"),
    ("transforms.date.type", "org.apache.kafka.connect.transforms.TimestampConverter$Value"),
    ("transforms.date.field", "day"),
    ("transforms.date.format", "yyyy-MM-dd"),
    ("transforms.date.target.type", "Timestamp"),
    ("transforms.name.type", "org.apache.kafka.connect.transforms.SetSchemaMetadata$Value"),
    ("transforms.name.schema.name", "test.Line"),
    ("transforms.name.schema.version", "2"),
];

/// What both make of it before it goes to a file, so that dates look the same in every time zone. It works on a
/// timestamp only, not on a number.
const SHOW: &[(&str, &str)] = &[
    ("transforms", "millis"),
    ("transforms.millis.type", "org.apache.kafka.connect.transforms.TimestampConverter$Value"),
    ("transforms.millis.field", "day"),
    ("transforms.millis.target.type", "unix"),
];

const SHOWN: &str = "Struct{line=one,number=-7,day=1767312000000}\nStruct{line=two,number=-7,day=1767312000000}\n";

struct Case {
    worker: Worker,
    registry: SchemaRegistry,
    broker: String,
    folder: tempfile::TempDir,
    name: &'static str,
}

impl Case {
    /// None without a broker, and without a way to fetch a registry unless this is CI.
    fn start(name: &'static str) -> Option<Self> {
        let Kafka::At(broker) = real_kafka(name)? else { return None };
        let folder = tempfile::tempdir().unwrap();
        let registry = match SchemaRegistry::start(folder.path()) {
            Err(error) if std::env::var("CI").as_deref() != Ok("true") => {
                println!("left out: {name} (needs a schema registry, which can't be had: {error:#})");
                return None;
            }
            registry => registry.unwrap(),
        };
        let worker = Setup::new(Kafka::At(broker.clone()), folder.path()).unwrap().start().unwrap();
        Some(Self { worker, registry, broker, folder, name })
    }

    /// A worker of Apache's that finds Apicurio's converter.
    fn start_peer(&self) -> Peer {
        let kafka = apache::Kafka::fetch().unwrap();
        let plugins = [kafka.plugins(), schema_registry::converter().unwrap()];
        let plugins = plugins.map(|path| path.display().to_string()).join(",");
        let peer =
            kafka.start_connect(&self.broker, &self.folder.path().join("peer"), &format!("plugin.path={plugins}\n"));
        peer.unwrap()
    }

    /// A topic of this run alone.
    fn topic(&self, name: &str) -> String {
        format!("{}-{}-{name}", self.name, std::process::id())
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().canonicalize().unwrap().join(name).display().to_string()
    }

    fn ours(&self) -> Vec<(&'static str, String)> {
        vec![
            ("value.converter", "io.confluent.connect.avro.AvroConverter".to_owned()),
            ("value.converter.schema.registry.url", self.registry.url()),
        ]
    }

    /// Apicurio's converter, told to write ids as Confluent's does.
    fn theirs(&self) -> Vec<(&'static str, String)> {
        vec![
            ("value.converter", "io.apicurio.registry.utils.converter.AvroConverter".to_owned()),
            ("value.converter.apicurio.registry.url", self.registry.native_url()),
            ("value.converter.apicurio.registry.auto-register", "true".to_owned()),
            ("value.converter.apicurio.registry.headers.enabled", "false".to_owned()),
            ("value.converter.apicurio.registry.as-confluent", "true".to_owned()),
            ("value.converter.apicurio.registry.use-id", "contentId".to_owned()),
        ]
    }

    /// From a file of two lines to a topic.
    fn source(&self, rest: &Rest, topic: &str, converter: &[(&'static str, String)]) {
        let input = self.file("input");
        fs::write(&input, "one\ntwo\n").unwrap();
        let class = ("connector.class", "FileStreamSource");
        let mut config = vec![class, ("tasks.max", "1"), ("file", &input), ("topic", topic)];
        config.extend_from_slice(MAKE_STRUCT);
        config.extend(converter.iter().map(|(key, value)| (*key, value.as_str())));
        rest.create(topic, &config).unwrap();
    }

    /// From a topic to a file of its name.
    fn sink(&self, rest: &Rest, topic: &str, name: &str, converter: &[(&'static str, String)]) {
        let file = self.file(name);
        let class = ("connector.class", "FileStreamSink");
        let mut config = vec![class, ("tasks.max", "1"), ("file", &file), ("topics", topic)];
        config.extend_from_slice(SHOW);
        config.extend(converter.iter().map(|(key, value)| (*key, value.as_str())));
        rest.create(&format!("{topic}-{name}"), &config).unwrap();
    }

    fn records(&self, topic: &str) -> Vec<Record> {
        let topics = Topics::at(&self.broker);
        let records = || topics.read(topic).ok().filter(|records| records.len() >= 2);
        eventually(&format!("{topic} has two records"), SOON, records).unwrap()
    }

    fn shows(&self, file: &str) {
        let path = self.file(file);
        let text = || fs::read_to_string(Path::new(&path)).ok().filter(|text| text.lines().count() >= 2);
        assert_eq!(eventually(&format!("{file} has two lines"), SOON, text).unwrap(), SHOWN, "{file}");
    }
}

/// What follows after the id of the schema.
fn payloads(records: &[Record]) -> Vec<Vec<u8>> {
    records.iter().map(|record| record.value.as_ref().unwrap()[5..].to_vec()).collect()
}

#[test]
fn topics_are_read_and_written_alike_beside_apaches_worker() {
    let Some(case) = Case::start("avro-both") else { return };
    let peer = case.start_peer();
    let (us, them) = (&case.worker.rest, &Rest::new(&peer.url()));
    let (our_topic, their_topic) = (case.topic("ours"), case.topic("theirs"));
    case.source(us, &our_topic, &case.ours());
    case.source(them, &their_topic, &case.theirs());
    let ours = case.records(&our_topic);
    assert_eq!(ours[0].value.as_ref().unwrap()[..4], [0; 4]);
    assert_eq!(payloads(&ours), payloads(&case.records(&their_topic)));
    case.sink(us, &our_topic, "ours-by-us", &case.ours());
    case.sink(us, &their_topic, "theirs-by-us", &case.ours());
    case.sink(them, &our_topic, "ours-by-them", &case.theirs());
    case.shows("ours-by-us");
    case.shows("theirs-by-us");
    case.shows("ours-by-them");
    let registry = Rest::new(&case.registry.url());
    let schemas = [our_topic, their_topic].map(|topic| {
        let version = registry.must("GET", &format!("/subjects/{topic}-value/versions/latest"), None).unwrap();
        serde_json::from_str::<Value>(version["schema"].as_str().unwrap()).unwrap()
    });
    assert_eq!(schemas[0], schemas[1]);
}

#[test]
fn a_schema_that_the_registry_refuses_fails_the_task_and_says_why() {
    let Some(case) = Case::start("avro-refused") else { return };
    let topic = case.topic("strict");
    let registry = Rest::new(&case.registry.url());
    let schema = r#"{"type":"record","name":"Line","namespace":"test","fields":[{"name":"other","type":"int"}]}"#;
    registry.must("POST", &format!("/subjects/{topic}-value/versions"), Some(&json!({ "schema": schema }))).unwrap();
    let strict = json!({ "compatibility": "BACKWARD" });
    registry.must("PUT", &format!("/config/{topic}-value"), Some(&strict)).unwrap();
    case.source(&case.worker.rest, &topic, &case.ours());
    let failure = case.worker.rest.failure(&topic, 0).unwrap();
    let subject = format!("schema registry {}, subject `{topic}-value`: ", case.registry.url());
    assert!(failure.contains("failed at stage VALUE_CONVERTER: Error registering Avro schema"), "{failure}");
    assert!(failure.contains(&subject) && failure.contains("(status 409, error code 409)"), "{failure}");
}
