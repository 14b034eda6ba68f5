//! Transforms, predicates and chains.
//!
//! Each case runs as a connector would have it: one configuration, one [`Chain`].

use bulkhead_model::RawConfig;
use bulkhead_pipeline::convert::{ConvertError, SchemaAndValue};
use bulkhead_pipeline::transform::{Chain, Header, Record};
use serde_json::Value as Json;

use super::form::{self, Outside, same};
use super::{Verdict, load, run};

/// What came of a case.
#[derive(Debug)]
enum Outcome {
    Configured,
    Record(Option<Record>),
    Failed { stage: &'static str, error: ConvertError },
}

/// The configuration of a case, its keys below aliases.
fn config(case: &Json) -> RawConfig {
    let mut config = RawConfig::new();
    let stages = match case["stages"].as_array() {
        Some(stages) => stages.clone(),
        None if case["kind"] == "predicate" => vec![guarded_filter(case)],
        None => vec![case.clone()],
    };
    let aliases: Vec<_> = (0..stages.len()).map(|index| format!("s{index}")).collect();
    config.set("transforms", aliases.join(","));
    config.set("predicates", aliases.join(","));
    for (alias, stage) in aliases.iter().zip(&stages) {
        add(&mut config, &format!("transforms.{alias}."), stage);
        if let Some(predicate) = stage.get("predicate") {
            config.set(format!("transforms.{alias}.predicate"), alias);
            add(&mut config, &format!("predicates.{alias}."), predicate);
        }
        if let Some(negate) = stage["negate"].as_bool() {
            config.set(format!("transforms.{alias}.negate"), negate.to_string());
        }
    }
    config
}

/// A predicate alone: what it is true of is dropped.
fn guarded_filter(predicate: &Json) -> Json {
    serde_json::json!({"class": "org.apache.kafka.connect.transforms.Filter", "config": {}, "predicate": predicate})
}

fn add(config: &mut RawConfig, prefix: &str, stage: &Json) {
    config.set(format!("{prefix}type"), stage["class"].as_str().unwrap());
    for (key, text) in form::config(&stage["config"]) {
        config.set(format!("{prefix}{key}"), text);
    }
}

fn record(json: &Json) -> Result<Record, Outside> {
    let half = |schema: &str, value: &str| -> Result<SchemaAndValue, Outside> {
        let schema = form::schema(&json[schema]);
        let value = form::value(&json[value], schema.as_ref())?;
        Ok(SchemaAndValue { schema, value })
    };
    let headers = json["headers"].as_array().unwrap().iter().map(|header| {
        let schema = form::schema(&header["schema"]);
        let value = form::value(&header["value"], schema.as_ref())?;
        Ok(Header { key: header["key"].as_str().unwrap().into(), value: SchemaAndValue { schema, value } })
    });
    Ok(Record {
        topic: json["topic"].as_str().ok_or(Outside)?.into(),
        partition: json["partition"].as_i64().map(|partition| partition.try_into().unwrap()),
        key: half("keySchema", "key")?,
        value: half("valueSchema", "value")?,
        timestamp: json["timestamp"].as_str().map(|timestamp| timestamp.parse().unwrap()),
        headers: headers.collect::<Result<_, _>>()?,
        offset: json["offset"].as_str().map(|offset| offset.parse().unwrap()),
    })
}

fn outcome(case: &Json) -> Result<Outcome, Outside> {
    if case["config"].as_object().is_some_and(|config| config.values().any(Json::is_null)) {
        return Err(Outside);
    }
    let chain = match Chain::new(&config(case)) {
        Ok(chain) => chain,
        Err(error) => return Ok(Outcome::Failed { stage: "configure", error }),
    };
    assert!(!chain.is_empty());
    if case["record"].is_null() {
        return Ok(Outcome::Configured);
    }
    let record = record(&case["record"])?;
    // The second time, schemas come from a memory.
    let first = chain.apply(record.clone());
    assert_eq!(shown(&chain.apply(record)), shown(&first));
    Ok(match first {
        Ok(record) => Outcome::Record(record),
        Err(error) => Outcome::Failed { stage: "apply", error: error.source },
    })
}

fn shown(value: &impl std::fmt::Debug) -> String {
    format!("{value:?}")
}

fn check(case: &Json) -> Verdict {
    let Ok(outcome) = outcome(case) else { return Verdict::Outside };
    let expected = &case["expect"];
    let is = |found: &Option<Record>, expected: &Json| match (found, expected) {
        (None, Json::Null) => true,
        (Some(found), Json::Object(_)) => record(expected).is_ok_and(|expected| same_record(found, &expected)),
        _ => false,
    };
    let pass = match &outcome {
        Outcome::Configured => expected["configured"] == true,
        Outcome::Record(found) if expected["unchanged"] == true => is(found, &case["record"]),
        Outcome::Record(found) if expected.get("result").is_some() => found.is_none() == (expected["result"] == true),
        Outcome::Record(found) => expected.get("record").is_some_and(|expected| is(found, expected)),
        Outcome::Failed { stage, error } => {
            expected["error"]["stage"] == *stage && expected["error"]["category"] == category(error)
        }
    };
    if pass { Verdict::Pass } else { Verdict::Fail(format!("gave {outcome:?}")) }
}

fn same_record(a: &Record, b: &Record) -> bool {
    let same_half = |a: &SchemaAndValue, b: &SchemaAndValue| a.schema == b.schema && same(&a.value, &b.value);
    let same_header = |(a, b): (&Header, &Header)| a.key == b.key && same_half(&a.value, &b.value);
    a.topic == b.topic
        && (a.partition, a.timestamp, a.offset) == (b.partition, b.timestamp, b.offset)
        && same_half(&a.key, &b.key)
        && same_half(&a.value, &b.value)
        && a.headers.len() == b.headers.len()
        && a.headers.iter().zip(&b.headers).all(same_header)
}

fn category(error: &ConvertError) -> &'static str {
    match error {
        ConvertError::Data(_) => "DataException",
        ConvertError::Config(_) => "ConfigException",
        ConvertError::Other(_) | ConvertError::Retriable(_) | ConvertError::Missing(_) => "other",
    }
}

#[test]
fn transforms_answer_as_connect_does() {
    let outside = run(load("tests/vectors/transforms.json")["cases"].as_array().unwrap(), check);
    let big_integers = ["maskfield-016", "maskfield-025", "maskfield-061", "maskfield-080"];
    assert_eq!(outside, [&["cast-106"][..], &big_integers[..3], &["maskfield-063"], &big_integers[3..]].concat());
}

#[test]
fn predicates_and_chains_answer_as_connect_does() {
    let outside = run(load("tests/vectors/predicates.json")["cases"].as_array().unwrap(), check);
    assert_eq!(outside, ["hasheaderkey-007", "topicnamematches-017"], "null configuration, null topic");
}
