//! Converters.

use std::fs;

use bulkhead_e2e::{Kafka, Setup, eventually};
use serde_json::{Value, json};

use crate::{Case, SOON};

const CBOR: &str = "io.bulkhead.converters.CborConverter";
const VALUES: (&str, &str) = ("value.converter", CBOR);

impl Case {
    /// What a sink has written, once it is so many lines.
    fn lines(&self, file: &str, count: usize) -> String {
        let file = self.file(file);
        let lines =
            || fs::read_to_string(&file).ok().filter(|text| text.lines().count() == count && text.ends_with('\n'));
        eventually(&format!("{count} lines arrive"), SOON, lines).unwrap()
    }
}

#[test]
fn values_are_what_a_plugins_converter_makes_of_them_both_ways() {
    let case = Case::start(&[]);
    fs::write(case.file("in.txt"), "a\nmore than 23 bytes of text\n").unwrap();
    case.create("FileStreamSource", "in.txt", &[VALUES]);
    case.create_as("back", "FileStreamSink", "back.txt", &[VALUES]);
    // The bytes of a text in CBOR are its length and the text; some lengths are letters.
    case.create_as("bytes", "FileStreamSink", "bytes.txt", &[]);
    assert_eq!(case.lines("back.txt", 2), "a\nmore than 23 bytes of text\n");
    assert_eq!(case.lines("bytes.txt", 2), "aa\nx\u{1a}more than 23 bytes of text\n");
    let part = format!(r#""converter" "value.converter" "{CBOR}""#);
    for (connector, parts) in [("filestreamsource", vec![part.clone()]), ("back", vec![part]), ("bytes", vec![])] {
        assert_eq!(case.parts(connector), parts, "{connector}");
    }
}

#[test]
fn a_worker_has_it_for_connectors_that_name_none_and_transforms_stand_between() {
    let case = Case::start(&[("key.converter", CBOR), ("header.converter", CBOR)]);
    fs::write(case.file("in.txt"), "7\n").unwrap();
    let prefix = "org.apache.kafka.connect.transforms";
    let (hoist, cast) = (format!("{prefix}.HoistField$Value"), format!("{prefix}.Cast$Value"));
    let key = format!("{prefix}.ValueToKey");
    let insert = format!("{prefix}.InsertHeader");
    case.create(
        "FileStreamSource",
        "in.txt",
        &[
            VALUES,
            ("transforms", "cast,hoist,key,head"),
            ("transforms.cast.type", &cast),
            ("transforms.cast.spec", "int16"),
            ("transforms.hoist.type", &hoist),
            ("transforms.hoist.field", "n"),
            ("transforms.key.type", &key),
            ("transforms.key.fields", "n"),
            ("transforms.head.type", &insert),
            ("transforms.head.header", "h"),
            ("transforms.head.value.literal", "x"),
        ],
    );
    // What was a struct with its schema comes back as a map without.
    case.create_as("map", "FileStreamSink", "map.txt", &[VALUES]);
    assert_eq!(case.lines("map.txt", 1), "{n=7}\n");
    let parts = case.parts("filestreamsource");
    let of = |role: &str| format!(r#""converter" "{role}.converter" "{CBOR}""#);
    assert_eq!(parts, ["header", "key", "value"].map(of));
}

#[test]
fn bytes_that_it_refuses_are_one_bad_record_each() {
    let case = Case::start(&[]);
    fs::write(case.file("in.txt"), "no CBOR\naa\n").unwrap();
    case.create("FileStreamSource", "in.txt", &[]);
    case.create_as("strict", "FileStreamSink", "strict.txt", &[VALUES]);
    case.create_as("lenient", "FileStreamSink", "lenient.txt", &[VALUES, ("errors.tolerance", "all")]);
    assert_eq!(case.lines("lenient.txt", 1), "a\n");
    let trace = case.worker.rest.failure("strict", 0).unwrap();
    assert!(trace.starts_with("record t-0@0 failed at stage VALUE_CONVERTER: "), "{trace}");
}

#[test]
fn it_is_listed_and_validated_like_any_other() {
    let case = Case::start(&[]);
    let (status, plugins) = case.worker.rest.ask("GET", "/connector-plugins?connectorsOnly=false", None).unwrap();
    assert_eq!(status, 200);
    for kind in ["converter", "header_converter"] {
        let found = |plugin: &Value| plugin["class"] == CBOR && plugin["type"] == kind;
        assert!(plugins.as_array().unwrap().iter().any(found), "no {kind} is listed: {plugins}");
    }
    let config = json!({
        "connector.class": "FileStreamSource", "name": "f", "topic": "t", "file": "f", "value.converter": "Cbor",
        "value.converter.omit.nulls": "perhaps", "value.converter.sandbox.memory": "4GiB",
    });
    let path = "/connector-plugins/FileStreamSource/config/validate";
    let (status, answer) = case.worker.rest.ask("PUT", path, Some(&config)).unwrap();
    assert_eq!(status, 200, "{answer}");
    for key in ["value.converter.omit.nulls", "value.converter.sandbox.memory"] {
        let configs = answer["configs"].as_array().unwrap();
        let errors =
            configs.iter().find(|config| config["value"]["name"] == key).map(|config| &config["value"]["errors"]);
        assert_eq!(errors.and_then(Value::as_array).map(Vec::len), Some(1), "{key}: {answer}");
    }
}

#[test]
fn a_worker_without_its_own_converters_does_not_start() {
    let folder = tempfile::tempdir().unwrap();
    let setup = Setup::new(Kafka::Embedded, folder.path()).unwrap();
    let setup = setup.with("value.converter", "org.example.CsvConverter").with("header.converter.plugin.version", "9");
    let output = setup.command().unwrap().output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success(), "{said}");
    let expected =
        "worker property `value.converter`: no converter of the class `org.example.CsvConverter` is installed";
    assert!(said.contains(expected), "{said}");
    assert!(
        said.contains("`header.converter`: `org.apache.kafka.connect.storage.SimpleHeaderConverter`: version 9"),
        "{said}"
    );
}
