//! Topics that a connector has used (KIP-558).

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bulkhead_herder::api::Request;
use serde::Serialize;
use utoipa::ToSchema;

use crate::app::App;
use crate::document::{Asked, Conflict};
use crate::error::{Error, ErrorBody};
use crate::json::Json;
use crate::path::Connector;
use crate::settings::TopicTracking;

#[derive(Serialize, ToSchema)]
struct Topics<'a> {
    topics: &'a [String],
}

/// `GET /connectors/{connector}/topics`: an unknown connector has none.
#[utoipa::path(
    get, path = "/connectors/{connector}/topics", operation_id = "listTopics", params(Connector),
    responses(
    (status = 200, description = "Topics, under the connector's name; none of an unknown connector.", body = HashMap<String, Topics<'_>>),
    (status = 403, description = "Switched off in the worker's properties.", body = ErrorBody),
    ),
)]
pub(super) async fn list(State(app): State<App>, Connector(name): Connector) -> Result<Response, Error> {
    require_tracking(&app)?;
    let view = app.view();
    let topics = view.connectors.get(&name).map(|connector| connector.topics.as_slice()).unwrap_or_default();
    Ok(Json(BTreeMap::from([(&name, Topics { topics })])).into_response())
}

/// `PUT /connectors/{connector}/topics/reset`: forgets them, also of an unknown connector.
#[utoipa::path(
    put, path = "/connectors/{connector}/topics/reset", operation_id = "resetTopics", params(Connector),
    responses((status = 202, description = "The topics will be forgotten."), (status = 403, description = "Switched off in the worker's properties.", body = ErrorBody), Conflict, Asked),
)]
pub(super) async fn reset(State(app): State<App>, Connector(name): Connector) -> Result<StatusCode, Error> {
    require_tracking(&app)?;
    if app.topic_tracking() == TopicTracking::WithoutReset {
        return Err(Error::Forbidden(
            "Topic tracking reset is disabled (`topic.tracking.allow.reset=false`)".to_owned(),
        ));
    }
    app.tell(Request::ResetTopics { name }).await?;
    Ok(StatusCode::ACCEPTED)
}

fn require_tracking(app: &App) -> Result<(), Error> {
    match app.topic_tracking() {
        TopicTracking::Off => {
            Err(Error::Forbidden("Topic tracking is disabled (`topic.tracking.enable=false`)".to_owned()))
        }
        TopicTracking::On | TopicTracking::WithoutReset => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::router::Resources;
    use crate::settings::{Settings, TopicTracking};
    use crate::testing::Client;

    #[tokio::test]
    async fn topics_are_shown_under_the_name_of_the_connector() {
        let client = Client::new();
        client.herder.show_connector("a");
        assert_eq!(client.ask("GET /connectors/a/topics", "").await, r#"200 {"a":{"topics":["t"]}}"#);
    }

    #[tokio::test]
    async fn an_unknown_connector_has_no_topics_and_can_be_reset() {
        let client = Client::new();
        assert_eq!(client.ask("GET /connectors/a/topics", "").await, r#"200 {"a":{"topics":[]}}"#);
        assert_eq!(client.ask("PUT /connectors/a/topics/reset", "").await, "202");
    }

    #[tokio::test]
    async fn what_is_switched_off_is_403() {
        for (topic_tracking, list, reset) in [(TopicTracking::WithoutReset, 200, 403), (TopicTracking::Off, 403, 403)] {
            let client = Client::with(&Settings { topic_tracking, ..Settings::default() }, Resources::Regular);
            assert_eq!(client.send("GET /connectors/a/topics", "").await.status, list);
            assert_eq!(client.send("PUT /connectors/a/topics/reset", "").await.status, reset);
        }
    }
}
