//! Tasks of a connector.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bulkhead_herder::api::{Reply, Request};

use crate::answer::{TaskConfig, TaskState};
use crate::app::App;
use crate::document::{Asked, Conflict, NoSuchConnector};
use crate::error::{Error, ErrorBody};
use crate::json::Json;
use crate::path::{Connector, Task};
use crate::query::Forward;

/// `GET /connectors/{connector}/tasks`
#[utoipa::path(
    get, path = "/connectors/{connector}/tasks", operation_id = "listTasks", params(Connector),
    responses(
    (status = 200, description = "The tasks' configurations.", body = Vec<TaskConfig<'_>>),
    NoSuchConnector, Asked,
    ),
)]
pub(super) async fn list(State(app): State<App>, Connector(name): Connector) -> Result<Response, Error> {
    match app.ask(Request::TaskInfos { name }).await? {
        Reply::Tasks(tasks) => Ok(Json(tasks.iter().map(TaskConfig::from).collect::<Vec<_>>()).into_response()),
        _ => Err(Error::unexpected()),
    }
}

/// `GET /connectors/{connector}/tasks/{task}/status`
#[utoipa::path(
    get, path = "/connectors/{connector}/tasks/{task}/status", operation_id = "getTaskStatus", params(Task),
    responses(
    (status = 200, description = "The state of the task.", body = TaskState<'_>),
    (status = 404, description = "There is no such task.", body = ErrorBody),
    ),
)]
pub(super) async fn status(State(app): State<App>, task: Task) -> Result<Response, Error> {
    let view = app.view();
    match task.id().and_then(|id| Some((id.number, view.task_status(&id)?))) {
        Some((number, state)) => Ok(Json(TaskState::new(number, state)).into_response()),
        None => Err(Error::NotFound(format!("No status found for task {}-{}", task.connector, task.number))),
    }
}

/// `POST /connectors/{connector}/tasks/{task}/restart`
#[utoipa::path(
    post, path = "/connectors/{connector}/tasks/{task}/restart", operation_id = "restartTask", params(Task, Forward),
    responses(
    (status = 204, description = "The task was restarted."),
    (status = 404, description = "There is no such task.", body = ErrorBody),
    Conflict, Asked,
    ),
)]
pub(super) async fn restart(State(app): State<App>, task: Task) -> Result<StatusCode, Error> {
    let Some(id) = task.id() else {
        return Err(Error::NotFound(format!("Unknown task: {}-{}", task.connector, task.number)));
    };
    app.tell(Request::RestartTask { id }).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use crate::testing::Client;

    #[tokio::test]
    async fn tasks_are_listed_with_their_configurations() {
        let client = Client::with_connector("a").await;
        let tasks = r#"200 [{"id":{"connector":"a","task":0},"config":{"k":"v"}}]"#;
        assert_eq!(client.ask("GET /connectors/a/tasks", "").await, tasks);
    }

    #[tokio::test]
    async fn a_number_that_no_task_has_is_404() {
        let client = Client::with_connector("a").await;
        let status = r#"200 {"id":0,"state":"RUNNING","worker_id":"w:1","version":"1.0"}"#;
        assert_eq!(client.ask("GET /connectors/a/tasks/0/status", "").await, status);
        for (number, message) in [
            ("1", "No status found for task a-1"),
            ("-1", "No status found for task a--1"),
            ("zero", "there is no resource at `/connectors/a/tasks/zero/status`"),
            ("99999999999", "there is no resource at `/connectors/a/tasks/99999999999/status`"),
        ] {
            let answer = client.send(&format!("GET /connectors/a/tasks/{number}/status"), "").await;
            assert_eq!((answer.status.as_u16(), answer.message().as_str()), (404, message));
        }
    }

    #[tokio::test]
    async fn a_task_is_restarted_by_the_herder() {
        let client = Client::with_connector("a").await;
        assert_eq!(client.ask("POST /connectors/a/tasks/0/restart", "").await, "204");
        assert_eq!(client.send("POST /connectors/a/tasks/-1/restart", "").await.message(), "Unknown task: a--1");
    }
}
