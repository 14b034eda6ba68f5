//! Offsets of a connector (KIP-875).

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bulkhead_herder::api::{Reply, Request};
use bulkhead_model::ConnectorName;
use bulkhead_model::offset::OffsetEntry;
use bulkhead_model::work::OffsetsOutcome;

use crate::answer::{Message, Offsets};
use crate::app::App;
use crate::body::{Body, Piece};
use crate::document::{Asked, Conflict, NoSuchConnector, OffsetsPatch, WithBody};
use crate::error::Error;
use crate::json::Json;
use crate::path::Connector;
use crate::query::Forward;

/// `GET /connectors/{connector}/offsets`
#[utoipa::path(
    get, path = "/connectors/{connector}/offsets", operation_id = "getOffsets", params(Connector),
    responses((status = 200, description = "Committed offsets.", body = Offsets<'_>), NoSuchConnector, Conflict, Asked),
)]
pub(super) async fn list(State(app): State<App>, Connector(name): Connector) -> Result<Response, Error> {
    match app.ask(Request::Offsets { name }).await? {
        Reply::Offsets(entries) => Ok(Json(Offsets::from(&*entries)).into_response()),
        _ => Err(Error::unexpected()),
    }
}

/// `PATCH /connectors/{connector}/offsets`
#[utoipa::path(
    patch, path = "/connectors/{connector}/offsets", operation_id = "alterOffsets", params(Connector, Forward),
    request_body = OffsetsPatch,
    responses(
    (status = 200, description = "The offsets are altered.", body = Message),
    WithBody, NoSuchConnector, Conflict, Asked,
    ),
)]
pub(super) async fn alter(
    State(app): State<App>,
    Connector(name): Connector,
    body: Body,
) -> Result<Json<Message>, Error> {
    let offsets = parse(&body)?;
    change(&app, name, Some(offsets)).await
}

/// `DELETE /connectors/{connector}/offsets`
#[utoipa::path(
    delete, path = "/connectors/{connector}/offsets", operation_id = "resetOffsets", params(Connector, Forward),
    responses((status = 200, description = "The connector has no offsets.", body = Message), NoSuchConnector, Conflict, Asked),
)]
pub(super) async fn reset(State(app): State<App>, Connector(name): Connector) -> Result<Json<Message>, Error> {
    change(&app, name, None).await
}

async fn change(app: &App, name: ConnectorName, offsets: Option<Vec<OffsetEntry>>) -> Result<Json<Message>, Error> {
    match app.ask(Request::AlterOffsets { name, offsets }).await? {
        Reply::OffsetsAltered { outcome, reset } => Ok(Json(Message { message: verdict(outcome, reset) })),
        _ => Err(Error::unexpected()),
    }
}

fn verdict(outcome: OffsetsOutcome, reset: bool) -> &'static str {
    match (outcome, reset) {
        (OffsetsOutcome::Confirmed, false) => "The offsets for this connector have been altered successfully",
        (OffsetsOutcome::Confirmed, true) => "The offsets for this connector have been reset successfully",
        (OffsetsOutcome::FrameworkOnly, false) => {
            "The Connect framework-managed offsets for this connector have been altered successfully. \
             However, if this connector manages offsets externally, they will need to be manually altered \
             in the system that the connector uses."
        }
        (OffsetsOutcome::FrameworkOnly, true) => {
            "The Connect framework-managed offsets for this connector have been reset successfully. \
             However, if this connector manages offsets externally, they will need to be manually reset \
             in the system that the connector uses."
        }
    }
}

fn parse(body: &Body) -> Result<Vec<OffsetEntry>, Error> {
    let mut members = body.json()?.object()?;
    let offsets = members.take("offsets");
    members.finish("`offsets`")?;
    let entries = offsets.map(entries).transpose()?.unwrap_or_default();
    if entries.is_empty() {
        return Err(Error::bad_request("`offsets` must be a list of at least one `{\"partition\": …, \"offset\": …}`"));
    }
    Ok(entries)
}

/// The list of `offsets`, in whatever body it stands.
pub(super) fn entries(list: Piece<'_>) -> Result<Vec<OffsetEntry>, Error> {
    list.list()?.into_iter().map(entry).collect()
}

fn entry(piece: Piece<'_>) -> Result<OffsetEntry, Error> {
    let mut members = piece.object()?;
    let partition = members.take("partition").map(Piece::plain_object).transpose()?;
    let offset = members.take("offset").map(Piece::plain_object).transpose()?;
    members.finish("`partition` and `offset`")?;
    Ok(OffsetEntry { partition, offset })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Client;

    async fn refused(body: &str, message: &str) {
        let answer = Client::with_connector("a").await.send("PATCH /connectors/a/offsets", body).await;
        assert_eq!((answer.status.as_u16(), answer.message().as_str()), (400, message), "{body}");
    }

    #[tokio::test]
    async fn offsets_are_passed_on_as_they_are_written() {
        let client = Client::with_connector("a").await;
        let body =
            r#"{"offsets": [{"partition": {"f": "x"}, "offset": {"p": 1}}, {"partition": {}, "offset": null}, {}]}"#;
        let altered = r#"200 {"message":"The offsets for this connector have been altered successfully"}"#;
        assert_eq!(client.ask("PATCH /connectors/a/offsets", body).await, altered);
        let object = |text| Some(serde_json::from_str(text).unwrap());
        let offsets = Some(vec![
            OffsetEntry { partition: object(r#"{"f": "x"}"#), offset: object(r#"{"p": 1}"#) },
            OffsetEntry { partition: object("{}"), offset: None },
            OffsetEntry { partition: None, offset: None },
        ]);
        assert_eq!(client.herder.requests(), [Request::AlterOffsets { name: ConnectorName::new("a"), offsets }]);
    }

    #[tokio::test]
    async fn all_offsets_are_reset_at_once() {
        let client = Client::with_connector("a").await;
        let reset = r#"200 {"message":"The offsets for this connector have been reset successfully"}"#;
        assert_eq!(client.ask("DELETE /connectors/a/offsets", "").await, reset);
        assert_eq!(client.ask("GET /connectors/a/offsets", "").await, r#"200 {"offsets":[]}"#);
    }

    #[tokio::test]
    async fn mistakes_are_named() {
        let nothing = "`offsets` must be a list of at least one `{\"partition\": …, \"offset\": …}`";
        refused("{}", nothing).await;
        refused(r#"{"offsets": null}"#, nothing).await;
        refused(r#"{"offsets": []}"#, nothing).await;
        refused(r#"{"offsets": {}}"#, "`offsets` in the body is an object, but must be a list").await;
        refused(r#"{"offsets": [null]}"#, "item 0 of `offsets` in the body is null, but must be an object").await;
        refused(
            r#"{"offsets": [{"partition": "f"}]}"#,
            "`partition` in item 0 of `offsets` in the body is a text, but must be an object",
        )
        .await;
        refused(
            r#"{"offsets": [{"x": 1}]}"#,
            "item 0 of `offsets` in the body has the unknown member `x`; known are `partition` and `offset`",
        )
        .await;
    }
}
