//! Setting observations against expected ones.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Value, json};

use crate::Observations;

/// Longest text of a value in a line of a report.
const SHOWN: usize = 200;

/// What to do with accidents of Apache's implementation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quirks {
    /// They count like everything else.
    Compare,
    /// Steps marked as quirks are left out, and where Apache answers 500, a proper error of the client
    /// (4xx) is taken too: all such steps are mistakes of the client, and a worker should say so.
    Skip,
}

/// The outcome of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// How many steps were compared.
    pub compared: usize,
    pub differences: Vec<Difference>,
}

/// One place where two answers differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub scenario: String,
    pub step: String,
    pub kind: DifferenceKind,
}

#[derive(Clone, Debug, PartialEq)]
pub enum DifferenceKind {
    /// The step was not run.
    NotObserved,
    /// A value at a dotted place; none if there is nothing.
    Value { place: String, expected: Option<Value>, observed: Option<Value> },
}

/// Compares every expected step with the observed one.
pub fn compare(expected: &Observations, observed: &Observations, quirks: Quirks) -> Report {
    let mut report = Report::default();
    for (scenario, steps) in expected {
        for (step, wanted) in steps {
            if quirks == Quirks::Skip && wanted.get("quirk") == Some(&Value::Bool(true)) {
                continue;
            }
            report.compared += 1;
            let seen = observed.get(scenario).and_then(|steps| steps.get(step));
            let found = kinds(wanted, seen, quirks);
            let difference = |kind| Difference { scenario: scenario.clone(), step: step.clone(), kind };
            report.differences.extend(found.into_iter().map(difference));
        }
    }
    report
}

fn kinds(wanted: &Value, seen: Option<&Value>, quirks: Quirks) -> Vec<DifferenceKind> {
    let Some(seen) = seen else {
        return vec![DifferenceKind::NotObserved];
    };
    if quirks == Quirks::Skip && is_better(wanted, seen) {
        return Vec::new();
    }
    let mut found = Vec::new();
    collect(Some(wanted), Some(seen), String::new(), &mut found);
    found
}

/// Whether Apache blames itself, and the worker rightly the client.
fn is_better(wanted: &Value, seen: &Value) -> bool {
    let status = seen.get("status").and_then(Value::as_u64).unwrap_or_default();
    let body = seen.get("body");
    let code = body.and_then(|body| body.get("error_code")?.as_u64());
    let message = body.and_then(|body| body.get("message")?.as_str()).unwrap_or_default();
    wanted.get("status") == Some(&json!(500))
        && (400..500).contains(&status)
        && code == Some(status)
        && !message.is_empty()
}

/// Adds every place where two values differ. Lists of different lengths differ as a whole.
fn collect(wanted: Option<&Value>, seen: Option<&Value>, place: String, found: &mut Vec<DifferenceKind>) {
    match (wanted, seen) {
        (Some(Value::Object(left)), Some(Value::Object(right))) => {
            let names: BTreeSet<_> = left.keys().chain(right.keys()).collect();
            for name in names {
                let inside = if place.is_empty() { name.clone() } else { format!("{place}.{name}") };
                collect(left.get(name), right.get(name), inside, found);
            }
        }
        (Some(Value::Array(left)), Some(Value::Array(right))) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                collect(Some(left), Some(right), format!("{place}[{index}]"), found);
            }
        }
        (wanted, seen) if wanted != seen => {
            found.push(DifferenceKind::Value { place, expected: wanted.cloned(), observed: seen.cloned() });
        }
        _ => {}
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} | {} | ", self.scenario, self.step)?;
        match &self.kind {
            DifferenceKind::NotObserved => f.write_str("not observed"),
            DifferenceKind::Value { place, expected, observed } => {
                write!(f, "{place}: expected {}, got {}", shown(expected), shown(observed))
            }
        }
    }
}

/// One line for each difference, and the counts.
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for difference in &self.differences {
            writeln!(f, "{difference}")?;
        }
        write!(f, "{} observations compared, {} differences", self.compared, self.differences.len())
    }
}

fn shown(value: &Option<Value>) -> String {
    match value {
        Some(value) => value.to_string().chars().take(SHOWN).collect(),
        None => "(absent)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observations(step: Value) -> Observations {
        Observations::from([("s".to_owned(), [("01 GET /".to_owned(), step)].into())])
    }

    fn check(expected: Value, observed: Value, quirks: Quirks, report: &str) {
        assert_eq!(compare(&observations(expected), &observations(observed), quirks).to_string(), report);
    }

    #[test]
    fn every_place_that_differs_is_named() {
        check(
            json!({"status": 200, "body": {"a": [1, {"b": 2}], "c": null, "d": [1]}}),
            json!({"status": 200, "body": {"a": [1, {"b": "2"}], "e": 5, "d": []}}),
            Quirks::Compare,
            "s | 01 GET / | body.a[1].b: expected 2, got \"2\"\n\
             s | 01 GET / | body.c: expected null, got (absent)\n\
             s | 01 GET / | body.d: expected [1], got []\n\
             s | 01 GET / | body.e: expected (absent), got 5\n\
             1 observations compared, 4 differences",
        );
    }

    #[test]
    fn the_references_equal_themselves_and_not_each_other() {
        let references = [crate::expected_standalone().unwrap(), crate::expected_distributed().unwrap()];
        for expected in &references {
            let report = compare(expected, expected, Quirks::Compare);
            assert_eq!(report.differences, []);
            assert_eq!(report.compared, expected.values().map(|steps| steps.len()).sum::<usize>());
        }
        assert_ne!(compare(&references[0], &references[1], Quirks::Compare).differences, []);
    }

    #[test]
    fn a_step_that_was_not_run_is_a_difference() {
        let report = compare(&observations(json!({})), &Observations::new(), Quirks::Compare);
        assert_eq!(report.to_string(), "s | 01 GET / | not observed\n1 observations compared, 1 differences");
    }

    #[test]
    fn a_client_error_with_a_message_is_better_than_500_if_quirks_are_skipped() {
        let wrong = json!({"status": 500, "body": {"error_code": 500, "message": "<message>"}});
        let better = json!({"status": 400, "body": {"error_code": 400, "message": "<message>"}});
        let mute = json!({"status": 400, "body": {"error_code": 400, "message": null}});
        let none = "1 observations compared, 0 differences";
        check(wrong.clone(), better.clone(), Quirks::Skip, none);
        assert_eq!(compare(&observations(wrong.clone()), &observations(mute), Quirks::Skip).differences.len(), 3);
        assert_eq!(compare(&observations(wrong), &observations(better), Quirks::Compare).differences.len(), 2);
    }

    #[test]
    fn quirks_are_skipped_only_on_request() {
        let quirk = json!({"status": 400, "quirk": true});
        let other = json!({"status": 404, "quirk": true});
        check(quirk.clone(), other.clone(), Quirks::Skip, "0 observations compared, 0 differences");
        let line = "s | 01 GET / | status: expected 400, got 404\n1 observations compared, 1 differences";
        check(quirk, other, Quirks::Compare, line);
    }
}
