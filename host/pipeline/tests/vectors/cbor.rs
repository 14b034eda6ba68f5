//! Encoding 3: the vectors that the worker shares with all SDKs.

use std::sync::Arc;

use bulkhead_model::value::Schema;
use bulkhead_pipeline::cbor;
use serde_json::Value as Json;

use super::{Verdict, form, load, run};

fn hex(case: &Json) -> Vec<u8> {
    let digits = case["hex"].as_str().unwrap();
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn check(case: &Json) -> Verdict {
    let schema: Option<Arc<Schema>> = form::schema(&case["schema"]);
    let value = form::value(&case["value"], schema.as_ref()).unwrap();
    let mut written = Vec::new();
    if let Err(error) = cbor::write(&value, schema.as_deref(), &mut written) {
        return Verdict::Fail(format!("not written: {error}"));
    }
    if written != hex(case) {
        return Verdict::Fail(format!("written as {written:02x?}"));
    }
    match cbor::read(&written, schema.as_ref()) {
        Ok(read) if form::same(&read, &value) => Verdict::Pass,
        read => Verdict::Fail(format!("read back as {read:?}")),
    }
}

fn check_refused(case: &Json) -> Verdict {
    match cbor::read(&hex(case), form::schema(&case["schema"]).as_ref()) {
        Err(_) => Verdict::Pass,
        Ok(value) => Verdict::Fail(format!("read as {value:?}")),
    }
}

#[test]
fn values_are_written_and_read_as_the_profile_says() {
    assert!(run(load("wit/connect/0.1/cbor-vectors.json").as_array().unwrap(), check).is_empty());
}

#[test]
fn what_the_profile_forbids_is_refused() {
    assert!(run(load("wit/connect/0.1/cbor-refused.json").as_array().unwrap(), check_refused).is_empty());
}
