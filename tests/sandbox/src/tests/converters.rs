//! Converters in instances of their own: what they make of items, and what their misdeeds come to.

use std::sync::Arc;

use bulkhead_doubles::eventually;
use bulkhead_model::{ConnectorName, Instance, RawConfig, TaskId};
use bulkhead_pipeline::batch::{Column, Encoding, Items, Values};
use bulkhead_pipeline::convert::Role;
use bulkhead_pipeline::ports::{Aliased, Converted, ConverterTask, PluginError, Plugins};
use bulkhead_sandbox::Part;

use crate::{Bench, SOON};

const CONVERTER: &str = "io.bulkhead.test.HostileConverter";

fn task() -> TaskId {
    ConnectorName::new("x").task(0)
}

fn aliased(role: Role, class: &str, config: &[(&str, &str)]) -> Aliased {
    let mut own = RawConfig::new();
    for (key, value) in config {
        own.set(*key, *value);
    }
    Aliased { alias: role.key().to_owned(), class: class.to_owned(), config: own }
}

async fn open(bench: &Bench, converter: &Aliased, role: Role) -> Result<Arc<dyn ConverterTask>, PluginError> {
    bench.sandbox.converter(&task(), role, converter, &RawConfig::new()).await
}

async fn in_role(bench: &Bench, role: Role, config: &[(&str, &str)]) -> Arc<dyn ConverterTask> {
    open(bench, &aliased(role, CONVERTER, config), role).await.unwrap()
}

async fn of_values(bench: &Bench, mode: &str) -> Arc<dyn ConverterTask> {
    in_role(bench, Role::Value, &[("mode", mode)]).await
}

fn items(encoding: Encoding, texts: &[&str]) -> Arc<Items> {
    let values = Values {
        encoding: vec![encoding; texts.len()],
        len: texts.iter().map(|text| text.len() as u32).collect(),
        ..Values::default()
    };
    let column = Column { count: texts.len(), values, data: texts.concat().into(), ..Column::default() };
    Arc::new(Items { column, topics: vec!["t".into()], ..Items::default() })
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    FromConnect,
    ToConnect,
}

/// On its way to Kafka an item is a text, on its way from Kafka bytes.
async fn convert(converter: &dyn ConverterTask, way: Way, texts: &[&str]) -> Result<Converted, PluginError> {
    match way {
        Way::FromConnect => converter.from_connect(items(Encoding::Text, texts)).await,
        Way::ToConnect => converter.to_connect(items(Encoding::Bytes, texts)).await,
    }
}

/// Each item with its encoding and the name of its schema, or why there is none.
fn shown(converted: &Converted) -> Vec<String> {
    let items = converted.column.iter().enumerate().map(|(place, item)| {
        if let Some((_, why)) = converted.failed.iter().find(|(failed, _)| *failed == place) {
            return format!("failed: {why}");
        }
        let schema = item.schema.and_then(|schema| schema.name.clone());
        let schema = schema.map(|name| format!(" of {name}")).unwrap_or_default();
        format!("{:?}{schema} {}", item.encoding, item.bytes.escape_ascii())
    });
    items.collect()
}

#[tokio::test]
async fn items_are_converted_both_ways_and_refused_one_by_one() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let converter = of_values(&bench, "behave").await;
    for _ in 0..2 {
        let to_kafka = convert(&*converter, Way::FromConnect, &["a", "bad", "b"]).await.unwrap();
        assert_eq!(shown(&to_kafka), ["Bytes >a", "failed: a bad item", "Bytes >b"]);
        let from_kafka = convert(&*converter, Way::ToConnect, &["a", "struct", "bad"]).await.unwrap();
        let [text, structure, bad] = &shown(&from_kafka)[..] else { panic!("{from_kafka:?}") };
        assert_eq!((text.as_str(), bad.as_str()), ("Text <a", "failed: a bad item"));
        assert_eq!(structure, "Cbor of Marked \\x81g<struct");
    }
    let null = converter.from_connect(items(Encoding::None, &[""])).await.unwrap();
    assert_eq!(shown(&null), ["None "]);
    let none = converter.to_connect(items(Encoding::Bytes, &[])).await.unwrap();
    assert_eq!(shown(&none), [""; 0]);
}

#[tokio::test]
async fn a_converter_is_told_its_role_and_what_each_item_belongs_to() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    for (role, header_keys, expected) in [
        (Role::Key, &[][..], ["Bytes key u -", "Bytes key t -"]),
        (Role::Value, &[], ["Bytes value u -", "Bytes value t -"]),
        (Role::Header, &["h", "i"], ["Bytes header u h", "Bytes header t i"]),
    ] {
        let converter = in_role(&bench, role, &[("mode", "where")]).await;
        let two = Items {
            topics: vec!["t".into(), "u".into()],
            topic: vec![1, 0],
            header_keys: header_keys.iter().map(|key| Arc::from(*key)).collect(),
            header_key: (0..header_keys.len() as u32).collect(),
            ..Items::clone(&items(Encoding::Bytes, &["", ""]))
        };
        assert_eq!(shown(&converter.from_connect(Arc::new(two)).await.unwrap()), expected);
    }
}

#[tokio::test]
async fn a_converter_counts_as_an_instance_beside_its_task_and_goes_when_it_is_dropped() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let converter = of_values(&bench, "behave").await;
    convert(&*converter, Way::ToConnect, &["a"]).await.unwrap();
    let parts = bench.sandbox.parts(&Instance::Task(task()));
    let [stats] = parts.as_slice() else { panic!("{parts:?}") };
    assert_eq!(stats.part, Some(Part::Converter("value.converter".to_owned())));
    assert_eq!(stats.plugin, CONVERTER);
    assert!(stats.memory > 0 && !stats.cpu.is_zero());
    assert!(bench.sandbox.instance(&Instance::Task(task())).is_none(), "the task itself isn't there");
    drop(converter);
    eventually("it is gone", SOON, || bench.sandbox.gauge().instances == 0).await;
}

/// Deaths: the instance is gone, the trace names role, class and task, and what it was doing.
#[tokio::test]
async fn a_converter_that_dies_says_which_it_was() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let who = format!("converter `value.converter` ({CONVERTER}) of task x-0");
    for (mode, way, how) in [
        ("spin", Way::FromConnect, " used up its CPU budget of 500ms in from-connect"),
        ("oom", Way::ToConnect, " used more than 64 MiB of memory (limit 67108864 bytes"),
        ("panic", Way::ToConnect, " panicked ("),
        ("unreachable", Way::ToConnect, " trapped (wasm trap: wasm `unreachable` instruction executed) in to-connect"),
        ("sleep", Way::FromConnect, " did not return from from-connect within 2s and was dropped"),
    ] {
        let patience = if mode == "sleep" { "2000" } else { "20000" };
        let config = [("mode", mode), ("sandbox.call.timeout.ms", patience)];
        let converter = in_role(&bench, Role::Value, &config).await;
        let error = convert(&*converter, way, &["a"]).await.unwrap_err();
        let PluginError::Crashed(crash) = &error else { panic!("{mode}: {error:?}") };
        assert!(crash.cause.starts_with(&format!("{who}{how}")), "{mode}: {}", crash.cause);
        let again = convert(&*converter, way, &["a"]).await;
        assert!(matches!(again, Err(PluginError::Crashed(_))), "{mode}: {again:?}");
    }
    let at_start = aliased(Role::Value, CONVERTER, &[("mode", "panic-start")]);
    let started = open(&bench, &at_start, Role::Value).await.err().unwrap();
    assert!(started.to_string().contains("a panic in configure"), "{started}");
    eventually("nothing is left", SOON, || bench.sandbox.gauge().instances == 0).await;
}

/// Failures that leave the instance standing.
#[tokio::test]
async fn an_answer_that_makes_no_sense_fails_the_call() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    for (mode, told) in [
        ("too-many", "column `items` has 3 entries where 2 are due"),
        ("too-few", "column `items` has 1 entries where 2 are due"),
        ("length-past-data", "the lengths add up to 403 bytes, the buffer has 6"),
        ("length-overflow", "the lengths add up to 8589934590 bytes, the buffer has 6"),
        ("data-left-over", "the lengths add up to 6 bytes, the buffer has 15"),
        ("encoding", "column `items` has the unknown encoding 9"),
        ("unknown-schema", "column `items` refers to entry 999 of a pool of "),
        ("schema-along", "the batch calls schema number "),
        ("bad-schema", "a schema needs a node"),
        ("twice", "the answer names place 0 twice, or after a later one"),
        ("backwards", "the answer names place 0 twice, or after a later one"),
        ("beyond", "the answer names place 2 of 2"),
        ("fail", "no more"),
    ] {
        for way in [Way::FromConnect, Way::ToConnect] {
            let converter = of_values(&bench, mode).await;
            let error = convert(&*converter, way, &["a", "b"]).await.unwrap_err();
            assert!(matches!(error, PluginError::Failed(_)), "{mode}, {way:?}: {error:?}");
            assert!(error.to_string().contains(told), "{mode}, {way:?}: {error}");
        }
    }
}

/// On the way from Kafka the pipeline looks at what is in the items.
#[tokio::test]
async fn only_bytes_and_null_go_to_kafka() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    for (mode, what) in [
        ("texts", "is text"),
        ("text-not-utf8", "is text"),
        ("json-not-json", "is JSON text"),
        ("cbor-not-cbor", "is CBOR"),
        ("mismatch", "is CBOR"),
        ("null-refused", "has a schema"),
    ] {
        let converter = of_values(&bench, mode).await;
        let error = convert(&*converter, Way::FromConnect, &["a", "b"]).await.unwrap_err();
        let told = format!("item 0 of the answer {what}; only bytes and null, without schemas, go to Kafka");
        assert!(error.to_string().contains(&told), "{mode}: {error}");
        let from_kafka = convert(&*converter, Way::ToConnect, &["a", "b"]).await;
        assert!(from_kafka.is_ok(), "{mode}: {from_kafka:?}");
    }
    let huge = convert(&*of_values(&bench, "huge").await, Way::FromConnect, &["a", "b"]).await.unwrap();
    assert_eq!(huge.column.data.len(), 24 << 20);
    let failed = of_values(&bench, "failed-with-bytes").await;
    let failed = convert(&*failed, Way::FromConnect, &["a", "b"]).await.unwrap();
    assert_eq!(failed.failed.iter().map(|(place, _)| *place).collect::<Vec<_>>(), [1]);
}

#[tokio::test]
async fn an_error_of_the_whole_call_comes_as_what_it_is() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    let call = async |mode| convert(&*of_values(&bench, mode).await, Way::ToConnect, &["a"]).await.unwrap_err();
    assert!(matches!(call("call-retriable").await, PluginError::Retriable(_)));
    assert!(matches!(call("call-data").await, PluginError::Data(_)));
    let at_start = aliased(Role::Value, CONVERTER, &[("mode", "config-error")]);
    for error in [call("call-config").await, open(&bench, &at_start, Role::Value).await.err().unwrap()] {
        assert!(matches!(&error, PluginError::Config { key: Some(key), .. } if key == "mode"), "{error:?}");
    }
}

#[tokio::test]
async fn a_converter_reaches_what_it_asks_for_and_its_manifest_needs() {
    // What the worker gives to connectors that say nothing isn't meant for converters.
    let defaults = [("sandbox.default.network", "*:*"), ("sandbox.default.files", "/tmp:ro")];
    let bench = Bench::open(&["bulkhead_test_guests"], &defaults).await;
    let asks = ("sandbox.network", "127.0.0.1:9");
    for (role, network, reaches) in [
        (Role::Value, None, false),
        (Role::Value, Some(asks), true),
        // The manifest of the converter of headers says nothing of a network.
        (Role::Header, Some(asks), false),
    ] {
        let config: Vec<_> = [Some(("mode", "look-around")), network].into_iter().flatten().collect();
        let converter = in_role(&bench, role, &config).await;
        let seen = shown(&convert(&*converter, Way::FromConnect, &["?"]).await.unwrap());
        assert!(seen[0].ends_with(" 0 0"), "{role:?}: {seen:?}");
        assert_eq!(seen[0].contains("connect"), reaches, "{role:?}, {network:?}: {seen:?}");
    }
}

#[tokio::test]
async fn what_a_converter_asks_for_and_may_not_have_is_said_under_its_own_key() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[("sandbox.max.network", "db:1")]).await;
    let mut config = RawConfig::from([
        ("value.converter", CONVERTER),
        ("value.converter.sandbox.network", "db:2"),
        ("header.converter", "HostileConverter"),
        ("header.converter.sandbox.memory", "4GiB"),
    ]);
    let refused = bench.sandbox.refused_grants(&config);
    let refused: Vec<_> = refused.iter().map(|value| (value.name.as_str(), value.value.as_deref())).collect();
    let (network, memory) = ("value.converter.sandbox.network", "header.converter.sandbox.memory");
    assert_eq!(refused, [(network, Some("db:2")), (memory, Some("4GiB"))]);
    let greedy = aliased(Role::Value, CONVERTER, &[("sandbox.network", "db:2")]);
    let error = open(&bench, &greedy, Role::Value).await.err().unwrap();
    assert!(matches!(&error, PluginError::Config { key: Some(key), .. } if key == network), "{error:?}");
    config.set("value.converter", "JsonConverter");
    config.set("header.converter", "org.example.Unknown");
    assert_eq!(bench.sandbox.refused_grants(&config), []);
}

#[tokio::test]
async fn a_class_that_is_not_there_is_said_under_the_key_that_names_it() {
    let bench = Bench::open(&["bulkhead_test_guests"], &[]).await;
    for (class, version, told) in [
        ("org.example.Unknown", "", "no converter of the class `org.example.Unknown` is installed"),
        (CONVERTER, "77", "version 77 is not installed"),
    ] {
        let mut converter = aliased(Role::Key, class, &[("mode", "behave")]);
        if !version.is_empty() {
            converter.config.set("plugin.version", version);
        }
        let error = open(&bench, &converter, Role::Key).await.err().unwrap();
        let PluginError::Config { key: Some(key), message } = &error else { panic!("{error:?}") };
        assert_eq!(key, "key.converter");
        assert!(message.contains(told), "{message}");
    }
}
