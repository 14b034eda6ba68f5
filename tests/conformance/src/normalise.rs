//! Making answers of different workers and runs comparable.

use serde_json::{Map, Value, json};

use crate::http::Answer;
use crate::placeholders::Placeholders;
use crate::views;

/// Members whose values differ by worker, time or wording, and what stands for them.
const VOLATILE: [(&str, &str); 9] = [
    ("worker_id", "<worker>"),
    ("version", "<version>"),
    ("trace", "<trace>"),
    ("last_modified", "<time>"),
    ("commit", "<commit>"),
    ("kafka_cluster_id", "<cluster>"),
    ("task.class", "<class>"),
    ("documentation", "<text>"),
    ("recommended_values", "<values>"),
];

/// What is worth noting of an answer.
#[derive(Debug)]
pub(crate) struct Normaliser<'a> {
    pub(crate) placeholders: &'a Placeholders,
    /// What the names of this run's connectors and loggers begin with.
    pub(crate) prefix: String,
}

impl Normaliser<'_> {
    pub(crate) fn observe(&self, answer: &Answer, view: Option<&str>) -> Map<String, Value> {
        let mut observed = Map::from_iter([("status".to_owned(), json!(answer.status))]);
        let mut note = |name: &str, value: Value| observed.insert(name.to_owned(), value);
        if let Some(location) = answer.header("location") {
            note("location", json!(self.placeholders.strip(path_of(location))));
        }
        if answer.status < 400 && !answer.text.is_empty() {
            let media_type = answer.header("content-type").unwrap_or_default();
            note("content_type", json!(media_type.split(';').next()));
        }
        if let Some(allow) = answer.header("allow") {
            let mut methods: Vec<_> = allow.split(',').map(str::trim_start).collect();
            methods.sort_unstable();
            note("allow", json!(methods));
        }
        if let Some(body) = self.body(answer, view) {
            note("body", body);
        }
        observed
    }

    fn body(&self, answer: &Answer, view: Option<&str>) -> Option<Value> {
        match &answer.body {
            Some(Value::Object(error)) if answer.status >= 400 && error.contains_key("error_code") => {
                Some(self.error(error))
            }
            Some(body) if answer.status >= 400 => Some(self.value(body)),
            Some(body) => Some(self.value(&view.map_or_else(|| body.clone(), |view| views::apply(view, self, body)))),
            None if answer.text.is_empty() => None,
            None => Some(json!("<not JSON>")),
        }
    }

    /// Of an error counts its code, and that there is a message.
    fn error(&self, body: &Map<String, Value>) -> Value {
        let mut error: Map<_, _> = body.iter().map(|(key, value)| (key.clone(), self.value(value))).collect();
        let message = body.get("message").unwrap_or(&Value::Null);
        error.insert("message".to_owned(), veiled(message, "<message>"));
        Value::Object(error)
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.placeholders.strip(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => self.object(members),
            scalar => scalar.clone(),
        }
    }

    fn object(&self, members: &Map<String, Value>) -> Value {
        let names_a_version =
            members.get("name").and_then(Value::as_str).is_some_and(|name| name.ends_with("plugin.version"));
        let member = |(key, value): (&String, &Value)| {
            let mut comparable = self.member(key, value);
            if names_a_version && matches!(key.as_str(), "default_value" | "value") {
                comparable = veiled(&comparable, "<version>");
            }
            (self.placeholders.strip(key), comparable)
        };
        Value::Object(members.iter().map(member).collect())
    }

    fn member(&self, key: &str, value: &Value) -> Value {
        let mark = VOLATILE.iter().find(|(name, _)| *name == key);
        match (mark, value) {
            (Some((_, mark)), value) if !value.is_object() => veiled(value, mark),
            (None, Value::Array(errors)) if key == "errors" => {
                errors.iter().map(|error| veiled(error, "<message>")).collect()
            }
            _ => self.value(value),
        }
    }
}

/// Hides a value, but not whether there was one: null, zero and empty stay.
fn veiled(value: &Value, mark: &str) -> Value {
    let something = match value {
        Value::Null => false,
        Value::Bool(value) => *value,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::Object(members) => !members.is_empty(),
    };
    if something { json!(mark) } else { value.clone() }
}

/// The path of a URL, absolute or not.
fn path_of(url: &str) -> &str {
    let after_host = url.split_once("://").map(|(_, rest)| rest.find('/').map_or("", |slash| &rest[slash..]));
    let path = after_host.unwrap_or(url);
    path.split(['?', '#']).next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::placeholders::FileConnectors;

    fn check(value: Value, expected: Value) {
        let placeholders = Placeholders::new("r1", Path::new("/w"), FileConnectors::default());
        let normaliser = Normaliser { placeholders: &placeholders, prefix: "cf-r1-".to_owned() };
        assert_eq!(normaliser.value(&value), expected);
    }

    #[test]
    fn what_differs_by_run_is_replaced_and_emptiness_kept() {
        check(
            json!({"worker_id": "h:1", "trace": "", "version": null, "recommended_values": [], "cf-r1-a": "/w/x"}),
            json!({"worker_id": "<worker>", "trace": "", "version": null, "recommended_values": [], "cf-{run}-a": "{work}/x"}),
        );
    }

    #[test]
    fn of_errors_of_a_property_only_their_number_counts() {
        check(json!({"errors": ["a", "b", ""]}), json!({"errors": ["<message>", "<message>", ""]}));
    }

    #[test]
    fn versions_of_plugins_are_hidden_as_defaults_too() {
        check(
            json!({"name": "key.converter.plugin.version", "default_value": "1.0", "value": null}),
            json!({"name": "key.converter.plugin.version", "default_value": "<version>", "value": null}),
        );
    }

    #[test]
    fn a_location_counts_without_its_host() {
        for (url, path) in [("http://h:1/a/b?c#d", "/a/b"), ("/a/b#c", "/a/b"), ("http://h", "")] {
            assert_eq!(path_of(url), path);
        }
    }
}
