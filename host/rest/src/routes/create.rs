//! Creating connectors: `POST /connectors`.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bulkhead_herder::api::{ConnectorInfo, Reply, Request};
use bulkhead_model::offset::OffsetEntry;
use bulkhead_model::{ConfigPatch, ConnectorName, TargetState};
use utoipa::ToSchema;

use super::connectors::settle_name;
use super::offsets;
use crate::answer::Info;
use crate::app::App;
use crate::body::{Body, Piece};
use crate::document::{Asked, NewOffset, Scalar, WithBody};
use crate::error::{Error, ErrorBody};
use crate::json::Json;
use crate::location::Host;
use crate::path;
use crate::query::Forward;

/// `CreateRequest`.
#[derive(Debug, PartialEq, ToSchema)]
pub(crate) struct CreateRequest {
    /// Blanks around it don't count.
    #[schema(value_type = Scalar)]
    name: ConnectorName,
    #[schema(value_type = HashMap<String, Scalar>)]
    config: ConfigPatch,
    /// RUNNING, PAUSED or STOPPED, in any case.
    #[schema(value_type = Option<String>, pattern = "^([Rr][Uu][Nn][Nn][Ii][Nn][Gg]|[Pp][Aa][Uu][Ss][Ee][Dd]|[Ss][Tt][Oo][Pp][Pp][Ee][Dd])$")]
    initial_state: Option<TargetState>,
    /// Where the connector is to begin, in the form of `PATCH …/offsets`; none, if the list is empty.
    #[schema(value_type = Option<Vec<NewOffset>>)]
    offsets: Option<Vec<OffsetEntry>>,
}

/// `POST /connectors`
#[utoipa::path(
    post, path = "/connectors", operation_id = "createConnector", params(Forward), request_body = CreateRequest,
    responses(
    (status = 201, description = "The connector is created.", body = Info<'_>, headers(("Location" = String))),
    (status = 409, description = "The connector exists, or the cluster is about to rebalance.", body = ErrorBody,
    headers(("Retry-After" = Option<u32>, description = "Seconds, if asking again may help."))),
    WithBody, Asked,
    ),
)]
pub(super) async fn create(State(app): State<App>, host: Host, body: Body) -> Result<Response, Error> {
    let CreateRequest { name, config, initial_state, offsets } = CreateRequest::parse(&body)?;
    match app.ask(Request::CreateConnector { name, config, initial_state, offsets }).await? {
        Reply::Created(info) | Reply::Connector(info) => Ok(created(&host, &info)),
        _ => Err(Error::unexpected()),
    }
}

/// 201, with the address of the new connector.
pub(super) fn created(host: &Host, info: &ConnectorInfo) -> Response {
    (StatusCode::CREATED, host.location(&info.name), Json(Info::from(info))).into_response()
}

impl CreateRequest {
    fn parse(body: &Body) -> Result<Self, Error> {
        let mut members = body.json()?.object()?;
        let name = members.take("name").map(Piece::text).transpose()?.flatten().unwrap_or_default();
        let name = ConnectorName::new(trim(&name));
        if path::is_step(name.as_str()) {
            return Err(Error::bad_request(format!(
                "`name` is `{name}`, which most clients resolve within a URL, so that they couldn't reach the connector; \
                 choose another name"
            )));
        }
        let config = members.take("config");
        let initial_state = members.take("initial_state").map(initial_state).transpose()?;
        let offsets = members.take("offsets").map(offsets::entries).transpose()?;
        members.finish("`name`, `config`, `initial_state` and `offsets`")?;
        let Some(config) = config else {
            return Err(Error::bad_request("the body has no `config`, the configuration of the connector"));
        };
        let mut config = config.config()?;
        settle_name(&name, &mut config)?;
        Ok(Self { name, config, initial_state, offsets: offsets.filter(|entries| !entries.is_empty()) })
    }
}

/// KIP-980.
fn initial_state(piece: Piece<'_>) -> Result<TargetState, Error> {
    let text = piece.text()?.unwrap_or_default();
    TargetState::parse_initial(&text).ok_or_else(|| {
        Error::bad_request(format!("`initial_state` is `{text}`, but must be RUNNING, PAUSED or STOPPED"))
    })
}

/// As Java trims: all up to U+0020, and nothing else that Unicode calls a space.
fn trim(name: &str) -> &str {
    name.trim_matches(|character| character <= ' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Client;

    async fn check(body: &str, expected: &str) {
        assert_eq!(Client::new().ask("POST /connectors", body).await, expected, "{body}");
    }

    async fn refused(body: &str, message: &str) {
        let answer = Client::new().send("POST /connectors", body).await;
        assert_eq!((answer.status, answer.message().as_str()), (StatusCode::BAD_REQUEST, message), "{body}");
    }

    #[tokio::test]
    async fn a_connector_is_created_with_its_name_trimmed_and_added_at_the_end() {
        check(
            r#"{"name": " a ", "config": {"n": 1.50, "x": "y"}}"#,
            concat!(
                r#"201 {"name":"a","config":{"n":"1.50","x":"y","name":"a"},"#,
                r#""tasks":[{"connector":"a","task":0}],"type":"source"}"#,
            ),
        )
        .await;
    }

    #[tokio::test]
    async fn the_herder_gets_the_initial_state_in_any_case() {
        for (member, state) in [
            (r#", "initial_state": "paused""#, Some(TargetState::Paused)),
            (r#", "initial_state": "RUNNING""#, Some(TargetState::Started)),
            (r#", "initial_state": null"#, None),
            ("", None),
        ] {
            let client = Client::new();
            client.ask("POST /connectors", &format!(r#"{{"name": "a", "config": {{}}{member}}}"#)).await;
            let config = ConfigPatch::from([("name".to_owned(), Some("a".to_owned()))]);
            let name = ConnectorName::new("a");
            assert_eq!(
                client.herder.requests(),
                [Request::CreateConnector { name, config, initial_state: state, offsets: None }]
            );
        }
    }

    #[tokio::test]
    async fn the_herder_gets_the_offsets_to_begin_with_if_there_are_any() {
        let object = |text| Some(serde_json::from_str(text).unwrap());
        let entries = vec![
            OffsetEntry { partition: object(r#"{"file": "x"}"#), offset: object(r#"{"position": 5}"#) },
            OffsetEntry { partition: object("{}"), offset: None },
        ];
        for (member, offsets) in [
            (
                r#", "offsets": [{"partition": {"file": "x"}, "offset": {"position": 5}}, {"partition": {}}]"#,
                Some(entries),
            ),
            (r#", "offsets": []"#, None),
            (r#", "offsets": null"#, None),
        ] {
            let client = Client::new();
            let answer = client.ask("POST /connectors", &format!(r#"{{"name": "a", "config": {{}}{member}}}"#)).await;
            assert!(answer.starts_with(r#"201 {"name":"a","config":{"name":"a"},"tasks":["#), "{answer}");
            let config = ConfigPatch::from([("name".to_owned(), Some("a".to_owned()))]);
            let name = ConnectorName::new("a");
            let expected = Request::CreateConnector { name, config, initial_state: None, offsets };
            assert_eq!(client.herder.requests(), [expected]);
        }
    }

    #[tokio::test]
    async fn offsets_that_are_none_are_refused_with_their_place() {
        for (offsets, message) in [
            ("{}", "`offsets` in the body is an object, but must be a list"),
            ("[5]", "item 0 of `offsets` in the body is a number, but must be an object"),
            (r#"[{}, {"offset": []}]"#, "`offset` in item 1 of `offsets` in the body is a list, but must be an object"),
            (
                r#"[{"position": 5}]"#,
                "item 0 of `offsets` in the body has the unknown member `position`; known are `partition` and `offset`",
            ),
        ] {
            refused(&format!(r#"{{"name": "a", "config": {{}}, "offsets": {offsets}}}"#), message).await;
        }
    }

    #[tokio::test]
    async fn a_request_that_is_wrong_is_told_what_is_wrong() {
        refused("{bad", "the body is no valid JSON: key must be a string at line 1 column 2").await;
        refused("null", "the body is null, but must be an object").await;
        refused(r#"{"name": "a"}"#, "the body has no `config`, the configuration of the connector").await;
        refused(r#"{"config": []}"#, "`config` in the body is a list, but must be an object").await;
        refused(
            r#"{"config": {"x": {}}}"#,
            "`x` in `config` in the body is an object, but must be a text, a number or a boolean",
        )
        .await;
        refused(
            r#"{"name": ["a"], "config": {}}"#,
            "`name` in the body is a list, but must be a text, a number or a boolean",
        )
        .await;
        refused(
            r#"{"config": {}, "surprise": 1}"#,
            "the body has the unknown member `surprise`; known are `name`, `config`, `initial_state` and `offsets`",
        )
        .await;
        for state in ["\"bogus\"", "\"\"", "\"running \"", "5"] {
            let message =
                format!("`initial_state` is `{}`, but must be RUNNING, PAUSED or STOPPED", state.trim_matches('"'),);
            refused(&format!(r#"{{"name": "a", "config": {{}}, "initial_state": {state}}}"#), &message).await;
        }
    }

    #[tokio::test]
    async fn a_name_inside_that_differs_from_the_one_outside_is_refused() {
        refused(
            r#"{"name": "a", "config": {"name": "b"}}"#,
            "Connector name configuration (`b`) doesn't match connector name in the request (`a`)",
        )
        .await;
        refused(
            r#"{"name": " a ", "config": {"name": " a "}}"#,
            "Connector name configuration (` a `) doesn't match connector name in the request (`a`)",
        )
        .await;
    }

    #[tokio::test]
    async fn a_connector_that_exists_is_409_and_asking_again_is_not_advised() {
        let client = Client::with_connector("a").await;
        let answer = client.send("POST /connectors", r#"{"name": "a", "config": {}}"#).await;
        assert_eq!((answer.status.as_u16(), answer.message().as_str()), (409, "Connector a already exists"));
        assert_eq!(answer.header("retry-after"), "");
    }

    #[test]
    fn names_are_trimmed_as_java_does() {
        assert_eq!(trim("\t a\u{a0} \u{1}"), "a\u{a0}");
        assert_eq!(trim("\u{3000}a"), "\u{3000}a");
    }
}
