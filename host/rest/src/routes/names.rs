//! FC-05: whatever connector there is, every verb reaches it. That blanks, control characters and nothing at all are no
//! names is for the herder to say.

use axum::http::StatusCode;

use crate::testing::Client;

/// What is asked of a connector, behind its address.
const VERBS: [(&str, &str, &str, u16); 15] = [
    ("GET", "", "", 200),
    ("GET", "/status", "", 200),
    ("GET", "/config", "", 200),
    ("PUT", "/config", "{}", 200),
    ("PATCH", "/config", "{}", 200),
    ("GET", "/tasks", "", 200),
    ("GET", "/tasks/0/status", "", 200),
    ("POST", "/tasks/0/restart", "", 204),
    ("POST", "/restart", "", 204),
    ("POST", "/restart?includeTasks=true", "", 202),
    ("PUT", "/pause", "", 202),
    ("PUT", "/stop", "", 204),
    ("GET", "/offsets", "", 200),
    ("DELETE", "/offsets", "", 200),
    ("DELETE", "", "", 204),
];

#[tokio::test]
async fn every_verb_reaches_a_connector_by_its_location_whatever_its_name() {
    let long = "n".repeat(300);
    for name in ["a/b", "a b", "a+b", "a%20b", "ä", "x?y#z", r#"\"q\""#, r"a\\b", "a;b", "😀{x}", "...", &long] {
        let client = Client::new();
        let created = client.send("POST /connectors", &format!(r#"{{"name": "{name}", "config": {{}}}}"#)).await;
        assert_eq!(created.status, StatusCode::CREATED, "{name}");
        let path = created.header("location").strip_prefix("http://here:8083").unwrap();
        for (method, rest, body, status) in VERBS {
            let answer = client.send(&format!("{method} {path}{rest}"), body).await;
            assert_eq!(answer.status.as_u16(), status, "{method} {path}{rest}: {}", answer.body);
        }
        assert_eq!(client.ask(&format!("DELETE {path}"), "").await.get(..3), Some("404"), "{path}");
    }
}

#[tokio::test]
async fn a_name_that_clients_resolve_is_refused_but_reached_where_it_exists() {
    for name in [".", " .. "] {
        let answer = Client::new().send("POST /connectors", &format!(r#"{{"name": "{name}", "config": {{}}}}"#)).await;
        let message = format!(
            "`name` is `{}`, which most clients resolve within a URL, so that they couldn't reach the connector; \
             choose another name",
            name.trim()
        );
        assert_eq!((answer.status.as_u16(), answer.message()), (400, message));
    }
    let client = Client::with_connector("..").await;
    for path in ["/connectors/..", "/connectors/%2E%2e"] {
        assert_eq!(client.send(&format!("GET {path}"), "").await.status, StatusCode::OK, "{path}");
    }
}
