//! Keys and values of the config topic, as bytes of Kafka records.
//!
//! Keys are plain text, values JSON without a schema. Other workers, of other versions, write here too:
//! what can't be understood is ignored, as Connect ignores it.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use bulkhead_model::{ConnectorName, RawConfig, TargetState, TaskId};
use serde_json::{Map, Value, json};

use crate::api::{ConfigRecord, RestartRequest, Secret, SessionKey};

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

const SESSION_KEY: &str = "session-key";

/// Why a record is ignored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct Malformed {
    pub what: String,
    /// Whether the record counts for the config offset all the same: one whose value is no JSON
    /// doesn't.
    pub counts: bool,
}

type Object = Map<String, Value>;

/// Reads a record; none if its key means nothing here.
pub fn decode(key: &[u8], value: Option<&[u8]>) -> Result<Option<ConfigRecord>, Malformed> {
    let value = value.map(json_value).transpose()?;
    let Ok(key) = std::str::from_utf8(key) else { return Ok(None) };
    let found = READERS.iter().find_map(|(prefix, read)| Some((key.strip_prefix(prefix)?, read)));
    match found {
        Some((rest, read)) => read(rest, value.as_ref()).map(Some).map_err(|what| malformed(key, &what)),
        None if key == SESSION_KEY => session_key(value.as_ref()).map(Some).map_err(|what| malformed(key, &what)),
        None => Ok(None),
    }
}

/// The bytes that Connect writes; no value for a removal.
pub fn encode(record: &ConfigRecord) -> (Vec<u8>, Option<Vec<u8>>) {
    let (key, value) = match record {
        ConfigRecord::Connector { name, config } => {
            (format!("connector-{name}"), config.as_ref().map(|config| json!({ "properties": config })))
        }
        ConfigRecord::TargetState { name, state } => (format!("target-state-{name}"), state.map(state_value)),
        ConfigRecord::Task { id, config } => (format!("task-{id}"), Some(json!({ "properties": config }))),
        ConfigRecord::Commit { name, tasks } => (format!("commit-{name}"), Some(json!({ "tasks": tasks }))),
        ConfigRecord::Restart(RestartRequest { connector, only_failed, include_tasks }) => {
            let value = json!({ "include-tasks": include_tasks, "only-failed": only_failed });
            (format!("restart-connector-{connector}"), Some(value))
        }
        ConfigRecord::TaskCount { name, tasks } => {
            (format!("tasks-fencing-{name}"), Some(json!({ "task-count": tasks })))
        }
        ConfigRecord::SessionKey(SessionKey { key, algorithm, created }) => {
            let key = BASE64.encode(&key.0);
            let value = json!({ "key": key, "algorithm": algorithm, "creation-timestamp": created });
            (SESSION_KEY.to_owned(), Some(value))
        }
        ConfigRecord::LoggerLevel { logger, level } => {
            (format!("logger-cluster-{logger}"), Some(json!({ "level": level })))
        }
    };
    (key.into_bytes(), value.map(|value| value.to_string().into_bytes()))
}

type Read = fn(&str, Option<&Value>) -> Result<ConfigRecord, String>;

const READERS: [(&str, Read); 7] = [
    ("target-state-", target_state),
    ("connector-", connector),
    ("task-", task),
    ("commit-", commit),
    ("restart-connector-", restart),
    ("tasks-fencing-", task_count),
    ("logger-cluster-", logger_level),
];

fn target_state(name: &str, value: Option<&Value>) -> Result<ConfigRecord, String> {
    let name = ConnectorName::new(name);
    let Some(value) = value else { return Ok(ConfigRecord::TargetState { name, state: None }) };
    let members = object(value)?;
    // Workers before 3.5 know no STOPPED and write the first only.
    let word = ["state.v2", "state"].into_iter().find_map(|key| members.get(key)?.as_str());
    let state = match word {
        Some("STARTED") => TargetState::Started,
        Some("PAUSED") => TargetState::Paused,
        Some("STOPPED") => TargetState::Stopped,
        Some(other) => return Err(format!("`{other}` is no target state")),
        None => return Err("it names no target state".to_owned()),
    };
    Ok(ConfigRecord::TargetState { name, state: Some(state) })
}

/// STOPPED is PAUSED to workers that don't know it.
fn state_value(state: TargetState) -> Value {
    let (old, new) = match state {
        TargetState::Started => ("STARTED", "STARTED"),
        TargetState::Paused => ("PAUSED", "PAUSED"),
        TargetState::Stopped => ("PAUSED", "STOPPED"),
    };
    json!({ "state": old, "state.v2": new })
}

fn connector(name: &str, value: Option<&Value>) -> Result<ConfigRecord, String> {
    let config = value.map(properties).transpose()?;
    Ok(ConfigRecord::Connector { name: ConnectorName::new(name), config })
}

fn task(id: &str, value: Option<&Value>) -> Result<ConfigRecord, String> {
    let id = task_id(id).ok_or("its key names no task")?;
    Ok(ConfigRecord::Task { id, config: properties(present(value)?)? })
}

/// `orders-3`; the connector's name may have dashes itself.
pub(crate) fn task_id(text: &str) -> Option<TaskId> {
    let (connector, number) = text.rsplit_once('-')?;
    let number: i32 = number.parse().ok()?;
    Some(ConnectorName::new(connector).task(number.try_into().ok()?))
}

fn commit(name: &str, value: Option<&Value>) -> Result<ConfigRecord, String> {
    Ok(ConfigRecord::Commit { name: ConnectorName::new(name), tasks: count(value, "tasks")? })
}

fn task_count(name: &str, value: Option<&Value>) -> Result<ConfigRecord, String> {
    Ok(ConfigRecord::TaskCount { name: ConnectorName::new(name), tasks: count(value, "task-count")? })
}

fn restart(name: &str, value: Option<&Value>) -> Result<ConfigRecord, String> {
    let members = object(present(value)?)?;
    let flag = |key: &str| members.get(key).and_then(Value::as_bool).unwrap_or(false);
    Ok(ConfigRecord::Restart(RestartRequest {
        connector: ConnectorName::new(name),
        only_failed: flag("only-failed"),
        include_tasks: flag("include-tasks"),
    }))
}

fn session_key(value: Option<&Value>) -> Result<ConfigRecord, String> {
    let members = object(present(value)?)?;
    let text = |key: &str| members.get(key).and_then(Value::as_str).ok_or_else(|| format!("it has no text `{key}`"));
    let key = BASE64.decode(text("key")?).map_err(|_| "its `key` is not base64".to_owned())?;
    let created = members.get("creation-timestamp").and_then(Value::as_i64);
    Ok(ConfigRecord::SessionKey(SessionKey {
        key: Secret(key),
        algorithm: text("algorithm")?.to_owned(),
        created: created.ok_or("it has no whole number `creation-timestamp`")?,
    }))
}

fn logger_level(logger: &str, value: Option<&Value>) -> Result<ConfigRecord, String> {
    let level = match object(present(value)?)?.get("level") {
        Some(Value::String(level)) => Some(level.clone()),
        Some(Value::Null) => None,
        _ => return Err("it has no text `level`".to_owned()),
    };
    Ok(ConfigRecord::LoggerLevel { logger: logger.to_owned(), level })
}

/// The first JSON value; what follows it is ignored.
fn json_value(bytes: &[u8]) -> Result<Value, Malformed> {
    let first = serde_json::Deserializer::from_slice(bytes).into_iter().next();
    let malformed = || Malformed { what: "the value is not JSON".to_owned(), counts: false };
    first.and_then(Result::ok).ok_or_else(malformed)
}

fn malformed(key: &str, what: &str) -> Malformed {
    Malformed { what: format!("config record `{key}` is ignored: {what}"), counts: true }
}

fn present(value: Option<&Value>) -> Result<&Value, String> {
    value.ok_or_else(|| "it has no value".to_owned())
}

fn object(value: &Value) -> Result<&Object, String> {
    value.as_object().ok_or_else(|| "its value is no JSON object".to_owned())
}

fn count(value: Option<&Value>, key: &str) -> Result<u32, String> {
    let count = object(present(value)?)?.get(key).and_then(Value::as_i64).and_then(|count| i32::try_from(count).ok());
    count.and_then(|count| u32::try_from(count).ok()).ok_or_else(|| format!("it has no count `{key}`"))
}

/// Keys without a text say nothing and are left out; numbers and truth values stand for their text.
fn properties(value: &Value) -> Result<RawConfig, String> {
    let properties = object(value)?.get("properties").and_then(Value::as_object);
    let mut config = RawConfig::new();
    for (key, value) in properties.ok_or("its `properties` are no JSON object")? {
        match value {
            Value::Null => {}
            Value::String(text) => config.set(key, text),
            Value::Bool(_) | Value::Number(_) => config.set(key, value.to_string()),
            Value::Array(_) | Value::Object(_) => return Err(format!("its property `{key}` is no text")),
        }
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::load;

    fn read(key: &str, value: &str) -> Result<Option<ConfigRecord>, Malformed> {
        decode(key.as_bytes(), Some(value.as_bytes()))
    }

    #[test]
    fn records_of_a_real_topic_are_read_and_written_byte_for_byte() {
        let vectors = load("config-topic.json");
        for vector in vectors.as_array().unwrap() {
            let key = vector["key"].as_str().unwrap().as_bytes();
            let value = vector["value"].as_str().map(str::as_bytes);
            let record = decode(key, value).unwrap().unwrap();
            let (written_key, written_value) = encode(&record);
            assert_eq!(String::from_utf8(written_key).unwrap().as_bytes(), key);
            assert_eq!(
                written_value.map(|value| String::from_utf8(value).unwrap()).as_deref(),
                vector["value"].as_str()
            );
        }
        assert_eq!(vectors.as_array().unwrap().len(), 75);
    }

    #[test]
    fn a_session_key_is_never_shown() {
        let value = r#"{"key":"AAECAw==","algorithm":"HmacSHA256","creation-timestamp":5}"#;
        let record = read("session-key", value).unwrap().unwrap();
        assert!(!format!("{record:?}").contains("0, 1, 2"), "{record:?}");
        let unpadded = value.replace("==", "");
        assert_eq!(read("session-key", &unpadded), Ok(Some(record)));
    }

    #[test]
    fn g26_target_states_prefer_the_newer_field_and_are_read_from_the_older() {
        let state = |value: &str| match read("target-state-c", value) {
            Ok(Some(ConfigRecord::TargetState { state, .. })) => format!("{state:?}"),
            other => format!("{other:?}"),
        };
        assert_eq!(state(r#"{"state":"PAUSED"}"#), "Some(Paused)");
        assert_eq!(state(r#"{"state":"PAUSED","state.v2":"STOPPED"}"#), "Some(Stopped)");
        assert_eq!(state(r#"{"state":"PAUSED","state.v2":7}"#), "Some(Paused)");
    }

    #[test]
    fn a_name_with_dashes_is_told_from_the_number_behind_it() {
        let Ok(Some(ConfigRecord::Task { id, .. })) = read("task-a-1-b-12", r#"{"properties":{}}"#) else {
            panic!("no task");
        };
        assert_eq!(id, ConnectorName::new("a-1-b").task(12));
    }

    #[test]
    fn what_cannot_be_understood_is_said_and_counts_unless_it_is_no_json() {
        for (key, value, what) in [
            ("connector-c", "[]", "its value is no JSON object"),
            ("connector-c", r#"{"properties":[]}"#, "its `properties` are no JSON object"),
            ("connector-c", r#"{"properties":{"a":{}}}"#, "its property `a` is no text"),
            ("task-c", r#"{"properties":{}}"#, "its key names no task"),
            ("task-c-x", r#"{"properties":{}}"#, "its key names no task"),
            ("task-c-99999999999", r#"{"properties":{}}"#, "its key names no task"),
            ("commit-c", r#"{"tasks":-1}"#, "it has no count `tasks`"),
            ("commit-c", r#"{"tasks":"1"}"#, "it has no count `tasks`"),
            ("commit-c", r#"{"tasks":99999999999}"#, "it has no count `tasks`"),
            ("tasks-fencing-c", "{}", "it has no count `task-count`"),
            ("session-key", r#"{"key":"!","algorithm":"a","creation-timestamp":5}"#, "its `key` is not base64"),
            ("session-key", r#"{"key":"","algorithm":"a"}"#, "it has no whole number `creation-timestamp`"),
            ("target-state-c", r#"{"state":"NOPE"}"#, "`NOPE` is no target state"),
            ("logger-cluster-l", "{}", "it has no text `level`"),
            ("restart-connector-c", "1", "its value is no JSON object"),
        ] {
            let expected = format!("config record `{key}` is ignored: {what}");
            assert_eq!(read(key, value), Err(Malformed { what: expected, counts: true }));
        }
        let no_json = Err(Malformed { what: "the value is not JSON".to_owned(), counts: false });
        assert_eq!(read("connector-c", "not json"), no_json);
        assert_eq!(read("anything", ""), no_json);
        for key in ["commit-c", "task-c-0", "restart-connector-c", "tasks-fencing-c", "session-key", "logger-cluster-l"]
        {
            assert!(decode(key.as_bytes(), None).unwrap_err().counts, "{key}");
        }
        assert_eq!(read("junk", r#"{"a":1}"#), Ok(None));
        assert_eq!(decode(&[0xff], None), Ok(None));
    }

    #[test]
    fn restarts_with_bad_flags_are_of_the_connector_alone() {
        let expected = RestartRequest { connector: ConnectorName::new("c"), only_failed: false, include_tasks: false };
        let record = read("restart-connector-c", r#"{"include-tasks":"yes"}"#);
        assert_eq!(record, Ok(Some(ConfigRecord::Restart(expected))));
    }
}
