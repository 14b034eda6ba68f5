//! What workers of a cluster ask each other (KIP-507, KIP-618). A worker on its own checks the form of
//! such a request and then says that it has no use for it.

use axum::http::HeaderMap;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::body::{AnyBody, Body};
use crate::error::Error;

/// Base64 of the signature of the body.
const SIGNATURE: &str = "x-connect-authorization";
/// The algorithm of the signature, e.g. `HmacSHA256`.
const ALGORITHM: &str = "x-connect-request-signature-algorithm";
/// What Java calls the algorithms that may sign.
const ALGORITHMS: [&str; 6] = ["HmacMD5", "HmacSHA1", "HmacSHA224", "HmacSHA256", "HmacSHA384", "HmacSHA512"];

/// `POST /connectors/{connector}/tasks`
pub(super) async fn put_tasks(headers: HeaderMap, AnyBody(body): AnyBody) -> Error {
    check_tasks(&body).and_then(|()| check_signature(&headers)).err().unwrap_or_else(unsupported)
}

/// `PUT /connectors/{connector}/fence`
pub(super) async fn fence(headers: HeaderMap) -> Error {
    check_signature(&headers).err().unwrap_or_else(unsupported)
}

fn check_tasks(body: &Body) -> Result<(), Error> {
    body.json()?.list()?.into_iter().try_for_each(|task| task.config().map(drop))
}

fn check_signature(headers: &HeaderMap) -> Result<(), Error> {
    let (Some(signature), Some(algorithm)) = (headers.get(SIGNATURE), headers.get(ALGORITHM)) else {
        return Ok(());
    };
    if !ALGORITHMS.iter().any(|known| algorithm.as_bytes().eq_ignore_ascii_case(known.as_bytes())) {
        return Err(Error::bad_request(format!("the signature algorithm {algorithm:?} is unknown")));
    }
    match BASE64_STANDARD.decode(signature) {
        Ok(_) => Ok(()),
        Err(error) => Err(Error::bad_request(format!("the signature is no Base64: {error}"))),
    }
}

fn unsupported() -> Error {
    Error::Internal("a standalone worker doesn't take requests of other workers".to_owned())
}

#[cfg(test)]
mod tests {
    use crate::testing::Client;

    async fn check(line: &str, headers: &[(&str, &str)], body: &str, status: u16) {
        let answer = Client::new().send_with(line, headers, body).await;
        assert_eq!(answer.status, status, "{line} {headers:?} {body}");
        answer.message();
    }

    #[tokio::test]
    async fn requests_of_other_workers_are_checked_and_then_not_supported() {
        let tasks = "POST /connectors/a/tasks";
        let signed = [(super::SIGNATURE, "AAAA"), (super::ALGORITHM, "HmacSHA256")];
        check(tasks, &[], "[]", 500).await;
        check(tasks, &signed, "[{\"a\": \"b\"}]", 500).await;
        check("PUT /connectors/a/fence", &[], "", 500).await;
        check(tasks, &[], "{bad", 400).await;
        check(tasks, &[], "{}", 400).await;
        check(tasks, &[(super::SIGNATURE, "!!!"), (super::ALGORITHM, "HmacSHA256")], "[]", 400).await;
        check(tasks, &[(super::SIGNATURE, "AAAA"), (super::ALGORITHM, "nonsense")], "[]", 400).await;
    }
}
