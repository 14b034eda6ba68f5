//! What workers of a cluster ask each other (KIP-507, KIP-618). The form of the signature is checked here;
//! whether it is the right one is for the herder to say, as is what a worker on its own answers.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bulkhead_herder::api::{Proof, Request};
use bulkhead_model::RawConfig;
use utoipa::IntoParams;

use crate::app::App;
use crate::body::{Body, LargeBody};
use crate::document::{Asked, Conflict, Scalar, WithBody};
use crate::error::{Error, ErrorBody};
use crate::forward::{ALGORITHM, SIGNATURE};
use crate::path::Connector;
use crate::query::Forward;

/// What Java calls the algorithms that may sign.
const ALGORITHMS: [&str; 6] = ["HmacMD5", "HmacSHA1", "HmacSHA224", "HmacSHA256", "HmacSHA384", "HmacSHA512"];

/// Most tasks and settings of tasks in one request. Each is some hundred bytes of memory when it is read,
/// however short it is, and the signature is checked only after that.
const MAX_ITEMS: usize = 1_000_000;

/// The headers that sign a request.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "described here, read where signatures are taken from headers")]
struct Signature {
    /// Base64 of the signature of the body.
    #[param(rename = "x-connect-authorization")]
    signature: Option<String>,
    /// E.g. `HmacSHA256`.
    #[param(rename = "x-connect-request-signature-algorithm")]
    algorithm: Option<String>,
}

/// `POST /connectors/{connector}/tasks`
#[utoipa::path(
    post, path = "/connectors/{connector}/tasks", operation_id = "publishTasks",
    params(Connector, Forward, Signature),
    request_body(content = Vec<HashMap<String, Scalar>>, description = "The tasks' configurations."),
    responses(
    (status = 204, description = "The tasks are written."),
    (status = 403, description = "The signature is wrong.", body = ErrorBody),
    (status = 404, description = "There is no such connector, or the worker is none of a cluster.", body = ErrorBody),
    Conflict, Asked, WithBody,
    ),
)]
pub(super) async fn publish_tasks(
    State(app): State<App>,
    Connector(name): Connector,
    headers: HeaderMap,
    LargeBody(body): LargeBody,
) -> Result<StatusCode, Error> {
    let configs = tasks(&body)?;
    let proof = proof(&headers, body.into_vec())?;
    app.tell(Request::PublishTasks { name, configs, proof }).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// `PUT /connectors/{connector}/fence`: the signature is that of an empty body.
#[utoipa::path(
    put, path = "/connectors/{connector}/fence", operation_id = "fenceTasks",
    params(Connector, Forward, Signature),
    responses(
    (status = 204, description = "Earlier tasks can't write any more."),
    (status = 403, description = "The signature is wrong.", body = ErrorBody),
    (status = 404, description = "There is no such connector, or the worker is none of a cluster.", body = ErrorBody),
    Conflict, Asked,
    ),
)]
pub(super) async fn fence(
    State(app): State<App>,
    Connector(name): Connector,
    headers: HeaderMap,
) -> Result<StatusCode, Error> {
    let proof = proof(&headers, Vec::new())?;
    app.tell(Request::Fence { name, proof }).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn tasks(body: &Body) -> Result<Vec<RawConfig>, Error> {
    if body.items() > MAX_ITEMS {
        return Err(Error::bad_request(format!("the body has more than {MAX_ITEMS} tasks and settings of tasks")));
    }
    body.json()?.list()?.into_iter().map(|task| task.raw_config()).collect()
}

/// The headers, as far as they are there.
fn proof(headers: &HeaderMap, body: Vec<u8>) -> Result<Proof, Error> {
    let text = |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let (algorithm, mac) = (text(ALGORITHM), text(SIGNATURE));
    if let (Some(algorithm), Some(mac)) = (&algorithm, &mac) {
        check_form(algorithm, mac)?;
    }
    Ok(Proof { algorithm, mac, body })
}

fn check_form(algorithm: &str, mac: &str) -> Result<(), Error> {
    if !ALGORITHMS.iter().any(|known| algorithm.eq_ignore_ascii_case(known)) {
        return Err(Error::bad_request(format!("Algorithm {algorithm} not available")));
    }
    match BASE64_STANDARD.decode(mac) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::bad_request(format!("the signature is no Base64: {error}"))),
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_herder::api::Refusal;
    use bulkhead_model::ConnectorName;

    use super::*;
    use crate::body::{MAX_BODY, MAX_LARGE_BODY};
    use crate::testing::Client;

    const TASKS: &str = "POST /connectors/a/tasks";
    const FENCE: &str = "PUT /connectors/a/fence";
    const SIGNED: [(&str, &str); 2] = [(SIGNATURE, "AAAA"), (ALGORITHM, "HmacSHA256")];

    fn signed_proof(body: &str) -> Proof {
        Proof { algorithm: Some("HmacSHA256".to_owned()), mac: Some("AAAA".to_owned()), body: body.as_bytes().to_vec() }
    }

    #[tokio::test]
    async fn tasks_reach_the_herder_with_their_signature_and_the_bytes_that_it_signs() {
        let client = Client::with_connector("a").await;
        let body = " [{\"k\": 1.50}, {}]\n";
        let answer = client.send_with(TASKS, &SIGNED, body).await;
        assert_eq!((answer.status, answer.body.as_str()), (StatusCode::NO_CONTENT, ""));
        let configs = vec![RawConfig::from([("k", "1.50")]), RawConfig::new()];
        let name = ConnectorName::new("a");
        let expected = Request::PublishTasks { name, configs, proof: signed_proof(body) };
        assert_eq!(client.herder.requests(), [expected]);
    }

    #[tokio::test]
    async fn a_round_of_fencing_is_signed_without_a_body() {
        let client = Client::with_connector("a").await;
        assert_eq!(client.send_with(FENCE, &SIGNED, "ignored").await.status, StatusCode::NO_CONTENT);
        let expected = Request::Fence { name: ConnectorName::new("a"), proof: signed_proof("") };
        assert_eq!(client.herder.requests(), [expected]);
    }

    #[tokio::test]
    async fn what_is_missing_or_wrong_in_a_signature_is_for_the_herder_to_judge() {
        for (headers, algorithm, mac) in [
            (&SIGNED[..1], None, Some("AAAA".to_owned())),
            (&SIGNED[1..], Some("HmacSHA256".to_owned()), None),
            (&[(SIGNATURE, "!"), ("x", "y")], None, Some("!".to_owned())),
            (&[], None, None),
        ] {
            let client = Client::with_connector("a").await;
            client.send_with(FENCE, headers, "").await;
            let expected =
                Request::Fence { name: ConnectorName::new("a"), proof: Proof { algorithm, mac, body: Vec::new() } };
            assert_eq!(client.herder.requests(), [expected]);
        }
    }

    /// G44.
    #[tokio::test]
    async fn the_herders_verdict_chooses_the_status() {
        let text = str::to_owned;
        for (refusal, status) in [
            (Refusal::BadRequest(text("Internal request missing required signature")), 400),
            (Refusal::Forbidden(text("Internal request contained invalid signature.")), 403),
            (Refusal::Unavailable(text("This worker has no session key yet")), 503),
            (Refusal::NotFound(text("Unknown connector: a")), 404),
        ] {
            for line in [TASKS, FENCE] {
                let client = Client::new();
                client.herder.refuse(refusal.clone());
                let answer = client.send_with(line, &SIGNED, "[]").await;
                assert_eq!((answer.status.as_u16(), answer.message()), (status, refusal.to_string()));
            }
        }
    }

    /// G44: nothing of this gets to the herder.
    #[tokio::test]
    async fn what_has_not_the_form_of_a_signed_request_is_400() {
        let many = format!("[{}{{}}]", "{},".repeat(MAX_ITEMS));
        let foreign = [(SIGNATURE, "AAAA"), (ALGORITHM, "Foo")];
        for (line, headers, body, message) in [
            (TASKS, SIGNED, "{}", "the body is an object, but must be a list"),
            (TASKS, SIGNED, "[{}, []]", "item 1 of the body is a list, but must be an object"),
            (TASKS, SIGNED, r#"[{"k": null}]"#, "`k` in item 0 of the body is null, but must be a text"),
            (TASKS, SIGNED, many.as_str(), "the body has more than 1000000 tasks and settings of tasks"),
            (TASKS, foreign, "[]", "Algorithm Foo not available"),
            (FENCE, foreign, "", "Algorithm Foo not available"),
            (FENCE, [(SIGNATURE, "!!!"), SIGNED[1]], "", "the signature is no Base64: Invalid symbol 33, offset 0."),
        ] {
            let client = Client::with_connector("a").await;
            let answer = client.send_with(line, &headers, body).await;
            assert_eq!((answer.status.as_u16(), answer.message().as_str()), (400, message));
            assert_eq!(client.herder.requests(), []);
        }
    }

    #[tokio::test]
    async fn many_tasks_may_be_more_than_other_bodies() {
        let body = |length: usize| format!("[{{\"k\": \"{}\"}}]", "x".repeat(length));
        let client = Client::with_connector("a").await;
        assert_eq!(client.send_with(TASKS, &SIGNED, &body(MAX_BODY)).await.status, StatusCode::NO_CONTENT);
        let answer = client.send_with(TASKS, &SIGNED, &body(MAX_LARGE_BODY)).await;
        assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
        assert_eq!(answer.message(), "the body is larger than the 67108864 bytes that a request may have");
    }
}
