//! Pausing, resuming, stopping, restarting and deleting connectors.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bulkhead_herder::api::{Reply, Request, RestartRequest};
use bulkhead_model::{ConnectorName, TargetState};

use crate::answer::Status;
use crate::app::App;
use crate::document::{Asked, Conflict, NoSuchConnector};
use crate::error::Error;
use crate::json::Json;
use crate::path::Connector;
use crate::query::{Forward, Parameters};

/// `PUT /connectors/{connector}/pause`
#[utoipa::path(
    put, path = "/connectors/{connector}/pause", operation_id = "pauseConnector", params(Connector),
    responses((status = 202, description = "It is going to be paused."), NoSuchConnector, Conflict, Asked),
)]
pub(super) async fn pause(State(app): State<App>, Connector(name): Connector) -> Result<StatusCode, Error> {
    set_target(&app, name, TargetState::Paused).await?;
    Ok(StatusCode::ACCEPTED)
}

/// `PUT /connectors/{connector}/resume`
#[utoipa::path(
    put, path = "/connectors/{connector}/resume", operation_id = "resumeConnector", params(Connector),
    responses((status = 202, description = "It is going to run."), NoSuchConnector, Conflict, Asked),
)]
pub(super) async fn resume(State(app): State<App>, Connector(name): Connector) -> Result<StatusCode, Error> {
    set_target(&app, name, TargetState::Started).await?;
    Ok(StatusCode::ACCEPTED)
}

/// `PUT /connectors/{connector}/stop`
#[utoipa::path(
    put, path = "/connectors/{connector}/stop", operation_id = "stopConnector", params(Connector, Forward),
    responses((status = 204, description = "It is going to stop, and has no tasks any more."), NoSuchConnector, Conflict, Asked),
)]
pub(super) async fn stop(State(app): State<App>, Connector(name): Connector) -> Result<StatusCode, Error> {
    set_target(&app, name, TargetState::Stopped).await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn set_target(app: &App, name: ConnectorName, state: TargetState) -> Result<(), Error> {
    app.tell(Request::SetTargetState { name, state }).await
}

/// `DELETE /connectors/{connector}`
#[utoipa::path(
    delete, path = "/connectors/{connector}", operation_id = "deleteConnector", params(Connector, Forward),
    responses((status = 204, description = "The connector is deleted."), NoSuchConnector, Conflict, Asked),
)]
pub(super) async fn delete(State(app): State<App>, Connector(name): Connector) -> Result<StatusCode, Error> {
    app.tell(Request::DeleteConnector { name }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `POST /connectors/{connector}/restart` (KIP-745). Without flags it restarts the connector alone and
/// answers when that is done; with a flag it answers with what will be restarted.
#[utoipa::path(
    post, path = "/connectors/{connector}/restart", operation_id = "restartConnector",
    params(
    Connector, Forward,
    ("includeTasks" = Option<bool>, Query, description = "Tasks too."),
    ("onlyFailed" = Option<bool>, Query, description = "Only what is FAILED."),
    ),
    responses(
    (status = 202, description = "What will be restarted is RESTARTING.", body = Status<'_>),
    (status = 204, description = "Without flags: the connector was restarted."),
    NoSuchConnector, Conflict, Asked,
    ),
)]
pub(super) async fn restart(
    State(app): State<App>,
    Connector(connector): Connector,
    query: Parameters,
) -> Result<Response, Error> {
    let (include_tasks, only_failed) = (query.flag("includeTasks"), query.flag("onlyFailed"));
    if !include_tasks && !only_failed {
        app.tell(Request::RestartConnector { name: connector }).await?;
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    match app.ask(Request::Restart(RestartRequest { connector, only_failed, include_tasks })).await? {
        Reply::Restarting(status) => Ok((StatusCode::ACCEPTED, Json(Status::from(&status))).into_response()),
        _ => Err(Error::unexpected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Client;

    #[tokio::test]
    async fn target_states_are_passed_on_and_answered_without_a_body() {
        let client = Client::with_connector("a").await;
        for (line, status) in [
            ("PUT /connectors/a/pause", "202"),
            ("PUT /connectors/a/resume", "202"),
            ("PUT /connectors/a/stop?forward=true", "204"),
            ("DELETE /connectors/a", "204"),
        ] {
            assert_eq!(client.ask(line, "{\"ignored\": ").await, status);
        }
        let set = |state| Request::SetTargetState { name: ConnectorName::new("a"), state };
        let expected = [
            set(TargetState::Paused),
            set(TargetState::Started),
            set(TargetState::Stopped),
            Request::DeleteConnector { name: ConnectorName::new("a") },
        ];
        assert_eq!(client.herder.requests(), expected);
        assert_eq!(client.send("PUT /connectors/a/pause", "").await.status, StatusCode::NOT_FOUND);
    }

    #[tokio::test]
    async fn a_restart_without_flags_is_of_the_connector_alone() {
        let client = Client::with_connector("a").await;
        assert_eq!(client.ask("POST /connectors/a/restart?includeTasks=1&onlyFailed=", "").await, "204");
        assert_eq!(client.herder.requests(), [Request::RestartConnector { name: ConnectorName::new("a") }]);
    }

    #[tokio::test]
    async fn a_restart_with_a_flag_answers_with_states() {
        let client = Client::with_connector("a").await;
        let answer = client.ask("POST /connectors/a/restart?onlyFailed=TRUE", "").await;
        assert!(answer.starts_with(r#"202 {"name":"a","connector":{"state":"RUNNING","#), "{answer}");
        let connector = ConnectorName::new("a");
        let restart = RestartRequest { connector, only_failed: true, include_tasks: false };
        assert_eq!(client.herder.requests(), [Request::Restart(restart)]);
    }
}
