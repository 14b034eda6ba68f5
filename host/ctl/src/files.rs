//! Files that are named on the command line; `-` is standard input.

use std::fs;
use std::io::{Read, stdin};
use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::Host;
use crate::answers::Offsets;
use crate::arguments::State;
use crate::creation::Request;
use crate::error::Error;

/// A connector to create: a create request, a JSON map, or properties. Which one it is says its content.
pub fn connector(file: &Path, host: &Host) -> Result<Request, Error> {
    let bytes = read(file)?;
    let request = if text(&bytes).trim_ascii_start().starts_with(b"{") {
        from_json(text(&bytes))
    } else {
        let config = (host.properties)(&bytes);
        config.map(|config| from_config(config.into_iter().map(|(key, value)| (key, Value::String(value))).collect()))
    };
    request.map_err(|message| unusable(file, message))
}

/// Offsets as `GET …/offsets` answers them.
pub fn offsets(file: &Path) -> Result<Offsets, Error> {
    json(file)
}

/// A file of JSON in one form.
pub fn json<T: DeserializeOwned>(file: &Path) -> Result<T, Error> {
    serde_json::from_slice(text(&read(file)?)).map_err(|error| unusable(file, error.to_string()))
}

pub fn read(file: &Path) -> Result<Vec<u8>, Error> {
    let bytes = if file == Path::new("-") {
        let mut bytes = Vec::new();
        stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(file)
    };
    bytes.map_err(|source| Error::Unreadable { file: file.to_owned(), source })
}

pub fn unusable(file: &Path, message: String) -> Error {
    Error::Unusable { file: file.to_owned(), message }
}

/// Without a byte-order mark.
pub fn text(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// A create request, as KIP-980 has it and with `offsets`. What its members hold judges the worker.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CreateRequest {
    name: Option<String>,
    config: Map<String, Value>,
    initial_state: Option<State>,
    offsets: Option<Vec<Box<RawValue>>>,
}

pub(crate) fn from_json(text: &[u8]) -> Result<Request, String> {
    let members: Map<String, Value> = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if !members.get("config").is_some_and(Value::is_object) {
        return Ok(from_config(members));
    }
    let request: CreateRequest = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let CreateRequest { name, config, initial_state, offsets } = request;
    let name = name.unwrap_or_else(|| name_in(&config));
    Ok(Request { name, config, initial_state, offsets: offsets.unwrap_or_default() })
}

fn from_config(config: Map<String, Value>) -> Request {
    Request { name: name_in(&config), config, initial_state: None, offsets: Vec::new() }
}

fn name_in(config: &Map<String, Value>) -> String {
    config.get("name").and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{host, written};

    fn check(text: &str, expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let request = connector(&written(&folder, "file", text), &host());
        let shown = match request {
            Ok(request) => serde_json::to_string(&request).unwrap(),
            Err(Error::Unusable { message, .. }) => message,
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn all_three_shapes_say_the_same() {
        let expected = r#"{"name":"a","config":{"name":"a","x":"1"}}"#;
        check("name=a\nx=1\n", expected);
        check(r#"{"name": "a", "x": "1"}"#, expected);
        check("\u{feff} {\"config\": {\"name\": \"a\", \"x\": \"1\"}}", expected);
    }

    #[test]
    fn a_request_keeps_what_it_asks_for() {
        check(
            r#"{"name": "a", "config": {"x": 1}, "initial_state": "stopped", "offsets": [{"partition": {"p": 1.50}}]}"#,
            r#"{"name":"a","config":{"x":1},"initial_state":"STOPPED","offsets":[{"partition": {"p": 1.50}}]}"#,
        );
    }

    #[test]
    fn what_is_no_connector_is_told_so() {
        check("{", "EOF while parsing an object at line 1 column 1");
        check("=", "line 1: no key");
        check(
            r#"{"name": "a", "config": {}, "state": "PAUSED"}"#,
            "unknown field `state`, expected one of `name`, `config`, `initial_state`, `offsets` at line 1 column 35",
        );
    }
}
