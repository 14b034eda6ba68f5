//! Levels of loggers (KIP-495, KIP-976).

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use crate::app::App;
use crate::body::{Body, Piece};
use crate::error::Error;
use crate::json::Json;
use crate::levels::Level;
use crate::path::Logger;
use crate::ports::LoggerLevel;
use crate::query::Parameters;

#[derive(Serialize)]
pub(super) struct LevelBody {
    level: &'static str,
    last_modified: Option<u64>,
}

/// `GET /admin/loggers`
pub(super) async fn list(State(app): State<App>) -> Json<BTreeMap<String, LevelBody>> {
    Json(app.loggers().list().into_iter().map(|(name, level)| (name, LevelBody::from(level))).collect())
}

/// `GET /admin/loggers/{logger}`
pub(super) async fn level(State(app): State<App>, Logger(logger): Logger) -> Result<Json<LevelBody>, Error> {
    let level = app.loggers().get(&logger);
    level.map(|level| Json(level.into())).ok_or_else(|| Error::NotFound(format!("Logger {logger} not found.")))
}

/// `PUT /admin/loggers/{logger}`: answers with the loggers that changed, unless it was for the cluster.
pub(super) async fn set(
    State(app): State<App>,
    Logger(logger): Logger,
    query: Parameters,
    body: Body,
) -> Result<Response, Error> {
    let level = parse(&body)?;
    let changed = app.loggers().set(&logger, level);
    tracing::info!(?logger, level = level.name(), "Log level set.");
    match query.get("scope") {
        Some(scope) if scope.eq_ignore_ascii_case("cluster") => Ok(StatusCode::NO_CONTENT.into_response()),
        Some(_) | None => Ok(Json(changed).into_response()),
    }
}

/// Other members than `level` are ignored. An unknown level is a 404, as in Connect.
fn parse(body: &Body) -> Result<Level, Error> {
    let mut members = body.json()?.object()?;
    let level = members.take("level").map(Piece::text).transpose()?.flatten().unwrap_or_default();
    if level.is_empty() {
        return Err(Error::bad_request(format!("the body has no `level`, one of {}", Level::names())));
    }
    Level::parse(&level).ok_or_else(|| Error::NotFound(format!("log level `{level}` is none of {}", Level::names())))
}

impl From<LoggerLevel> for LevelBody {
    fn from(logger: LoggerLevel) -> Self {
        Self { level: logger.level.name(), last_modified: logger.last_modified.map(|at| at.0) }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::Client;

    const LOGGER: &str = "PUT /admin/loggers/a.b";

    #[tokio::test]
    async fn a_level_is_set_shown_and_listed() {
        let client = Client::new();
        assert_eq!(client.ask(LOGGER, r#"{"level": "Trace", "more": 1}"#).await, r#"200 ["a.b"]"#);
        assert_eq!(client.ask(LOGGER, r#"{"level": "TRACE"}"#).await, "200 []");
        let level = r#"200 {"level":"TRACE","last_modified":7}"#;
        assert_eq!(client.ask("GET /admin/loggers/a.b", "").await, level);
        let all = r#"200 {"a.b":{"level":"TRACE","last_modified":7},"root":{"level":"INFO","last_modified":null}}"#;
        assert_eq!(client.ask("GET /admin/loggers", "").await, all);
        assert_eq!(client.send("GET /admin/loggers/b", "").await.message(), "Logger b not found.");
    }

    #[tokio::test]
    async fn the_scope_of_the_cluster_is_answered_without_a_body() {
        for (scope, answer) in [("Cluster", "204"), ("worker", r#"200 ["a.b"]"#), ("galaxy", r#"200 ["a.b"]"#)] {
            assert_eq!(Client::new().ask(&format!("{LOGGER}?scope={scope}"), r#"{"level": "OFF"}"#).await, answer);
        }
    }

    #[tokio::test]
    async fn an_unknown_level_is_404_and_none_at_all_400() {
        for (body, status) in [
            (r#"{"level": "LOUD"}"#, 404),
            (r#"{"level": 5}"#, 404),
            (r#"{"level": ""}"#, 400),
            (r#"{"level": null}"#, 400),
            (r#"{"level": {}}"#, 400),
            ("{}", 400),
            ("[]", 400),
        ] {
            assert_eq!(Client::new().send(LOGGER, body).await.status, status, "{body}");
        }
    }
}
