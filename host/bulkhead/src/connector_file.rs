//! Connector files of the command line: properties, a flat JSON map, or a create request (KIP-980).

use std::fs;
use std::path::{Path, PathBuf};

use bulkhead_model::{ConfigPatch, ConnectorName, TargetState};
use serde_json::{Map, Value};

use crate::properties;

/// What a file asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectorFile {
    pub name: ConnectorName,
    pub config: ConfigPatch,
    pub initial_state: Option<TargetState>,
}

/// A connector file that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum ConnectorFileError {
    #[error("{} can't be read", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{}: {message}", .path.display())]
    Unusable { path: PathBuf, message: String },
}

/// Reads a file of any of the three shapes; which one it is says its content, not its ending.
pub fn read(path: &Path) -> Result<ConnectorFile, ConnectorFileError> {
    let bytes = fs::read(path).map_err(|source| ConnectorFileError::Unreadable { path: path.to_owned(), source })?;
    parse(&bytes).map_err(|message| ConnectorFileError::Unusable { path: path.to_owned(), message })
}

pub(crate) fn parse(bytes: &[u8]) -> Result<ConnectorFile, String> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if text.trim_ascii_start().starts_with(b"{") {
        let members = serde_json::from_slice(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
        return from_json(members);
    }
    let config = properties::parse(bytes).map_err(|error| format!("it is neither JSON nor properties: {error}"))?;
    from_map(config.into_iter().map(|(key, value)| (key, Some(value))).collect(), None)
}

/// A create request has an object `config`; anything else is a flat map.
fn from_json(mut members: Map<String, Value>) -> Result<ConnectorFile, String> {
    let Some(Value::Object(config)) = members.remove("config").filter(Value::is_object) else {
        return from_map(flat(members)?, None);
    };
    let name = match members.remove("name") {
        Some(Value::String(name)) => Some(name.trim().to_owned()),
        None | Some(Value::Null) => None,
        Some(other) => return Err(format!("`name` is {other}, not a text")),
    };
    let initial_state = match members.remove("initial_state") {
        None | Some(Value::Null) => None,
        Some(state) => Some(initial_state(&state)?),
    };
    if let Some(member) = members.keys().next() {
        return Err(format!("a create request has no member `{member}`, only `name`, `config` and `initial_state`"));
    }
    let mut config = flat(config)?;
    if let Some(name) = name {
        match config.get("name").cloned().flatten() {
            Some(inner) if inner != name => {
                return Err(format!("`name` is `{name}`, but `config.name` is `{inner}`; leave one of them out"));
            }
            Some(_) | None => config.insert("name".to_owned(), Some(name)),
        };
    }
    from_map(config, initial_state)
}

fn initial_state(value: &Value) -> Result<TargetState, String> {
    let state = value.as_str().and_then(TargetState::parse_initial);
    state.ok_or_else(|| format!("`initial_state` is {value}, but must be RUNNING, PAUSED or STOPPED"))
}

fn flat(members: Map<String, Value>) -> Result<ConfigPatch, String> {
    let text = |(key, value): (String, Value)| match value {
        Value::Null => Ok((key, None)),
        Value::String(text) => Ok((key, Some(text))),
        Value::Bool(_) | Value::Number(_) => Ok((key, Some(value.to_string()))),
        Value::Array(_) | Value::Object(_) => Err(format!("the value of `{key}` is {value}, not a text")),
    };
    members.into_iter().map(text).collect()
}

fn from_map(config: ConfigPatch, initial_state: Option<TargetState>) -> Result<ConnectorFile, String> {
    let name = config.get("name").cloned().flatten().filter(|name| !name.trim().is_empty());
    let name = ConnectorName::new(name.ok_or("it has no `name`")?);
    Ok(ConnectorFile { name, config, initial_state })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        match parse(text.as_bytes()) {
            Ok(ConnectorFile { name, config, initial_state }) => {
                let pairs: Vec<_> =
                    config.iter().map(|(key, value)| format!("{key}={}", value.as_deref().unwrap_or("null"))).collect();
                format!("{name} {initial_state:?} {}", pairs.join(" "))
            }
            Err(error) => error,
        }
    }

    #[test]
    fn all_three_shapes_say_the_same() {
        assert_eq!(check("name=a\ntasks.max=2\n"), "a None name=a tasks.max=2");
        assert_eq!(check(r#"{"name": "a", "tasks.max": 2}"#), "a None name=a tasks.max=2");
        assert_eq!(check(r#" {"name": "a", "config": {"tasks.max": "2"}}"#), "a None tasks.max=2 name=a");
    }

    #[test]
    fn an_initial_state_is_read_in_any_case() {
        let file = r#"{"name": "a", "config": {}, "initial_state": "paused"}"#;
        assert_eq!(check(file), "a Some(Paused) name=a");
        let file = r#"{"name": "a", "config": {}, "initial_state": "sleeping"}"#;
        assert_eq!(check(file), r#"`initial_state` is "sleeping", but must be RUNNING, PAUSED or STOPPED"#);
    }

    #[test]
    fn what_is_wrong_is_named() {
        assert_eq!(check("tasks.max=2"), "it has no `name`");
        assert_eq!(check(r#"{"name": "a", "x": []}"#), "the value of `x` is [], not a text");
        assert_eq!(
            check(r#"{"name": "a", "config": {"name": "b"}}"#),
            "`name` is `a`, but `config.name` is `b`; leave one of them out"
        );
        assert_eq!(
            check(r#"{"name": "a", "config": {}, "state": "PAUSED"}"#),
            "a create request has no member `state`, only `name`, `config` and `initial_state`"
        );
        assert!(check("{").starts_with("it is not valid JSON: "));
    }
}
