//! Troubles with single records that users of Kafka Connect reported in public, on real Kafka: FC-10 (one bad record
//! among good ones), FC-11 (nulls on the way through transforms), FC-13 (same name, old position), FC-14 (the record
//! that is too big).

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use bulkhead_e2e::{Kafka, Record, Rest, Setup, Topics, Worker, eventually, real_kafka};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_secs(60);
const TEXTS: &str = "org.apache.kafka.connect.storage.StringConverter";
const BYTES: &str = "org.apache.kafka.connect.converters.ByteArrayConverter";
const MIB: usize = 1024 * 1024;

type Config<'a> = Vec<(&'a str, &'a str)>;

/// A standalone worker on a broker whose topics can be looked into.
struct Case {
    worker: Worker,
    topics: Topics,
    folder: tempfile::TempDir,
    test: &'static str,
}

impl Case {
    /// None without a broker.
    fn start(test: &'static str, properties: &[(&str, &str)]) -> Option<Self> {
        let Kafka::At(address) = real_kafka(test)? else { return None };
        let folder = tempfile::tempdir().unwrap();
        let mut setup = Setup::new(Kafka::At(address.clone()), folder.path()).unwrap();
        for (key, value) in properties {
            setup = setup.with(key, value);
        }
        Some(Self { worker: setup.start().unwrap(), topics: Topics::at(&address), folder, test })
    }

    fn rest(&self) -> &Rest {
        &self.worker.rest
    }

    /// A topic of this run alone.
    fn topic(&self, name: &str) -> String {
        format!("{}-{}-{name}", self.test, std::process::id())
    }

    /// Makes a topic with these values, in this order.
    fn topic_of(&self, name: &str, values: &[&str]) -> String {
        let topic = self.topic(name);
        self.topics.create(&topic, 1, &[]).unwrap();
        let records: Vec<_> = values.iter().map(|value| (None, Some(value.as_bytes()))).collect();
        self.topics.write(&topic, 0, &records).unwrap();
        topic
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    /// Of a sink that appends to the file of its own name.
    fn file_sink(&self, name: &str, topic: &str, more: &[(&str, &str)]) {
        let file = self.file(name);
        let mut config = vec![("connector.class", "FileStreamSink"), ("topics", topic)];
        config.extend([("file", file.to_str().unwrap())]);
        config.extend_from_slice(more);
        self.rest().create(name, &config).unwrap();
    }

    /// Waits for the lines of a file, whole ones.
    fn lines(&self, name: &str, count: usize) -> Vec<String> {
        let lines = || {
            let text = fs::read_to_string(self.file(name)).ok().filter(|text| text.ends_with('\n'))?;
            (text.lines().count() >= count).then(|| text.lines().map(str::to_owned).collect())
        };
        eventually(&format!("{name} has {count} lines"), SOON, lines).unwrap()
    }

    /// Waits for so many records of a topic.
    fn records(&self, topic: &str, count: usize) -> Vec<Record> {
        let records = || self.topics.read(topic).ok().filter(|records| records.len() >= count);
        eventually(&format!("{topic} has {count} records"), SOON, records).unwrap()
    }

    /// Waits until the group of a sink has committed this offset of its topic's only partition.
    fn committed(&self, name: &str, offset: i64) {
        let reached = || {
            let (_, answer) = self.rest().ask("GET", &format!("/connectors/{name}/offsets"), None).ok()?;
            (answer["offsets"][0]["offset"]["kafka_offset"] == offset).then_some(())
        };
        eventually(&format!("{name} has committed {offset}"), SOON, reached).unwrap();
    }
}

fn dead_letters(topic: &str) -> Config<'_> {
    vec![
        ("errors.tolerance", "all"),
        ("errors.deadletterqueue.topic.name", topic),
        ("errors.deadletterqueue.topic.replication.factor", "1"),
        ("errors.deadletterqueue.context.headers.enable", "true"),
    ]
}

fn values(records: &[Record]) -> Vec<String> {
    records.iter().map(Record::value_text).collect()
}

const ENVELOPE: &str = r#"{"schema":{"type":"int32","optional":false},"payload":7}"#;
const MIXED: [&str; 4] = [r#"{"a":1}"#, "not json", r#"{"a":2}"#, ENVELOPE];

#[test]
fn fc_10_a_record_that_is_not_json_is_set_aside_with_all_that_is_known_of_it() {
    let Some(case) = Case::start("fc-10a", &[]) else { return };
    let (topic, dead) = (case.topic_of("in", &MIXED), case.topic("dead"));
    let more = [dead_letters(&dead), vec![("value.converter.schemas.enable", "false")]].concat();
    let more = [more, vec![("value.converter", "org.apache.kafka.connect.json.JsonConverter")]].concat();
    case.file_sink("a", &topic, &more);
    assert_eq!(case.lines("a", 3).len(), 3);
    let records = case.records(&dead, 1);
    assert_eq!(values(&records), ["not json"]);
    let header = |name: &str| records[0].header(&format!("__connect.errors.{name}")).unwrap_or_default();
    let known = ["topic", "partition", "offset", "connector.name", "task.id", "stage", "class.name"].map(header);
    let converter = "org.apache.kafka.connect.json.JsonConverter";
    assert_eq!(known, [&topic, "0", "1", "a", "0", "VALUE_CONVERTER", converter]);
    for name in ["exception.class.name", "exception.message", "exception.stacktrace"] {
        assert_ne!(header(name), "", "{name}");
    }
}

#[test]
fn fc_10_records_without_an_envelope_are_set_aside_unchanged() {
    let Some(case) = Case::start("fc-10b", &[]) else { return };
    let (topic, dead) = (case.topic_of("in", &MIXED), case.topic("dead"));
    case.file_sink("b", &topic, &dead_letters(&dead));
    assert_eq!(case.lines("b", 1), ["7"]);
    assert_eq!(values(&case.records(&dead, 3)), MIXED[..3]);
}

#[test]
fn fc_10_without_tolerance_the_task_fails_at_the_record_each_time() {
    let Some(case) = Case::start("fc-10c", &[("value.converter.schemas.enable", "false")]) else { return };
    let topic = case.topic_of("in", &MIXED);
    case.file_sink("c", &topic, &[]);
    for _ in 0..2 {
        let trace = case.rest().failure("c", 0).unwrap();
        assert!(trace.contains(&format!("{topic}-0@1")), "{trace}");
        let lines = fs::read_to_string(case.file("c")).unwrap_or_default();
        assert!(lines.lines().count() <= 1, "nothing behind it was written: {lines}");
        let (_, offsets) = case.rest().ask("GET", "/connectors/c/offsets", None).unwrap();
        let committed = offsets["offsets"][0]["offset"]["kafka_offset"].as_i64();
        assert!(committed.is_none_or(|committed| committed <= 1), "{offsets}");
        assert_eq!(case.rest().status("POST", "/connectors/c/tasks/0/restart").unwrap(), 204);
    }
}

#[test]
fn fc_10_a_dead_letter_queue_that_is_read_as_well_is_refused() {
    let Some(case) = Case::start("fc-10d", &[]) else { return };
    let topic = case.topic("in");
    let config = [("connector.class", "FileStreamSink"), ("topics", &topic), ("file", "/nowhere")];
    let config: serde_json::Map<_, _> =
        config.into_iter().chain(dead_letters(&topic)).map(|(key, value)| (key.to_owned(), json!(value))).collect();
    let (status, answer) =
        case.rest().ask("POST", "/connectors", Some(&json!({ "name": "d", "config": config }))).unwrap();
    assert_eq!(status, 400, "{answer}");
}

#[test]
fn fc_10_records_that_a_sink_rejects_are_set_aside_alone() {
    let Some(case) = Case::start("fc-10e", &[]) else { return };
    let (topic, dead) = (case.topic_of("in", &["0", "1", "2", "3"]), case.topic("dead"));
    let sink = [("connector.class", "io.bulkhead.test.HostileSink"), ("mode", "reject-odd"), ("topics", &topic)];
    let config = [sink.to_vec(), vec![("value.converter", TEXTS)], dead_letters(&dead)].concat();
    case.rest().create("e", &config).unwrap();
    assert_eq!(values(&case.records(&dead, 2)), ["1", "3"]);
    case.committed("e", 4);
    case.rest().wait("e", "RUNNING", 1).unwrap();
}

#[test]
fn fc_10_a_target_that_is_down_is_no_fault_of_the_records() {
    let Some(case) = Case::start("fc-10f", &[]) else { return };
    let (topic, dead) = (case.topic_of("in", &["0", "1", "2", "3"]), case.topic("dead"));
    let config = |times: &'static str| {
        let sink = [("connector.class", "io.bulkhead.test.HostileSink"), ("mode", "retriable"), ("times", times)];
        let more = [("topics", topic.as_str()), ("value.converter", TEXTS), ("errors.retry.timeout", "1500")];
        [sink.to_vec(), more.to_vec(), dead_letters(&dead)].concat()
    };
    case.rest().create("f", &config("1000000")).unwrap();
    let trace = case.rest().failure("f", 0).unwrap();
    assert!(trace.contains("not yet"), "{trace}");
    let repaired: serde_json::Map<_, _> =
        config("0").into_iter().map(|(key, value)| (key.to_owned(), json!(value))).collect();
    case.rest().must("PUT", "/connectors/f/config", Some(&Value::Object(repaired))).unwrap();
    case.committed("f", 4);
    case.rest().wait("f", "RUNNING", 1).unwrap();
    assert_eq!(values(&case.topics.read(&dead).unwrap_or_default()), [""; 0]);
}

#[test]
fn fc_11_a_null_passes_transforms_that_let_it_and_fails_those_that_can_not() {
    let Some(case) = Case::start("fc-11", &[("value.converter.schemas.enable", "false")]) else { return };
    let (topic, dead) = (case.topic("in"), case.topic("dead"));
    case.topics.create(&topic, 1, &[]).unwrap();
    let records: [(&str, Option<&str>); 3] =
        [("k1", Some(r#"{"a":1,"b":"x"}"#)), ("k2", None), ("k3", Some(r#"{"a":3,"b":"y"}"#))];
    let records = records.map(|(key, value)| (Some(key.as_bytes()), value.map(str::as_bytes)));
    case.topics.write(&topic, 0, &records).unwrap();
    let transform = |class: &'static str, more: &[(&'static str, &'static str)]| {
        let own = [("key.converter", TEXTS), ("transforms", "t"), ("transforms.t.type", class)];
        [own.to_vec(), more.to_vec()].concat()
    };
    let cast = "org.apache.kafka.connect.transforms.Cast$Value";
    case.file_sink("cast", &topic, &transform(cast, &[("transforms.t.spec", "a:string")]));
    assert_eq!(case.lines("cast", 3).len(), 3);

    let value_to_key = "org.apache.kafka.connect.transforms.ValueToKey";
    let fields = ("transforms.t.fields", "a");
    case.file_sink("fails", &topic, &transform(value_to_key, &[fields]));
    let trace = case.rest().failure("fails", 0).unwrap();
    assert!(trace.contains("TRANSFORMATION") && trace.contains(&format!("{topic}-0@1")), "{trace}");

    let skipping = [transform(value_to_key, &[fields]), dead_letters(&dead)].concat();
    case.file_sink("skips", &topic, &skipping);
    assert_eq!(case.lines("skips", 2).len(), 2);
    let refused = &case.records(&dead, 1)[0];
    assert_eq!((refused.key_text(), refused.value.as_ref()), ("k2".to_owned(), None));
    assert_eq!(refused.header("__connect.errors.class.name").as_deref(), Some(value_to_key));

    let tombstone = "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone";
    let predicate = [("predicates", "p"), ("predicates.p.type", tombstone)];
    let only_others = [("transforms.t.predicate", "p"), ("transforms.t.negate", "true"), fields];
    let config = [transform(value_to_key, &only_others), predicate.to_vec()].concat();
    case.file_sink("all", &topic, &config);
    assert_eq!(case.lines("all", 3).len(), 3);
}

#[test]
fn fc_13_a_connector_of_the_same_name_goes_on_where_the_former_was() {
    let Some(case) = Case::start("fc-13", &[]) else { return };
    let (topic, input) = (case.topic("lines"), case.file("in.txt"));
    fs::write(&input, "1\n2\n3\n4\n5\n").unwrap();
    let config = [
        ("connector.class", "FileStreamSource"),
        ("file", input.to_str().unwrap()),
        ("topic", &topic),
        ("value.converter", TEXTS),
    ];
    let offsets =
        |method: &str, body: Option<Value>| case.rest().ask(method, "/connectors/x/offsets", body.as_ref()).unwrap();
    let stored = |position: u64| {
        let reached = || {
            let (_, answer) = offsets("GET", None);
            (answer["offsets"][0]["offset"]["position"] == position).then_some(())
        };
        eventually(&format!("position {position} is stored"), SOON, reached).unwrap();
    };
    let one_line = json!({"offsets": [{"partition": {"filename": input}, "offset": {"position": 8}}]});

    case.rest().create("x", &config).unwrap();
    assert_eq!(values(&case.records(&topic, 5)), ["1", "2", "3", "4", "5"]);
    stored(10);
    for (method, body) in [("PATCH", Some(one_line.clone())), ("DELETE", None)] {
        let (status, answer) = offsets(method, body);
        assert!(status == 400 && answer["message"].as_str().unwrap().contains("stop"), "{status} {answer}");
    }
    case.rest().delete("x").unwrap();
    case.rest().create("x", &config).unwrap();
    fs::write(&input, "1\n2\n3\n4\n5\n6\n").unwrap();
    assert_eq!(values(&case.records(&topic, 6))[5..], ["6"]);
    assert!(case.worker.log().contains("There are stored offsets to go on from."), "{}", case.worker.log());
    stored(12);

    case.rest().must("PUT", "/connectors/x/stop", None).unwrap();
    eventually("it is stopped", SOON, || (case.rest().states("x").ok()? == ["STOPPED"]).then_some(())).unwrap();
    let wrong = [
        json!({"offsets": []}),
        json!({"offsets": [{"partition": {"unknown": "x"}, "offset": {"position": 8}}]}),
        json!({"offsets": [{"partition": {"filename": input}, "offset": {"position": -1}}]}),
        json!({"offsets": [{"partition": {"filename": input}, "offset": {"position": "eight"}}]}),
        json!({"offsets": 5}),
        json!([]),
    ];
    for body in wrong {
        let (status, answer) = offsets("PATCH", Some(body.clone()));
        assert_eq!(status, 400, "{body}: {answer}");
    }
    stored(12);
    assert_eq!(offsets("PATCH", Some(one_line)).0, 200);
    case.rest().must("PUT", "/connectors/x/resume", None).unwrap();
    assert_eq!(values(&case.records(&topic, 8))[6..], ["5", "6"]);

    case.rest().must("PUT", "/connectors/x/stop", None).unwrap();
    eventually("it is stopped", SOON, || (case.rest().states("x").ok()? == ["STOPPED"]).then_some(())).unwrap();
    assert_eq!(offsets("DELETE", None).0, 200);
    case.rest().must("PUT", "/connectors/x/resume", None).unwrap();
    assert_eq!(values(&case.records(&topic, 14))[8..], ["1", "2", "3", "4", "5", "6"]);
}

#[test]
fn fc_13_offsets_of_a_sink_move_in_its_group() {
    let Some(case) = Case::start("fc-13s", &[("value.converter", TEXTS)]) else { return };
    let topic = case.topic_of("in", &["0", "1", "2", "3", "4"]);
    case.file_sink("s", &topic, &[]);
    assert_eq!(case.lines("s", 5), ["0", "1", "2", "3", "4"]);
    case.committed("s", 5);
    case.rest().must("PUT", "/connectors/s/stop", None).unwrap();
    eventually("it is stopped", SOON, || (case.rest().states("s").ok()? == ["STOPPED"]).then_some(())).unwrap();
    let partition = json!({"kafka_topic": topic, "kafka_partition": 0});
    let back = json!({"offsets": [{"partition": partition, "offset": {"kafka_offset": 3}}]});
    case.rest().must("PATCH", "/connectors/s/offsets", Some(&back)).unwrap();
    case.committed("s", 3);
    case.rest().must("PUT", "/connectors/s/resume", None).unwrap();
    assert_eq!(case.lines("s", 7)[5..], ["3", "4"]);
}

/// Lines of 10 B, 900 KiB, 3 MiB and 10 B.
fn uneven(case: &Case) -> PathBuf {
    let line = |fill: &str, bytes: usize| fill.repeat(bytes) + "\n";
    let input = case.file("in.txt");
    fs::write(&input, [line("a", 10), line("b", 900 * 1024), line("c", 3 * MIB), line("d", 10)].concat()).unwrap();
    input
}

fn sizes(records: &[Record]) -> Vec<usize> {
    records.iter().map(|record| record.value.as_ref().unwrap().len()).collect()
}

#[test]
fn fc_14_a_record_that_is_too_big_fails_the_task_behind_those_before_it() {
    let Some(case) = Case::start("fc-14", &[("value.converter", TEXTS)]) else { return };
    let (topic, input) = (case.topic("big"), uneven(&case));
    let config = |more: &[(&'static str, &'static str)]| {
        let own = [("connector.class", "FileStreamSource"), ("file", input.to_str().unwrap()), ("topic", &topic)];
        [own.to_vec(), more.to_vec()].concat()
    };
    case.rest().create("strict", &config(&[])).unwrap();
    let trace = case.rest().failure("strict", 0).unwrap();
    for part in [&topic, &(3 * MIB).to_string(), "max.request.size"] {
        assert!(trace.contains(part), "{part} in: {trace}");
    }
    assert_eq!(sizes(&case.records(&topic, 2)), [10, 900 * 1024]);
    let stored = || {
        let (_, answer) = case.rest().ask("GET", "/connectors/strict/offsets", None).ok()?;
        (answer["offsets"][0]["offset"]["position"] == 11 + 900 * 1024 + 1).then_some(())
    };
    eventually("the position of those before it is stored", SOON, stored).unwrap();
    case.rest().delete("strict").unwrap();

    case.rest().create("lenient", &config(&[("errors.tolerance", "all")])).unwrap();
    assert_eq!(sizes(&case.records(&topic, 5)[2..]), [10, 900 * 1024, 10]);
    case.rest().wait("lenient", "RUNNING", 1).unwrap();
}

#[test]
fn fc_14_limits_can_be_raised_on_the_way_in_and_out() {
    let Some(case) = Case::start("fc-14w", &[("value.converter", TEXTS)]) else { return };
    let (topic, input) = (case.topic("big"), uneven(&case));
    case.topics.create(&topic, 1, &[("max.message.bytes", "31457280")]).unwrap();
    let config = [
        ("connector.class", "FileStreamSource"),
        ("file", input.to_str().unwrap()),
        ("topic", &topic),
        ("producer.override.max.request.size", "4194304"),
    ];
    case.rest().create("wide", &config).unwrap();
    assert_eq!(sizes(&case.records(&topic, 4)), [10, 900 * 1024, 3 * MIB, 10]);

    let huge = vec![b'x'; 20 * MIB];
    case.topics.write(&topic, 0, &[(None, Some(&huge))]).unwrap();
    let more = [
        ("value.converter", BYTES),
        ("consumer.override.max.partition.fetch.bytes", "31457280"),
        ("consumer.override.fetch.max.bytes", "31457280"),
    ];
    case.file_sink("out", &topic, &more);
    let lines = case.lines("out", 5);
    assert_eq!(lines.iter().map(String::len).collect::<Vec<_>>(), [10, 900 * 1024, 3 * MIB, 10, 20 * MIB]);
}
