//! What a listener serves, as an OpenAPI document: `GET /openapi.json`.
//!
//! Each resource is described where it is handled and routed by that description, so that neither is there
//! without the other. Errors that many resources share are listed here, once for each reason.

mod errors;
mod forms;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::extract::Extension;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use utoipa::openapi::path::{Operation, PathItem};
use utoipa::openapi::{Components, Info, License, OpenApi, Paths};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use errors::Responses;

pub(crate) use errors::{Asked, Conflict, NoSuchConnector, NotAcceptable, NotJson, Received, WithBody};
pub(crate) use forms::{
    Component, ConfigInfos, ConfigKeyInfo, ConfigPatch, LevelRequest, NewOffset, OffsetsPatch, Scalar, TaskId,
};

/// The text of the document.
#[derive(Clone)]
struct Document(Arc<str>);

/// Adds the document to the resources that it describes.
pub(crate) fn with_document(routes: OpenApiRouter<App>) -> Router<App> {
    let (router, mut document) = routes.routes(routes!(show)).split_for_parts();
    document.info = info();
    may_answer::<errors::Anywhere>(&mut document.paths);
    let components = document.components.get_or_insert_with(Components::new);
    errors::register(components);
    forms::close(components);
    router.layer(Extension(Document(text(&document))))
}

/// Notes that all of these operations may answer so, unless they say themselves what such a status means.
pub(crate) fn may_answer<R: Responses>(paths: &mut Paths) {
    for operation in paths.paths.values_mut().flat_map(operations) {
        for (status, response) in R::responses() {
            operation.responses.responses.entry(status).or_insert(response);
        }
    }
}

fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    let PathItem { get, put, post, delete, patch, .. } = item;
    [get, put, post, delete, patch].into_iter().flatten()
}

fn info() -> Info {
    let mut info = Info::new("Bulkhead", env!("CARGO_PKG_VERSION"));
    info.description = Some("Kafka Connect's REST interface, with connectors and tasks in sandboxes.".to_owned());
    info.license =
        Some(License::builder().name(env!("CARGO_PKG_LICENSE")).identifier(Some(env!("CARGO_PKG_LICENSE"))).build());
    info
}

fn text(document: &OpenApi) -> Arc<str> {
    document.to_json().expect("a document has texts for keys and no values of our own").into()
}

/// `GET /openapi.json`: this document.
#[utoipa::path(
    get, path = "/openapi.json", operation_id = "getOpenApi",
    responses((status = 200, description = "An OpenAPI document of what this listener serves.", body = Object)),
)]
async fn show(Extension(Document(text)): Extension<Document>) -> Response {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text.to_string()).into_response()
}
