//! Requests to other workers.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use bulkhead_herder::api::{ForwardError, Signature};
use bulkhead_model::{ConnectorName, with_causes};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::Deserialize;
use tokio::time::timeout;

use super::{ALGORITHM, SIGNATURE};
use crate::path;

/// A worker that is there accepts at once; this is for hosts that are gone.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// Shorter than other servers keep a connection without requests, so that none is used while it is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
/// Largest answer that is taken. It holds at most a connector's configuration, whose texts grow when they
/// are escaped.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// What is kept of an answer that is no error body.
const MAX_QUOTE: usize = 200;

/// Sends requests to other workers, over connections that it keeps and that its clones share.
///
/// It follows no redirects: only the worker that was named may get what the request holds.
#[derive(Clone, Debug)]
pub struct Client(legacy::Client<HttpConnector, Body>);

/// Why there is no answer of another worker.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientError {
    #[error("`{url}` is no URL that a request can be sent to")]
    BadUrl { url: String },
    #[error("`{url}` asks for TLS, which is not supported yet")]
    Tls { url: String },
    /// Nothing was asked. The worker has just gone, most likely: the group will have another leader soon.
    #[error(
        "Cannot complete request because of a conflicting operation (e.g. worker rebalance): {url} can't be \
         reached: {reason}"
    )]
    Unreachable { url: Uri, reason: String },
    #[error("IO Error trying to forward REST request: no answer of {url}: {reason}")]
    Io { url: Uri, reason: String },
}

/// What another worker said.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) content_type: Option<HeaderValue>,
    pub(crate) location: Option<HeaderValue>,
    pub(crate) retry_after: Option<HeaderValue>,
    pub(crate) body: Bytes,
}

impl Default for Client {
    fn default() -> Self {
        let mut connector = HttpConnector::new();
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        connector.set_nodelay(true);
        let mut client = legacy::Client::builder(TokioExecutor::new());
        client.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT);
        Self(client.build(connector))
    }
}

impl Client {
    /// Gives the leader the task configurations of a connector: `POST /connectors/{connector}/tasks`.
    ///
    /// `body` is what `signature` signs, a JSON list of task configurations; `leader` is a URL. Whoever
    /// isn't the leader any more passes the request on, with its signature.
    pub async fn publish_tasks(
        &self,
        leader: &str,
        connector: &ConnectorName,
        body: impl Into<Bytes>,
        signature: Option<&Signature>,
        limit: Duration,
    ) -> Result<(), ForwardError> {
        let failed = |status: Option<StatusCode>, message| {
            Err(ForwardError { status: status.map(|status| status.as_u16()), message })
        };
        let (url, headers) = match (tasks_url(leader, connector), signature_headers(signature)) {
            (Ok(url), Some(headers)) => (url, headers),
            (Err(error), _) => return failed(None, error.to_string()),
            (Ok(_), None) => return failed(None, "the signature is no text for a header".to_owned()),
        };
        match timeout(limit, self.send(Method::POST, url.clone(), headers, body.into())).await {
            Ok(Ok(answer)) if answer.status.is_success() => Ok(()),
            Ok(Ok(answer)) => failed(Some(answer.status), answer.complaint()),
            Ok(Err(error)) => failed(None, error.to_string()),
            Err(_) => failed(None, format!("no answer of {url} within {limit:?}")),
        }
    }

    /// Sends a request with these headers and the ones that every request has.
    pub(crate) async fn send(
        &self,
        method: Method,
        url: Uri,
        mut headers: HeaderMap,
        body: Bytes,
    ) -> Result<Answer, ClientError> {
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::ACCEPT, json.clone());
        headers.insert(header::CONTENT_TYPE, json);
        headers.insert(header::USER_AGENT, HeaderValue::from_static("kafka-connect"));
        let mut request = Request::new(Body::from(body));
        *request.method_mut() = method;
        *request.uri_mut() = url.clone();
        *request.headers_mut() = headers;
        let answer = self.0.request(request).await.map_err(|error| match error.is_connect() {
            true => ClientError::Unreachable { url: url.clone(), reason: with_causes(&error) },
            false => io(&url, &error),
        })?;
        let (head, body) = answer.into_parts();
        let body = to_bytes(Body::new(body), MAX_ANSWER).await.map_err(|error| io(&url, &error))?;
        Answer::new(Response::from_parts(head, body)).ok_or_else(|| ClientError::Io {
            url,
            reason: "it answered with a status that announces another".to_owned(),
        })
    }
}

impl Answer {
    /// None for a status that is no answer.
    fn new(answer: Response<Bytes>) -> Option<Self> {
        let (mut head, body) = answer.into_parts();
        (!head.status.is_informational()).then(|| Self {
            status: head.status,
            content_type: head.headers.remove(header::CONTENT_TYPE),
            location: head.headers.remove(header::LOCATION),
            retry_after: head.headers.remove(header::RETRY_AFTER),
            body,
        })
    }

    /// Whether it is an error, and not in the form of Connect's: those of its web server are HTML.
    pub(super) fn is_foreign_error(&self) -> bool {
        #[derive(Deserialize)]
        struct ErrorBody {
            #[serde(rename = "error_code")]
            _code: u16,
        }
        (self.status.is_client_error() || self.status.is_server_error())
            && serde_json::from_slice::<ErrorBody>(&self.body).is_err()
    }

    /// The message of an error body, or the beginning of whatever else there is.
    pub(super) fn complaint(&self) -> String {
        #[derive(Deserialize)]
        struct Complaint {
            message: String,
        }
        match serde_json::from_slice(&self.body) {
            Ok(Complaint { message }) => message,
            Err(_) => String::from_utf8_lossy(&self.body[..self.body.len().min(MAX_QUOTE)]).into_owned(),
        }
    }
}

/// The URL of a resource of another worker, whose own URL may end in a slash.
pub(super) fn url(worker: &str, path_and_query: &str) -> Result<Uri, ClientError> {
    let bad = || ClientError::BadUrl { url: worker.to_owned() };
    let url: Uri = format!("{}{path_and_query}", worker.trim_end_matches('/')).parse().map_err(|_| bad())?;
    match url.scheme_str() {
        Some("http") => Ok(url),
        Some("https") => Err(ClientError::Tls { url: worker.to_owned() }),
        Some(_) | None => Err(bad()),
    }
}

fn tasks_url(leader: &str, connector: &ConnectorName) -> Result<Uri, ClientError> {
    url(leader, &format!("/connectors/{}/tasks", path::encode(connector.as_str())))
}

fn signature_headers(signature: Option<&Signature>) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    if let Some(Signature { algorithm, mac }) = signature {
        headers.insert(ALGORITHM, HeaderValue::from_str(algorithm).ok()?);
        headers.insert(SIGNATURE, HeaderValue::from_str(mac).ok()?);
    }
    Some(headers)
}

fn io(url: &Uri, error: &(dyn std::error::Error + 'static)) -> ClientError {
    ClientError::Io { url: url.clone(), reason: with_causes(error) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(worker: &str, expected: &str) {
        let found = url(worker, "/connectors?forward=true");
        assert_eq!(found.map_or_else(|error| error.to_string(), |url| url.to_string()), expected);
    }

    #[test]
    fn the_url_of_a_worker_may_end_in_a_slash() {
        check("http://h:1/", "http://h:1/connectors?forward=true");
        check("http://h:1", "http://h:1/connectors?forward=true");
        check("HTTP://[::1]:1/", "http://[::1]:1/connectors?forward=true");
    }

    #[test]
    fn a_url_that_cannot_be_asked_is_named() {
        check("https://h:1/", "`https://h:1/` asks for TLS, which is not supported yet");
        for worker in ["", "/", "h:1", "ftp://h:1", "http://", "http://a b:1/", "http://h:1\r\nX: y/"] {
            check(worker, &format!("`{worker}` is no URL that a request can be sent to"));
        }
    }
}
