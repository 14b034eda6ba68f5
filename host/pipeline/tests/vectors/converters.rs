//! Converters and header converters.
//!
//! Each case runs twice: through the tree of values, and through the form of a batch. Both have to give
//! what Connect gave.

use std::sync::Arc;

use bulkhead_model::value::{Schema, SchemaType, Value};
use bulkhead_pipeline::batch::Item;
use bulkhead_pipeline::convert::{self, ConvertError, Converter, Encoded, Role, SchemaAndValue, item};
use serde_json::Value as Json;

use super::form::{self, same};
use super::{Verdict, load, run};

/// What came of a case.
#[derive(Debug)]
enum Outcome {
    Configured,
    Bytes(Option<Vec<u8>>),
    Value(SchemaAndValue),
    /// A value that has been in a batch.
    BatchValue(SchemaAndValue),
    Failed {
        stage: &'static str,
        error: ConvertError,
    },
}

fn check(case: &Json) -> Verdict {
    let role = if case["kind"] == "header" { Role::Header } else { Role::Value };
    let class = case["class"].as_str().unwrap();
    let converter = match convert::create(class, &form::config(&case["config"]), role) {
        Ok(converter) => converter,
        Err(error) => {
            return compare(case, &Outcome::Failed { stage: "configure", error });
        }
    };
    let outcomes = match case["op"].as_str().unwrap() {
        "configure" => vec![Outcome::Configured],
        "fromConnectData" | "fromConnectHeader" => match from_connect(&converter, case) {
            Ok(outcomes) => outcomes,
            Err(form::Outside) => return Verdict::Outside,
        },
        _ => to_connect(&converter, case),
    };
    let verdicts = outcomes.iter().map(|outcome| compare(case, outcome));
    verdicts.into_iter().find(|verdict| !matches!(verdict, Verdict::Pass)).unwrap_or(Verdict::Pass)
}

fn from_connect(converter: &Arc<dyn Converter>, case: &Json) -> Result<Vec<Outcome>, form::Outside> {
    let schema = form::schema(&case["schema"]);
    let value = form::value(&case["value"], schema.as_ref())?;
    let topic = case["topic"].as_str().unwrap_or("t");
    let by_tree = converter.from_connect(topic, schema.as_ref(), &value).map(Outcome::Bytes);
    let mut outcomes = vec![or_failed(by_tree)];
    // Values that fit no schema, which only some cases of failures have, can't be in a batch.
    let mut data = Vec::new();
    if let Ok(written) = item::write(schema.clone(), &value, &mut data) {
        let item = Item { encoding: written.encoding, schema: schema.as_ref(), bytes: &data };
        outcomes.push(or_failed(encode(converter, topic, item)));
    }
    Ok(outcomes)
}

fn encode(converter: &Arc<dyn Converter>, topic: &str, item: Item<'_>) -> Result<Outcome, ConvertError> {
    let mut out = b"before".to_vec();
    Ok(Outcome::Bytes(match converter.encode(topic, item, &mut out)? {
        Encoded::Null => None,
        Encoded::Same => Some(item.bytes.to_vec()),
        Encoded::Appended => Some(out.split_off(6)),
    }))
}

fn to_connect(converter: &Arc<dyn Converter>, case: &Json) -> Vec<Outcome> {
    let topic = case["topic"].as_str().unwrap_or("t");
    let bytes = form::bytes(case);
    let by_tree = converter.to_connect(topic, bytes.as_deref()).map(Outcome::Value);
    let by_item = decode(converter, topic, bytes.as_deref());
    // The second time, caches are warm.
    let again = decode(converter, topic, bytes.as_deref());
    [by_tree, by_item, again].map(or_failed).into()
}

fn decode(converter: &Arc<dyn Converter>, topic: &str, bytes: Option<&[u8]>) -> Result<Outcome, ConvertError> {
    let mut out = b"before".to_vec();
    let decoded = converter.decode(topic, bytes, &mut out)?;
    let data = match decoded.bytes {
        Encoded::Null => &[],
        Encoded::Same => bytes.unwrap(),
        Encoded::Appended => &out[6..],
    };
    let item = Item { encoding: decoded.encoding, schema: decoded.schema.as_ref(), bytes: data };
    item::read(item).map(Outcome::BatchValue)
}

fn or_failed(outcome: Result<Outcome, ConvertError>) -> Outcome {
    outcome.unwrap_or_else(|error| Outcome::Failed { stage: "apply", error })
}

fn compare(case: &Json, outcome: &Outcome) -> Verdict {
    let expected = &case["expect"];
    let pass = match outcome {
        Outcome::Configured => expected["configured"] == true,
        Outcome::Bytes(bytes) => expected.get("bytes").is_some() && *bytes == form::bytes(expected),
        Outcome::Value(found) => expected_value(expected).is_some_and(|value| equal(found, &value)),
        Outcome::BatchValue(found) => {
            expected_value(expected).is_some_and(|value| equal(found, &in_batch(value, &case["text"])))
        }
        Outcome::Failed { stage, error } => {
            let expected = &expected["error"];
            expected["stage"] == *stage && expected["category"] == category(error)
        }
    };
    if pass { Verdict::Pass } else { Verdict::Fail(shown(outcome)) }
}

fn expected_value(expected: &Json) -> Option<SchemaAndValue> {
    if expected.get("schemaAndValue").is_some() {
        return Some(SchemaAndValue::NULL);
    }
    let schema = form::schema(&expected["schema"]);
    let value = form::value(expected.get("value")?, schema.as_ref()).unwrap();
    Some(SchemaAndValue { schema, value })
}

fn equal(a: &SchemaAndValue, b: &SchemaAndValue) -> bool {
    a.schema == b.schema && same(&a.value, &b.value)
}

/// What becomes of a value in a batch, where all things are as their schema has them: a Decimal gets
/// the schema's scale, and a header value that doesn't fit its own schema stays text.
fn in_batch(SchemaAndValue { schema, value }: SchemaAndValue, text: &Json) -> SchemaAndValue {
    let mut data = Vec::new();
    match item::write(schema.clone(), &value, &mut data) {
        Ok(written) => item::read(Item { encoding: written.encoding, schema: schema.as_ref(), bytes: &data }).unwrap(),
        Err(_) => SchemaAndValue {
            schema: Some(Arc::new(Schema::required(SchemaType::String))),
            value: Value::string(text.as_str().unwrap()),
        },
    }
}

fn shown(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Bytes(Some(bytes)) => format!("gave {:?}", String::from_utf8_lossy(bytes)),
        outcome => format!("gave {outcome:?}"),
    }
}

fn category(error: &ConvertError) -> &'static str {
    match error {
        ConvertError::Data(_) => "DataException",
        ConvertError::Config(_) => "ConfigException",
        ConvertError::Other(_) | ConvertError::Retriable(_) | ConvertError::Missing(_) => "other",
    }
}

#[test]
fn converters_answer_as_connect_does() {
    let outside = run(load("tests/vectors/converters.json")["cases"].as_array().unwrap(), check);
    assert_eq!(outside, ["json-101", "json-104"], "a UUID, a BigInteger");
}

#[test]
fn header_converters_answer_as_connect_does() {
    let outside = run(load("tests/vectors/headers.json")["cases"].as_array().unwrap(), check);
    assert_eq!(outside, ["simple-180", "simple-181"], "a UUID, a BigInteger");
}
