//! The example connectors as components. `cargo xtask guests` compiles them.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;

use bulkhead_model::value::Value;
use bulkhead_testkit::{Failure, Kit, Role, SchemaAndValue};

fn component(file: &str) -> PathBuf {
    let plugins = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../target/plugins");
    let file = plugins.join(file);
    assert!(file.exists(), "{} is missing: run `cargo xtask guests`", file.display());
    file
}

#[test]
fn a_file_source_loses_nothing_when_it_is_killed_at_any_record() {
    let kit = Kit::open(component("file_source.wasm")).unwrap();
    let input = kit.folder().join("in.txt");
    fs::write(&input, "one\ntwo\nthree\nfour\n").unwrap();
    let config = [("connector.class", "FileStreamSource"), ("topic", "t"), ("file", input.to_str().unwrap())];
    let mut run = kit.source(config).unwrap();
    let mut seen = Vec::new();
    for _ in 0..4 {
        seen.extend(run.take(1).unwrap());
        run.commit().unwrap();
        run.kill();
        run.restart_from_committed().unwrap();
    }
    assert_eq!(seen, ["one", "two", "three", "four"]);
}

#[test]
fn a_file_source_goes_on_when_the_file_grows() {
    let kit = Kit::open(component("file_source.wasm")).unwrap();
    let input = kit.folder().join("in.txt");
    fs::write(&input, "one\n").unwrap();
    let config = [("connector.class", "FileStreamSource"), ("topic", "t"), ("file", input.to_str().unwrap())];
    let mut run = kit.source(config).unwrap();
    assert_eq!(run.take(1).unwrap(), ["one"]);
    run.poll().unwrap();
    fs::write(&input, "one\ntwo\n").unwrap();
    assert_eq!(run.take(1).unwrap(), ["two"]);
}

#[test]
fn a_file_sink_has_written_what_it_lets_be_committed() {
    let kit = Kit::open(component("file_sink.wasm")).unwrap();
    let output = kit.folder().join("out.txt");
    let config = [("connector.class", "FileStreamSink"), ("topics", "t"), ("file", output.to_str().unwrap())];
    let mut run = kit.sink(config).unwrap();
    assert!(run.put_texts(&["one", "two"]).unwrap().is_empty());
    assert_eq!(run.commit().unwrap(), 2);
    run.kill();
    assert_eq!(fs::read_to_string(&output).unwrap(), "one\ntwo\n");
}

#[test]
fn a_generator_goes_on_where_it_was_committed() {
    let kit = Kit::open(component("generator_source.wasm")).unwrap();
    let config = [("connector.class", "GeneratorSource"), ("topic", "t"), ("rate", "100000"), ("count", "10")];
    let mut run = kit.source(config).unwrap();
    let first = run.take(4).unwrap();
    run.commit().unwrap();
    run.restart_from_committed().unwrap();
    let rest = run.take(6).unwrap();
    assert_eq!(first.iter().chain(&rest).collect::<std::collections::BTreeSet<_>>().len(), 10);
    assert!(matches!(run.take(1), Err(Failure::TooFew { found: 0, .. })));
}

#[test]
fn a_crash_is_an_error_with_its_cause() {
    let kit = Kit::open(component("bulkhead_test_guests.wasm")).unwrap();
    let config = [("connector.class", "io.bulkhead.test.Hostile"), ("mode", "exit")];
    let failure = kit.source(config).unwrap().take(1).unwrap_err();
    assert!(failure.to_string().contains("called exit("), "{failure}");
}

#[test]
fn a_file_that_is_no_component_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("broken.wasm");
    fs::write(&file, "no wasm").unwrap();
    let error = Kit::open(&file).map(drop).unwrap_err().to_string();
    assert!(error.contains("broken.wasm"), "{error}");
}

#[test]
fn a_transform_masks_what_its_predicate_finds() {
    let kit = Kit::open(component("redact_transform.wasm")).unwrap();
    let texts = ["my pin is 1234", "no number"];
    let pattern = ("pattern", r"\d{4}");
    let mut redact = kit.transform([("type", "io.bulkhead.transforms.Redact"), pattern]).unwrap();
    for _ in 0..2 {
        assert_eq!(redact.apply_texts(&texts).unwrap(), ["my pin is ***", "no number"]);
    }
    let mut mentions = kit.predicate([("type", "Mentions"), pattern]).unwrap();
    assert_eq!(mentions.test_texts(&texts).unwrap(), [Ok(true), Ok(false)]);
    let refused = kit.transform([("type", "Redact"), ("pattern", "(")]).err().unwrap();
    assert!(refused.to_string().contains("pattern"), "{refused}");
}

#[test]
fn values_go_to_cbor_and_come_back() {
    let kit = Kit::open(component("cbor_converter.wasm")).unwrap();
    let schemaless = |value| SchemaAndValue { schema: None, value };
    let values = [
        schemaless(Value::string("a")),
        schemaless(Value::Null),
        schemaless(Value::Array(vec![Value::Int64(7), Value::Boolean(true)])),
    ];
    for (role, key) in [(Role::Value, "value.converter"), (Role::Header, "header.converter")] {
        let mut run = kit.converter(role, [(key, "io.bulkhead.converters.CborConverter")]).unwrap();
        for _ in 0..2 {
            let bytes: Vec<_> = run.from_connect(&values).unwrap().into_iter().map(Result::unwrap).collect();
            assert_eq!(bytes, [Some(b"\x61a".to_vec()), None, Some(b"\x82\x07\xf5".to_vec())]);
            let items: Vec<_> = bytes.iter().map(Option::as_deref).collect();
            let back: Vec<_> = run.to_connect(&items).unwrap().into_iter().map(Result::unwrap).collect();
            assert_eq!(back, values);
        }
    }
}

#[test]
fn a_converter_says_which_item_is_bad() {
    let kit = Kit::open(component("cbor_converter.wasm")).unwrap();
    let config = [("key.converter", "CborConverter"), ("key.converter.omit.nulls", "true")];
    let mut run = kit.converter(Role::Key, config).unwrap();
    let [good, bad, null] = &run.to_connect(&[Some(b"\x01"), Some(b"\x61\xff"), None]).unwrap()[..] else { panic!() };
    assert_eq!(good.as_ref().unwrap().value, Value::Int64(1));
    assert!(bad.as_ref().unwrap_err().contains("utf-8"), "{bad:?}");
    assert_eq!(null.as_ref().unwrap().value, Value::Null);

    assert!(matches!(kit.converter(Role::Value, config), Err(Failure::NoConverter("value.converter"))));
    let refused = kit.converter(Role::Key, [config[0], ("key.converter.omit.nulls", "maybe")]).err().unwrap();
    assert!(refused.to_string().contains("omit.nulls"), "{refused}");
}
