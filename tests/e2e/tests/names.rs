//! FC-05: names that are awkward in a URL. Each is refused with a reason, or every verb reaches the connector.

#![allow(clippy::unwrap_used)]

use bulkhead_e2e::{Kafka, Rest, Setup};
use serde_json::{Value, json};
use ureq::Agent;

/// What is asked of a connector, behind its address; all of it is answered well.
const VERBS: [(&str, &str); 16] = [
    ("GET", ""),
    ("GET", "/status"),
    ("GET", "/config"),
    ("PUT", "/config"),
    ("PATCH", "/config"),
    ("GET", "/tasks"),
    ("GET", "/topics"),
    ("GET", "/offsets"),
    ("GET", "/sandbox"),
    ("PUT", "/pause"),
    ("PUT", "/resume"),
    ("POST", "/restart"),
    ("POST", "/restart?includeTasks=true"),
    ("PUT", "/topics/reset"),
    ("PUT", "/stop"),
    ("DELETE", "/offsets"),
];

fn config() -> Value {
    json!({"connector.class": "io.bulkhead.test.Hostile", "mode": "ok", "topic": "t"})
}

/// Status, `Location` and body of an answer to `POST /connectors`; the body has to be JSON.
fn create(rest: &Rest, body: &Value) -> (u16, Option<String>, Value) {
    let agent: Agent = Agent::config_builder().http_status_as_error(false).build().into();
    let mut answer = agent.post(format!("{}/connectors", rest.base())).send_json(body).unwrap();
    let header = |name: &str| answer.headers().get(name).map(|value| value.to_str().unwrap().to_owned());
    assert_eq!(header("content-type").as_deref(), Some("application/json"));
    let location = header("location");
    (answer.status().as_u16(), location, answer.body_mut().read_json().unwrap())
}

fn is_reached_by_every_verb(rest: &Rest, name: &str, path: &str) {
    assert_eq!(rest.ask("GET", path, None).unwrap().1["name"], name);
    rest.wait(path.strip_prefix("/connectors/").unwrap(), "RUNNING", 1).unwrap();
    for (method, rest_of_path) in VERBS {
        let body = matches!(method, "PUT" | "PATCH").then(config);
        rest.must(method, &format!("{path}{rest_of_path}"), body.as_ref()).unwrap();
    }
    assert_eq!(rest.ask("DELETE", path, None).unwrap(), (204, Value::Null), "{name}");
}

#[test]
fn an_awkward_name_is_refused_with_a_reason_or_reached_by_every_verb() {
    let folder = tempfile::tempdir().unwrap();
    let worker = Setup::new(Kafka::Embedded, folder.path()).unwrap().start().unwrap();
    let rest = &worker.rest;
    let long = "n".repeat(300);
    for name in ["a/b", "a b", "a+b", "a%20b", "ä", "x?y#z", "\"q\"", &long] {
        let (status, location, body) = create(rest, &json!({"name": name, "config": config()}));
        assert_eq!((status, body["name"].as_str()), (201, Some(name)), "{body}");
        let location = location.unwrap();
        is_reached_by_every_verb(rest, name, location.strip_prefix(rest.base()).unwrap());
    }
    for name in [json!(".."), json!("."), json!("a\0b"), json!("   "), json!(""), Value::Null] {
        let (status, _, body) = create(rest, &json!({"name": name, "config": config()}));
        assert_eq!((status, body["error_code"].as_u64()), (400, Some(400)), "{name}: {body}");
        assert!(body["message"].as_str().unwrap().contains("name"), "{name}: {body}");
    }
    assert_eq!(create(rest, &json!({"config": config()})).0, 400);
    assert_eq!(rest.ask("GET", "/connectors", None).unwrap(), (200, json!([])));
}
