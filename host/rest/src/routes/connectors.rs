//! Listing connectors, and reading and changing their configurations.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bulkhead_herder::ClusterView;
use bulkhead_herder::api::{Reply, Request};
use bulkhead_model::{ConfigPatch, ConnectorName, RawConfig};
use serde::Serialize;
use utoipa::ToSchema;

use super::create::created;
use crate::answer::{Info, Status};
use crate::app::App;
use crate::body::Body;
use crate::document::{self, Asked, Conflict, NoSuchConnector, Scalar, WithBody};
use crate::error::Error;
use crate::json::Json;
use crate::location::Host;
use crate::path::Connector;
use crate::query::{Forward, Parameters};

/// What `expand` adds to a name.
#[derive(Serialize, ToSchema)]
struct Expanded<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    info: Option<Info<'a>>,
}

/// The connectors.
#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum Listing<'a> {
    Names(Vec<&'a str>),
    Expanded(BTreeMap<&'a str, Expanded<'a>>),
}

/// `GET /connectors`: names, or with `expand` an object by name.
#[utoipa::path(
    get, path = "/connectors", operation_id = "listConnectors",
    params(("expand" = Option<Vec<String>>, Query, description = "`status` or `info`; repeatable. Anything else adds nothing.")),
    responses((status = 200, description = "Names, or with `expand` an object by name.", body = Listing<'_>)),
)]
pub(super) async fn list(State(app): State<App>, query: Parameters) -> Response {
    let view = app.view();
    if query.get("expand").is_none() {
        return Json(Listing::Names(view.connectors.keys().map(ConnectorName::as_str).collect())).into_response();
    }
    let status = query.all("expand").any(|value| value == "status");
    let info = query.all("expand").any(|value| value == "info");
    let expanded = view.connectors.keys().filter_map(|name| Some((name.as_str(), expand(&view, name, status, info)?)));
    Json(Listing::Expanded(expanded.collect())).into_response()
}

/// None if something wanted isn't there, as while the connector is created or deleted.
fn expand<'a>(view: &'a ClusterView, name: &ConnectorName, status: bool, info: bool) -> Option<Expanded<'a>> {
    let status = if status { Some(Status::from(&**view.statuses.get(name)?)) } else { None };
    let info = if info { Some(Info::from(&view.connectors.get(name)?.info)) } else { None };
    Some(Expanded { status, info })
}

/// `GET /connectors/{connector}`
#[utoipa::path(
    get, path = "/connectors/{connector}", operation_id = "getConnector", params(Connector),
    responses((status = 200, description = "The connector.", body = Info<'_>), NoSuchConnector, Asked),
)]
pub(super) async fn info(State(app): State<App>, Connector(name): Connector) -> Result<Response, Error> {
    match app.ask(Request::ConnectorInfo { name }).await? {
        Reply::Connector(info) => Ok(Json(Info::from(&info)).into_response()),
        _ => Err(Error::unexpected()),
    }
}

/// `GET /connectors/{connector}/config`
#[utoipa::path(
    get, path = "/connectors/{connector}/config", operation_id = "getConnectorConfig", params(Connector),
    responses(
    (status = 200, description = "The configuration, with references as they were given.", body = HashMap<String, String>),
    NoSuchConnector, Asked,
    ),
)]
pub(super) async fn config(State(app): State<App>, Connector(name): Connector) -> Result<Json<RawConfig>, Error> {
    match app.ask(Request::ConnectorConfig { name }).await? {
        Reply::Config(config) => Ok(Json(config)),
        _ => Err(Error::unexpected()),
    }
}

/// `GET /connectors/{connector}/status`
#[utoipa::path(
    get, path = "/connectors/{connector}/status", operation_id = "getConnectorStatus", params(Connector),
    responses((status = 200, description = "States of the connector and its tasks.", body = Status<'_>), NoSuchConnector),
)]
pub(super) async fn status(State(app): State<App>, Connector(name): Connector) -> Result<Response, Error> {
    let view = app.view();
    let status = view.statuses.get(&name);
    let status = status.ok_or_else(|| Error::NotFound(format!("No status found for connector {name}")))?;
    Ok(Json(Status::from(&**status)).into_response())
}

/// `PUT /connectors/{connector}/config`: creates or replaces.
#[utoipa::path(
    put, path = "/connectors/{connector}/config", operation_id = "putConnectorConfig", params(Connector, Forward),
    request_body(content = HashMap<String, Scalar>, description = "The whole configuration."),
    responses(
    (status = 200, description = "The configuration is replaced.", body = Info<'_>),
    (status = 201, description = "The connector is created.", body = Info<'_>, headers(("Location" = String))),
    WithBody, Conflict, Asked,
    ),
)]
pub(super) async fn put_config(
    State(app): State<App>,
    Connector(name): Connector,
    host: Host,
    body: Body,
) -> Result<Response, Error> {
    let mut config = body.config()?;
    settle_name(&name, &mut config)?;
    match app.ask(Request::PutConfig { name, config }).await? {
        Reply::Created(info) => Ok(created(&host, &info)),
        Reply::Connector(info) => Ok(Json(Info::from(&info)).into_response()),
        _ => Err(Error::unexpected()),
    }
}

/// `PATCH /connectors/{connector}/config` (KIP-477): null removes a key.
#[utoipa::path(
    patch, path = "/connectors/{connector}/config", operation_id = "patchConnectorConfig", params(Connector, Forward),
    request_body = document::ConfigPatch,
    responses(
    (status = 200, description = "The configuration is changed.", body = Info<'_>),
    WithBody, NoSuchConnector, Conflict, Asked,
    ),
)]
pub(super) async fn patch_config(
    State(app): State<App>,
    Connector(name): Connector,
    body: Body,
) -> Result<Response, Error> {
    let patch = body.config()?;
    match app.ask(Request::PatchConfig { name, patch }).await? {
        Reply::Connector(info) => Ok(Json(Info::from(&info)).into_response()),
        _ => Err(Error::unexpected()),
    }
}

/// A configuration has the connector's name in it, the same as outside. Absent, it is added at the end.
pub(super) fn settle_name(name: &ConnectorName, config: &mut ConfigPatch) -> Result<(), Error> {
    match config.get("name") {
        Some(Some(inside)) if inside != name.as_str() => Err(Error::bad_request(format!(
            "Connector name configuration (`{inside}`) doesn't match connector name in the request (`{name}`)"
        ))),
        Some(Some(_)) => Ok(()),
        Some(None) | None => {
            config.insert("name".to_owned(), Some(name.to_string()));
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use axum::http::StatusCode;

    use super::*;
    use crate::testing::{Client, state};

    const INFO: &str = r#"200 {"name":"a","config":{"k":"v"},"tasks":[{"connector":"a","task":0}],"type":"source"}"#;

    #[tokio::test]
    async fn a_connector_is_read_by_its_encoded_name() {
        let client = Client::with_connector("a").await;
        for path in ["/connectors/a", "/connectors/a/", "/connectors/%61", "/connectors/a;x=y"] {
            assert_eq!(client.ask(&format!("GET {path}"), "").await, INFO);
        }
        assert_eq!(client.ask("GET /connectors/a/config", "").await, r#"200 {"k":"v"}"#);
        let missing = r#"404 {"error_code":404,"message":"Connector a+b c not found"}"#;
        assert_eq!(client.ask("GET /connectors/a+b%20c", "").await, missing);
    }

    #[tokio::test]
    async fn a_status_is_read_from_the_view() {
        let client = Client::with_connector("a").await;
        assert_eq!(
            client.ask("GET /connectors/a/status", "").await,
            concat!(
                r#"200 {"name":"a","connector":{"state":"RUNNING","worker_id":"w:1","version":"1.0"},"#,
                r#""tasks":[{"id":0,"state":"RUNNING","worker_id":"w:1","version":"1.0"}],"type":"source"}"#,
            )
        );
        let missing = r#"404 {"error_code":404,"message":"No status found for connector b"}"#;
        assert_eq!(client.ask("GET /connectors/b/status", "").await, missing);
    }

    #[tokio::test]
    async fn a_version_is_null_before_it_is_reported_and_left_out_of_plugins_without() {
        let client = Client::with_connector("a").await;
        client.herder.edit_view(|view| {
            let status = view.statuses.get_mut("a").map(Arc::make_mut).unwrap();
            status.connector = state("UNASSIGNED", None);
            status.tasks = vec![(0, state("RUNNING", None))];
        });
        let answer = client.ask("GET /connectors/a/status", "").await;
        assert!(answer.contains(r#"{"state":"UNASSIGNED","worker_id":"w:1","version":null}"#), "{answer}");
        assert!(answer.contains(r#"{"id":0,"state":"RUNNING","worker_id":"w:1"}"#), "{answer}");
    }

    #[tokio::test]
    async fn put_creates_with_a_location_and_replaces_without() {
        let client = Client::new();
        let first = client.send("PUT /connectors/a%20/config", r#"{"k": 1e3}"#).await;
        assert_eq!(first.status, StatusCode::CREATED);
        assert_eq!(first.header("location"), "http://here:8083/connectors/a%20");
        let second = client.send("PUT /connectors/a%20/config", r#"{"name": "a ", "k": true}"#).await;
        assert_eq!((second.status, second.header("location")), (StatusCode::OK, ""));
        assert_eq!(client.ask("GET /connectors/a%20/config", "").await, r#"200 {"name":"a ","k":"true"}"#);
    }

    #[tokio::test]
    async fn put_refuses_another_name_inside_and_patch_leaves_it_to_the_herder() {
        let client = Client::with_connector("a").await;
        assert_eq!(client.send("PUT /connectors/a/config", r#"{"name": "b"}"#).await.status, 400);
        assert_eq!(client.send("PATCH /connectors/a/config", r#"{"name": "b", "k": null}"#).await.status, 200);
        let patch = ConfigPatch::from([("name".to_owned(), Some("b".to_owned())), ("k".to_owned(), None)]);
        assert_eq!(client.herder.requests(), [Request::PatchConfig { name: ConnectorName::new("a"), patch }]);
    }

    #[tokio::test]
    async fn connectors_are_listed_by_name_and_expanded_on_request() {
        let client = Client::with_connector("a").await;
        assert_eq!(client.ask("GET /connectors", "").await, "200 []");
        assert_eq!(client.ask("GET /connectors?expand", "").await, "200 {}");
        client.herder.show_connector("a");
        client.herder.show_connector("new");
        let info = |name: &str| {
            let config = r#"{"connector.class":"FileSource"}"#;
            format!(r#""{name}":{{"info":{{"name":"{name}","config":{config},"tasks":[],"type":"source"}}}}"#)
        };
        for (query, expected) in [
            ("", r#"200 ["a","new"]"#.to_owned()),
            ("?Expand=status", r#"200 ["a","new"]"#.to_owned()),
            ("?expand=", r#"200 {"a":{},"new":{}}"#.to_owned()),
            ("?expand=status,info", r#"200 {"a":{},"new":{}}"#.to_owned()),
            ("?expand=info&expand=x", format!("200 {{{},{}}}", info("a"), info("new"))),
        ] {
            assert_eq!(client.ask(&format!("GET /connectors{query}"), "").await, expected);
        }
    }

    #[tokio::test]
    async fn a_connector_without_status_is_left_out_where_the_status_is_wanted() {
        let client = Client::with_connector("a").await;
        client.herder.show_connector("a");
        client.herder.show_connector("new");
        let answer = client.ask("GET /connectors?expand=status&expand=info", "").await;
        assert!(answer.starts_with(r#"200 {"a":{"status":{"name":"a","connector":{"state":"RUNNING","#), "{answer}");
        assert!(!answer.contains("new"), "{answer}");
    }
}
