//! Views: what a step keeps of a large or shared answer.
//!
//! A worker may have further configuration properties whose names begin with `sandbox.` or `restart.`,
//! in groups `Sandbox` and `Restart`; no view shows them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::normalise::Normaliser;

const EXTENSION_PREFIXES: [&str; 2] = ["sandbox.", "restart."];
const EXTENSION_GROUPS: [&str; 2] = ["Sandbox", "Restart"];

/// The body as seen by the view of this name; an unknown view, or a body that doesn't suit it, shows.
pub(crate) fn apply(view: &str, normaliser: &Normaliser<'_>, body: &Value) -> Value {
    let seen = match view {
        "own" => own(body, &normaliser.prefix),
        "errors" => errors(body),
        "configs" => configs(body),
        "names" => names(body),
        "by_name" => by_name(body),
        "plugins" => plugins(normaliser, body),
        "loggers" => loggers(body, &normaliser.prefix),
        "state" => sorted(body, "tasks", |task| task["id"].to_string()),
        "offsets" => sorted(body, "offsets", canonical),
        _ => None,
    };
    seen.unwrap_or_else(|| json!({"<unexpected shape>": body}))
}

/// The connectors of this run, of a list or of an object by name.
fn own(body: &Value, prefix: &str) -> Option<Value> {
    if let Value::Object(members) = body {
        return Some(filtered(members, |name| name.starts_with(prefix)));
    }
    let mut names = body.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
    names.retain(|name| name.starts_with(prefix));
    names.sort_unstable();
    Some(json!(names))
}

/// Of a `ConfigInfos`: the counts, the groups, and which properties have how many errors.
fn errors(body: &Value) -> Option<Value> {
    let mut errors = BTreeMap::new();
    let mut undefined = BTreeSet::new();
    for property in properties(body)? {
        if property.get("definition")?.is_null() {
            undefined.insert(property.get("value")?.get("name")?.as_str()?);
        }
        let Some(value) = property.get("value").filter(|value| !value.is_null()) else {
            continue;
        };
        let count = value.get("errors")?.as_array()?.len();
        if count > 0 {
            errors.insert(value.get("name")?.as_str()?, count);
        }
    }
    let mut groups = groups(body)?;
    groups.sort_unstable();
    Some(json!({
        "name": body.get("name")?,
        "error_count": body.get("error_count")?,
        "groups": groups,
        "errors": errors,
        "undefined": undefined,
    }))
}

/// A `ConfigInfos`, with its properties by name.
fn configs(body: &Value) -> Option<Value> {
    let properties = properties(body)?.into_iter().map(|property| Some((property_name(property)?, property.clone())));
    Some(json!({
        "name": body.get("name")?,
        "error_count": body.get("error_count")?,
        "groups": groups(body)?,
        "configs": properties.collect::<Option<BTreeMap<_, _>>>()?,
    }))
}

/// The names of a list of definitions.
fn names(body: &Value) -> Option<Value> {
    let mut names = definitions(body)?.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    names.sort_unstable();
    Some(json!(names))
}

/// A list of definitions, by name.
fn by_name(body: &Value) -> Option<Value> {
    Some(json!(definitions(body)?.into_iter().collect::<BTreeMap<_, _>>()))
}

/// The kinds of plugins, the members of their entries, and the entries of the file connectors.
fn plugins(normaliser: &Normaliser<'_>, body: &Value) -> Option<Value> {
    let entries = body.as_array()?.iter().map(Value::as_object).collect::<Option<Vec<_>>>()?;
    let types = entries.iter().map(|entry| entry.get("type")?.as_str()).collect::<Option<BTreeSet<_>>>()?;
    let fields: BTreeSet<_> = entries.iter().flat_map(|entry| entry.keys()).collect();
    let connectors = &normaliser.placeholders.connectors;
    let is_file_connector = |class: &str| class == connectors.source || class == connectors.sink;
    let mut files: Vec<_> = entries
        .iter()
        .filter(|entry| entry.get("class").and_then(Value::as_str).is_some_and(is_file_connector))
        .collect();
    files.sort_by_key(|entry| entry.get("type").and_then(Value::as_str));
    Some(json!({"types": types, "fields": fields, "file_connectors": files}))
}

/// The root logger and the loggers of this run.
fn loggers(body: &Value, prefix: &str) -> Option<Value> {
    Some(filtered(body.as_object()?, |name| name == "root" || name.starts_with(prefix)))
}

/// A body with one of its lists in a fixed order, where a worker may choose any.
fn sorted(body: &Value, list: &str, key: impl Fn(&Value) -> String) -> Option<Value> {
    let mut body = body.clone();
    body.get_mut(list)?.as_array_mut()?.sort_by_key(key);
    Some(body)
}

/// The same text for equal values, whatever the order of their members.
fn canonical(value: &Value) -> String {
    let mut value = value.clone();
    value.sort_all_objects();
    value.to_string()
}

fn filtered(members: &Map<String, Value>, keep: impl Fn(&str) -> bool) -> Value {
    let kept = members.iter().filter(|(name, _)| keep(name));
    Value::Object(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// The properties of a `ConfigInfos`, without extensions.
fn properties(body: &Value) -> Option<Vec<&Value>> {
    let properties = body.get("configs")?.as_array()?.iter();
    let named = properties.map(|property| Some((property_name(property)?, property))).collect::<Option<Vec<_>>>()?;
    Some(named.into_iter().filter(|(name, _)| !is_extension(name)).map(|(_, property)| property).collect())
}

fn property_name(property: &Value) -> Option<&str> {
    let described = property.get("definition").filter(|definition| !definition.is_null());
    described.or(property.get("value"))?.get("name")?.as_str()
}

fn groups(body: &Value) -> Option<Vec<&str>> {
    let groups = body.get("groups")?.as_array()?.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
    Some(groups.into_iter().filter(|group| !EXTENSION_GROUPS.contains(group)).collect())
}

fn definitions(body: &Value) -> Option<Vec<(&str, &Value)>> {
    let definitions = body.as_array()?.iter().map(|definition| Some((definition.get("name")?.as_str()?, definition)));
    let definitions = definitions.collect::<Option<Vec<_>>>()?;
    Some(definitions.into_iter().filter(|(name, _)| !is_extension(name)).collect())
}

fn is_extension(name: &str) -> bool {
    EXTENSION_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::placeholders::{FileConnectors, Placeholders};

    fn check(view: &str, body: Value, expected: Value) {
        let placeholders = Placeholders::new("r1", Path::new("/w"), FileConnectors::default());
        let normaliser = Normaliser { placeholders: &placeholders, prefix: "cf-r1-".to_owned() };
        assert_eq!(apply(view, &normaliser, &body), expected, "{view}");
    }

    #[test]
    fn only_what_belongs_to_the_run_is_kept() {
        check("own", json!(["x", "cf-r1-b", "cf-r1-a"]), json!(["cf-r1-a", "cf-r1-b"]));
        check("own", json!({"x": 1, "cf-r1-a": 2}), json!({"cf-r1-a": 2}));
        check("loggers", json!({"x": 1, "root": 2, "cf-r1-a": 3}), json!({"root": 2, "cf-r1-a": 3}));
    }

    #[test]
    fn extensions_are_left_out_of_definitions_and_validations() {
        check("names", json!([{"name": "b"}, {"name": "sandbox.memory"}, {"name": "a"}]), json!(["a", "b"]));
        let property = |name: &str, errors: Value| json!({"definition": {"name": name}, "value": {"name": name, "errors": errors}});
        check(
            "errors",
            json!({
                "name": "c", "error_count": 2, "groups": ["Sandbox", "Common"],
                "configs": [
                    property("a", json!(["x", "y"])), property("restart.max", json!(["z"])),
                    {"definition": null, "value": {"name": "u", "errors": []}},
                ],
            }),
            json!({"name": "c", "error_count": 2, "groups": ["Common"], "errors": {"a": 2}, "undefined": ["u"]}),
        );
    }

    #[test]
    fn lists_in_any_order_become_equal() {
        check("state", json!({"tasks": [{"id": 1}, {"id": 0}]}), json!({"tasks": [{"id": 0}, {"id": 1}]}));
        check(
            "offsets",
            json!({"offsets": [{"p": 2, "o": 1}, {"o": 1, "p": 1}]}),
            json!({"offsets": [{"o": 1, "p": 1}, {"p": 2, "o": 1}]}),
        );
    }

    #[test]
    fn a_body_of_another_shape_is_shown_whole() {
        check("names", json!({"a": 1}), json!({"<unexpected shape>": {"a": 1}}));
        check("own", json!([1]), json!({"<unexpected shape>": [1]}));
    }
}
