//! What real Connect answered, against what we answer: `tests/vectors` of the repository and the CBOR
//! vectors of the WIT package.
//!
//! [`form`] reads the form in which they are written down. A vector whose input no value of ours can be
//! (an object of a Java class that Connect doesn't know) is told apart from one that fails, and the
//! list of those is part of the test.
#![allow(clippy::unwrap_used, reason = "a vector that can't be read is a failed test")]

mod cbor;
mod converters;
mod form;
mod transforms;

use std::path::PathBuf;

use serde_json::Value as Json;

/// A list of vectors in the repository.
fn load(path: &str) -> Json {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// How a vector came out.
enum Verdict {
    Pass,
    Fail(String),
    /// Its input cannot exist here.
    Outside,
}

/// Runs all `cases`, prints those that fail and returns the ids of those outside.
fn run(cases: &[Json], check: impl Fn(&Json) -> Verdict) -> Vec<String> {
    let (mut failed, mut outside) = (0, Vec::new());
    for case in cases {
        let id = case["id"].as_str().or(case["name"].as_str()).unwrap();
        match check(case) {
            Verdict::Pass => {}
            Verdict::Fail(why) => {
                failed += 1;
                println!("{id}: {why}\n    {case}");
            }
            Verdict::Outside => outside.push(id.to_owned()),
        }
    }
    println!("{} passed, {failed} failed, outside: {outside:?}", cases.len() - failed - outside.len());
    assert_eq!(failed, 0, "of {} vectors", cases.len());
    outside
}
