//! Levels of loggers (KIP-495, KIP-976).

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bulkhead_herder::api::Request;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::body::{Body, Piece};
use crate::document::{Asked, Conflict, LevelRequest, WithBody};
use crate::error::{Error, ErrorBody};
use crate::json::Json;
use crate::levels::Level;
use crate::path::Logger;
use crate::ports::LoggerLevel;
use crate::query::Parameters;

#[derive(Serialize, ToSchema)]
#[schema(as = LoggerLevel)]
pub(super) struct LevelBody {
    level: &'static str,
    /// Milliseconds since 1970.
    #[schema(required)]
    last_modified: Option<u64>,
}

/// `GET /admin/loggers`
#[utoipa::path(
    get, path = "/admin/loggers", operation_id = "listLoggers",
    responses((status = 200, description = "Levels by logger.", body = HashMap<String, LevelBody>)),
)]
pub(super) async fn list(State(app): State<App>) -> Json<BTreeMap<String, LevelBody>> {
    Json(app.loggers().list().into_iter().map(|(name, level)| (name, LevelBody::from(level))).collect())
}

/// `GET /admin/loggers/{logger}`
#[utoipa::path(
    get, path = "/admin/loggers/{logger}", operation_id = "getLogger", params(Logger),
    responses(
    (status = 200, description = "The logger's level.", body = LevelBody),
    (status = 404, description = "There is no such logger.", body = ErrorBody),
    ),
)]
pub(super) async fn level(State(app): State<App>, Logger(logger): Logger) -> Result<Json<LevelBody>, Error> {
    let level = app.loggers().get(&logger);
    level.map(|level| Json(level.into())).ok_or_else(|| Error::NotFound(format!("Logger {logger} not found.")))
}

/// `PUT /admin/loggers/{logger}`: answers with the loggers that changed. With `scope=cluster` (KIP-976)
/// every worker, this one too, follows when it reads the level from the config log.
#[utoipa::path(
    put, path = "/admin/loggers/{logger}", operation_id = "setLogger",
    params(Logger, ("scope" = Option<String>, Query, description = "`worker`, the default, or `cluster`.")),
    request_body = LevelRequest,
    responses(
    (status = 200, description = "Of this worker: the loggers whose level changed.", body = Vec<String>),
    (status = 204, description = "Of the cluster: every worker will follow."),
    (status = 404, description = "There is no such level.", body = ErrorBody),
    WithBody, Conflict, Asked,
    ),
)]
pub(super) async fn set(
    State(app): State<App>,
    Logger(logger): Logger,
    query: Parameters,
    body: Body,
) -> Result<Response, Error> {
    let level = parse(&body)?;
    if query.get("scope").is_some_and(|scope| scope.eq_ignore_ascii_case("cluster")) {
        app.tell(Request::SetLoggerLevel { logger, level: Some(level.name().to_owned()) }).await?;
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let changed = app.loggers().set(&logger, level);
    tracing::info!(?logger, level = level.name(), "Log level set.");
    Ok(Json(changed).into_response())
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
    use super::*;
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
    async fn other_scopes_than_the_cluster_are_this_worker() {
        for scope in ["", "?scope=Worker", "?scope=galaxy", "?scope="] {
            let client = Client::new();
            assert_eq!(client.ask(&format!("{LOGGER}{scope}"), r#"{"level": "OFF"}"#).await, r#"200 ["a.b"]"#);
            assert_eq!(client.herder.requests(), []);
        }
    }

    #[tokio::test]
    async fn a_level_for_the_cluster_goes_to_the_log_and_comes_back_from_there() {
        let client = Client::new();
        let line = format!("{LOGGER}?scope=Cluster");
        assert_eq!(client.send(&line, r#"{"level": "LOUD"}"#).await.status, 404);
        assert_eq!(client.ask(&line, r#"{"level": "off"}"#).await, "204");
        let (logger, level) = ("a.b".to_owned(), Some("OFF".to_owned()));
        assert_eq!(client.herder.requests(), [Request::SetLoggerLevel { logger, level }]);
        assert_eq!(client.send("GET /admin/loggers/a.b", "").await.status, 404);
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
