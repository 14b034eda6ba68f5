//! What `#[derive(Config)]` makes of a struct.

#![allow(clippy::unwrap_used)]

use bulkhead_sdk::prelude::*;
use bulkhead_sdk::{Config, ErrorKind};

/// Reads orders
/// from a shop.
///
/// Twice a day.
#[derive(Debug, PartialEq, Config)]
#[allow(dead_code)]
struct Settings {
    /// Where the shop is.
    #[config(name = "shop.url", non_empty)]
    url: String,
    /// How many
    /// at a time.
    #[config(default = 100, range(1..=1_000), importance = "medium", group = "Speed", display = "Batch size")]
    batch_size: u32,
    #[config(default = "low", one_of("low", "high"))]
    priority: String,
    #[config(optional)]
    token: Option<Password>,
    #[config(default = "a, b", one_of("a", "b", "c"))]
    kinds: Vec<String>,
    #[config(default = true)]
    strict: bool,
    #[config(default = 0.5, range(0.0..))]
    factor: f64,
    #[config(default = -3, internal)]
    shift: i16,
}

fn parse(pairs: &[(&str, &str)]) -> Result<Settings> {
    Settings::parse(&[("shop.url", "http://x")].iter().chain(pairs).copied().collect())
}

/// The message of a refusal, after checking that it names the key.
fn refusal(key: &str, value: &str) -> String {
    let error = parse(&[(key, value)]).unwrap_err();
    assert_eq!(error.kind(), &ErrorKind::Config(Some(key.to_owned())));
    error.message().to_owned()
}

#[test]
fn defaults_hold_where_nothing_is_said() {
    let settings = parse(&[]).unwrap();
    assert_eq!((settings.batch_size, settings.priority.as_str(), settings.token), (100, "low", None));
    assert_eq!(
        (settings.kinds, settings.strict, settings.factor, settings.shift),
        (vec!["a".into(), "b".into()], true, 0.5, -3)
    );
}

#[test]
fn values_are_trimmed_and_read() {
    let settings = parse(&[("batch.size", " 7 "), ("strict", "False"), ("token", "secret"), ("kinds", "c")]).unwrap();
    assert_eq!((settings.batch_size, settings.strict), (7, false));
    assert_eq!(settings.token.unwrap().reveal(), "secret");
    assert_eq!(settings.kinds, ["c"]);
}

#[test]
fn refusals_say_what_connect_says() {
    assert_eq!(refusal("batch.size", "0"), "Invalid value 0 for configuration batch.size: Value must be at least 1");
    assert_eq!(
        refusal("batch.size", "1001"),
        "Invalid value 1001 for configuration batch.size: Value must be no more than 1000"
    );
    assert_eq!(refusal("priority", "mid"), "Invalid value mid for configuration priority: must be one of: low, high");
    assert_eq!(refusal("shop.url", " "), "Invalid value  for configuration shop.url: String must be non-empty");
    assert_eq!(refusal("kinds", "a,d"), "Invalid value a,d for configuration kinds: must be one of: a, b, c");
    assert_eq!(refusal("factor", "-1"), "Invalid value -1 for configuration factor: Value must be at least 0");
    assert!(refusal("batch.size", "many").contains("Not a number"));
    let missing = Settings::parse(&RawConfig::new()).unwrap_err();
    assert_eq!(missing.message(), "Missing required configuration \"shop.url\" which has no default value.");
}

#[test]
fn doc_comments_are_the_documentation() {
    assert_eq!(Settings::DOCUMENTATION, "Reads orders from a shop.\n\nTwice a day.");
    let keys = Settings::keys();
    let names: Vec<&str> = keys.iter().map(|key| key.name()).collect();
    assert_eq!(names, ["shop.url", "batch.size", "priority", "token", "kinds", "strict", "factor", "shift"]);
    assert_eq!(keys[1].documentation(), "How many at a time.");
}
