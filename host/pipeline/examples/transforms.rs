//! What a chain of ten transforms costs a record.
//!
//! With `--check` it fails where that is more than it may be. Build with `--release`, of course.

use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use bulkhead_model::RawConfig;
use bulkhead_model::value::{Schema, SchemaType, Value};
use bulkhead_pipeline::convert::SchemaAndValue;
use bulkhead_pipeline::transform::{Chain, Record};

const RECORDS: i64 = 1_000;
/// The quietest of which counts.
const ROUNDS: usize = 200;
const LIMIT_NS: f64 = 2_000.0;

/// Alias, class and keys.
type Stage = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// From a line of text to a struct of four fields in a topic of its own.
const CHAIN: [Stage; 10] = [
    ("hoist", "HoistField$Value", &[("field", "line")]),
    ("source", "InsertField$Value", &[("static.field", "source"), ("static.value", "bench")]),
    ("topic", "InsertField$Value", &[("topic.field", "topic")]),
    ("time", "InsertField$Value", &[("timestamp.field", "at")]),
    ("rename", "ReplaceField$Value", &[("renames", "line:text,source:origin")]),
    ("cast", "Cast$Value", &[("spec", "at:int64")]),
    ("mask", "MaskField$Value", &[("fields", "origin"), ("replacement", "***")]),
    ("name", "SetSchemaMetadata$Value", &[("schema.name", "org.example.Line")]),
    ("header", "InsertHeader", &[("header", "from"), ("value.literal", "bench")]),
    ("route", "RegexRouter", &[("regex", "lines-(.*)"), ("replacement", "records-$1")]),
];

fn main() -> ExitCode {
    let check = std::env::args().any(|argument| argument == "--check");
    let records = records();
    let mut before = 0.0;
    for stages in 1..=CHAIN.len() {
        let cost = cost(&chain(&CHAIN[..stages]), &records);
        println!("{:<8} {:>6.0} ns/record, in all {cost:>6.0}", CHAIN[stages - 1].0, cost - before);
        before = cost;
    }
    if check && before > LIMIT_NS {
        eprintln!("the chain costs {before:.0} ns a record, more than {LIMIT_NS}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Lines of 100 bytes, as a file source makes them.
fn records() -> Vec<Record> {
    let (topic, schema) = (Arc::from("lines-of-text"), Arc::new(Schema::required(SchemaType::String)));
    let record = |number| Record {
        topic: Arc::clone(&topic),
        partition: None,
        key: SchemaAndValue::NULL,
        value: SchemaAndValue { schema: Some(schema.clone()), value: Value::string(format!("{number:0100}")) },
        timestamp: Some(1_700_000_000_000 + number),
        headers: Vec::new(),
        offset: None,
    };
    (0..RECORDS).map(record).collect()
}

fn chain(stages: &[Stage]) -> Chain {
    let mut config = RawConfig::new();
    config.set("transforms", stages.iter().map(|(alias, ..)| *alias).collect::<Vec<_>>().join(","));
    for (alias, class, keys) in stages {
        config.set(format!("transforms.{alias}.type"), format!("org.apache.kafka.connect.transforms.{class}"));
        for (key, value) in *keys {
            config.set(format!("transforms.{alias}.{key}"), *value);
        }
    }
    Chain::new(&config).expect("the chain is right")
}

/// Nanoseconds a record.
fn cost(chain: &Chain, records: &[Record]) -> f64 {
    let round = |()| {
        let records = records.to_vec();
        let begun = Instant::now();
        for record in records {
            black_box(chain.apply(record).expect("the records are right"));
        }
        begun.elapsed().as_nanos() as f64 / RECORDS as f64
    };
    std::iter::repeat_n((), ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}
