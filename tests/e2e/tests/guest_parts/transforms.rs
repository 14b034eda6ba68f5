//! Transforms and predicates.

use std::fs;

use bulkhead_e2e::eventually;
use serde_json::{Value, json};

use crate::{Case, SOON};

const REDACT: &str = "io.bulkhead.transforms.Redact";
const MENTIONS: &str = "io.bulkhead.predicates.Mentions";

#[test]
fn records_are_redacted_on_both_sides_where_the_predicate_says_so() {
    let case = Case::start(&[]);
    fs::write(case.file("in.txt"), "card 1111 of A\nbox 2222 of B\ncard 3333 of C\n").unwrap();
    case.create(
        "FileStreamSource",
        "in.txt",
        &[
            ("transforms", "mask"),
            ("transforms.mask.type", REDACT),
            ("transforms.mask.pattern", r"\d{4}"),
            ("transforms.mask.predicate", "cards"),
            ("predicates", "cards"),
            ("predicates.cards.type", MENTIONS),
            ("predicates.cards.pattern", "^card "),
        ],
    );
    // A guest between two built-in transforms, behind a built-in predicate.
    case.create(
        "FileStreamSink",
        "out.txt",
        &[
            ("transforms", "hoist,mask,extract"),
            ("transforms.hoist.type", "org.apache.kafka.connect.transforms.HoistField$Value"),
            ("transforms.hoist.field", "line"),
            ("transforms.mask.type", REDACT),
            ("transforms.mask.pattern", " of (.)$"),
            ("transforms.mask.replacement", " of $1."),
            ("transforms.mask.predicate", "gone"),
            ("transforms.mask.negate", "true"),
            ("transforms.extract.type", "org.apache.kafka.connect.transforms.ExtractField$Value"),
            ("transforms.extract.field", "line"),
            ("predicates", "gone"),
            ("predicates.gone.type", "org.apache.kafka.connect.transforms.predicates.RecordIsTombstone"),
        ],
    );
    let out = case.file("out.txt");
    let lines = || fs::read_to_string(&out).ok().filter(|text| text.lines().count() == 3 && text.ends_with('\n'));
    let text = eventually("three lines arrive", SOON, lines).unwrap();
    assert_eq!(text, "card *** of A.\nbox 2222 of B.\ncard *** of C.\n");

    // Each is in a sandbox of its own, until its task is gone.
    let mask = format!(r#""transform" "mask" "{REDACT}""#);
    let cards = format!(r#""predicate" "cards" "{MENTIONS}""#);
    assert_eq!(case.parts("filestreamsource"), [mask.clone(), cards]);
    assert_eq!(case.parts("filestreamsink"), [mask]);
}

#[test]
fn a_transform_of_a_plugin_is_listed_and_validated_like_any_other() {
    let case = Case::start(&[]);
    let (status, plugins) = case.worker.rest.ask("GET", "/connector-plugins?connectorsOnly=false", None).unwrap();
    assert_eq!(status, 200);
    for (class, kind) in [(REDACT, "transformation"), (MENTIONS, "predicate")] {
        let found = |plugin: &Value| plugin["class"] == class && plugin["type"] == kind;
        assert!(plugins.as_array().unwrap().iter().any(found), "{class} is not listed: {plugins}");
    }
    let config = json!({
        "connector.class": "FileStreamSource", "name": "f", "topic": "t", "file": "f",
        "transforms": "mask", "transforms.mask.type": REDACT, "transforms.mask.sandbox.memory": "4GiB",
    });
    let path = "/connector-plugins/FileStreamSource/config/validate";
    let (status, answer) = case.worker.rest.ask("PUT", path, Some(&config)).unwrap();
    assert_eq!(status, 200, "{answer}");
    let value = |key: &str| {
        let configs = answer["configs"].as_array().unwrap().iter().map(|config| &config["value"]);
        configs.into_iter().find(|value| value["name"] == key).unwrap_or(&Value::Null).clone()
    };
    assert!(!value("transforms.mask.pattern")["errors"].as_array().unwrap().is_empty(), "{answer}");
    assert_eq!(value("transforms.mask.replacement")["value"], "***");
    assert!(!value("transforms.mask.sandbox.memory")["errors"].as_array().unwrap().is_empty(), "{answer}");
}

#[test]
fn a_transform_that_cannot_be_configured_fails_the_task_with_its_name() {
    let case = Case::start(&[]);
    fs::write(case.file("in.txt"), "a\n").unwrap();
    let more = [("transforms", "mask"), ("transforms.mask.type", REDACT), ("transforms.mask.pattern", "(")];
    case.create("FileStreamSource", "in.txt", &more);
    let trace = case.worker.rest.failure("filestreamsource", 0).unwrap();
    assert!(trace.starts_with(&format!("transform `mask` ({REDACT}): configuration `pattern`: ")), "{trace}");
}
