//! Keys and values of the status topic, as bytes of Kafka records (KIP-558 for topics in use).

use std::sync::Arc;

use bulkhead_model::{ConnectorName, State, WorkerId};
use serde_json::{Map, Value, json};

use crate::api::{Millis, Status, StatusRecord};
use crate::config_topic::task_id;

/// Between the topic's name, which has no colon, and the connector's.
const TOPIC_OF: &str = ":connector-";

/// Reads a record; none if it says nothing that can be understood.
///
/// Fields that older workers don't write, and those that a status can do without, may be missing.
pub fn decode(key: &[u8], value: Option<&[u8]>) -> Option<StatusRecord> {
    let key = std::str::from_utf8(key).ok()?.strip_prefix("status-")?;
    if let Some(rest) = key.strip_prefix("topic-") {
        let (topic, connector) = rest.split_at(rest.find(':')?);
        return topic_record(topic, ConnectorName::new(connector.strip_prefix(TOPIC_OF)?), value);
    }
    let status = match value {
        Some(value) => read_status(value)?,
        None => None,
    };
    if let Some(name) = key.strip_prefix("connector-") {
        return Some(StatusRecord::Connector { name: ConnectorName::new(name), status });
    }
    Some(StatusRecord::Task { id: task_id(key.strip_prefix("task-")?)?, status })
}

/// The bytes that Connect writes; no value for a removal.
pub fn encode(record: &StatusRecord) -> (Vec<u8>, Option<Vec<u8>>) {
    let (key, value) = match record {
        StatusRecord::Connector { name, status } => {
            (format!("status-connector-{name}"), status.as_ref().map(status_value))
        }
        StatusRecord::Task { id, status } => (format!("status-task-{id}"), status.as_ref().map(status_value)),
        StatusRecord::Topic { connector, topic, task, used, discovered } => {
            let about = json!({
                "name": topic, "connector": connector, "task": task, "discoverTimestamp": discovered.0
            });
            (format!("status-topic-{topic}{TOPIC_OF}{connector}"), used.then(|| json!({ "topic": about })))
        }
    };
    (key.into_bytes(), value.map(|value| value.to_string().into_bytes()))
}

fn status_value(status: &Status) -> Value {
    json!({
        "state": status.state.name(),
        "trace": status.state.trace(),
        "worker_id": status.worker,
        "generation": status.generation,
        "version": status.version,
    })
}

/// None inside: the instance was removed, which some workers say with a state of its own.
#[expect(clippy::option_option, reason = "the outer one is that nothing can be understood")]
fn read_status(value: &[u8]) -> Option<Option<Status>> {
    let members: Map<String, Value> = serde_json::from_slice(value).ok()?;
    let text = |key: &str| members.get(key).and_then(Value::as_str);
    let state = match text("state")? {
        "UNASSIGNED" => State::Unassigned,
        "RUNNING" => State::Running,
        "PAUSED" => State::Paused,
        "STOPPED" => State::Stopped,
        "RESTARTING" => State::Restarting,
        "FAILED" => State::Failed { trace: text("trace").unwrap_or_default().to_owned() },
        "DESTROYED" => return Some(None),
        _ => return None,
    };
    Some(Some(Status {
        state,
        worker: WorkerId(Arc::from(text("worker_id")?)),
        generation: members.get("generation")?.as_i64().map(|number| u64::try_from(number).unwrap_or(0))?,
        version: text("version").map(str::to_owned),
    }))
}

fn topic_record(topic: &str, connector: ConnectorName, value: Option<&[u8]>) -> Option<StatusRecord> {
    let topic = topic.to_owned();
    let Some(value) = value else {
        return Some(StatusRecord::Topic { connector, topic, task: 0, used: false, discovered: Millis(0) });
    };
    let about: Value = serde_json::from_slice(value).ok()?;
    let about = about.get("topic")?.as_object()?;
    let task = about.get("task").and_then(Value::as_u64).and_then(|task| u32::try_from(task).ok())?;
    let discovered = about.get("discoverTimestamp").and_then(Value::as_u64).unwrap_or(0);
    Some(StatusRecord::Topic { connector, topic, task, used: true, discovered: Millis(discovered) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vectors::load;

    fn read(key: &str, value: &str) -> Option<StatusRecord> {
        decode(key.as_bytes(), Some(value.as_bytes()))
    }

    #[test]
    fn records_of_a_real_topic_are_read_and_written_byte_for_byte() {
        let vectors = load("status-topic.json");
        for vector in vectors.as_array().unwrap() {
            let key = vector["key"].as_str().unwrap();
            let record = decode(key.as_bytes(), vector["value"].as_str().map(str::as_bytes)).unwrap();
            let (written_key, written_value) = encode(&record);
            assert_eq!(String::from_utf8(written_key).unwrap(), key);
            assert_eq!(
                written_value.map(|value| String::from_utf8(value).unwrap()).as_deref(),
                vector["value"].as_str()
            );
        }
    }

    #[test]
    fn what_older_workers_write_is_read() {
        let value = r#"{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":3}"#;
        let status = Status { state: State::Running, worker: WorkerId("w:1".into()), generation: 3, version: None };
        let name = ConnectorName::new("a-0");
        let expected = StatusRecord::Connector { name: name.clone(), status: Some(status.clone()) };
        assert_eq!(read("status-connector-a-0", value), Some(expected));
        let expected = StatusRecord::Task { id: name.task(1), status: Some(status) };
        assert_eq!(read("status-task-a-0-1", value), Some(expected));
        let destroyed = value.replace("RUNNING", "DESTROYED");
        assert_eq!(read("status-connector-a-0", &destroyed), Some(StatusRecord::Connector { name, status: None }));
    }

    #[test]
    fn what_cannot_be_understood_says_nothing() {
        let value = r#"{"state":"RUNNING","trace":null,"worker_id":"w:1","generation":3}"#;
        for (key, value) in [
            ("status-connector-c", "not json"),
            ("status-connector-c", "[]"),
            ("status-connector-c", r#"{"state":"DANCING","worker_id":"w:1","generation":3}"#),
            ("status-connector-c", r#"{"state":"RUNNING","generation":3}"#),
            ("status-connector-c", r#"{"state":"RUNNING","worker_id":"w:1","generation":"3"}"#),
            ("status-task-c", value),
            ("status-task-c-x", value),
            ("status-topic-t-connector-c", r#"{"topic":{"task":0}}"#),
            ("status-topic-t:connector-c", r#"{"topic":{}}"#),
            ("status-topic-t:x:connector-c", r#"{"topic":{"task":0}}"#),
            ("status-other-c", value),
            ("junk", value),
        ] {
            assert_eq!(read(key, value), None, "{key} {value}");
        }
        assert_eq!(decode(&[0xff], None), None);
        assert_eq!(decode(b"junk", None), None);
    }
}
