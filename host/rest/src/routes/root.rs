//! The worker itself.

use axum::extract::State;
use axum::http::StatusCode;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::json::Json;
use crate::ports::ServerInfo;

/// `WorkerStatus` (KIP-1017). A worker that isn't well answers with it too, not with an error body.
#[derive(Serialize, ToSchema)]
pub(super) struct WorkerStatus {
    status: Health,
    message: String,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Health {
    Healthy,
    Starting,
    Unhealthy,
}

/// `GET /`: never waits.
#[utoipa::path(
    get, path = "/", operation_id = "getServerInfo",
    responses((status = 200, description = "Which worker this is.", body = ServerInfo)),
)]
pub(super) async fn info(State(app): State<App>) -> Json<ServerInfo> {
    Json(app.server().clone())
}

/// `GET /health`: whether the herder takes its turn.
#[utoipa::path(
    get, path = "/health", operation_id = "getHealth",
    responses(
    (status = 200, description = "The worker is well.", body = WorkerStatus),
    (status = 500, description = "The herder doesn't take its turn.", body = WorkerStatus),
    (status = 503, description = "The worker is still starting.", body = WorkerStatus),
    ),
)]
pub(super) async fn health(State(app): State<App>) -> (StatusCode, Json<WorkerStatus>) {
    let Err(unresponsive) = app.ping().await else {
        let message = "Worker has completed startup and is ready to handle requests.".to_owned();
        return (StatusCode::OK, Json(WorkerStatus { status: Health::Healthy, message }));
    };
    let (code, status, what) = match unresponsive.starting {
        true => (StatusCode::SERVICE_UNAVAILABLE, Health::Starting, "Worker is still starting up."),
        false => (
            StatusCode::INTERNAL_SERVER_ERROR,
            Health::Unhealthy,
            "Worker was unable to handle this request and may be unable to handle other requests.",
        ),
    };
    (code, Json(WorkerStatus { status, message: format!("{what} {}", unresponsive.reason) }))
}

#[cfg(test)]
mod tests {
    use crate::testing::Client;

    #[tokio::test]
    async fn the_root_says_which_worker_this_is() {
        let answer = Client::new().ask("GET /?anything=1", "").await;
        assert_eq!(answer, r#"200 {"version":"4.4","commit":"c","kafka_cluster_id":"k"}"#);
    }

    #[tokio::test]
    async fn a_worker_whose_herder_answers_is_healthy() {
        let healthy =
            r#"200 {"status":"healthy","message":"Worker has completed startup and is ready to handle requests."}"#;
        assert_eq!(Client::new().ask("GET /health/", "").await, healthy);
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_whose_herder_does_not_answer_is_starting_or_unhealthy() {
        let client = Client::new();
        client.herder.hang();
        let unhealthy = concat!(
            r#"500 {"status":"unhealthy","message":"Worker was unable to handle this request and may be "#,
            r#"unable to handle other requests. The worker is currently sleeping."}"#,
        );
        assert_eq!(client.ask("GET /health", "").await, unhealthy);
        client.herder.start();
        let starting =
            r#"503 {"status":"starting","message":"Worker is still starting up. The worker is currently sleeping."}"#;
        assert_eq!(client.ask("GET /health", "").await, starting);
    }
}
