//! The worker, by HTTP.

use std::thread::sleep;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde::de::DeserializeOwned;
use ureq::http::{Method, Request, Response, header};
use ureq::{Agent, Body};

use crate::answers::Complaint;
use crate::arguments::Options;
use crate::error::Error;

/// Workers answer within 90 seconds, if only with an error.
const ANSWER: Duration = Duration::from_secs(100);

const CONNECT: Duration = Duration::from_secs(10);

/// Largest answer: a listing of some ten thousand connectors with all of their configurations.
const MAX_ANSWER: u64 = 256 * 1024 * 1024;

/// How long to wait before asking again, if the worker doesn't say so.
const PAUSE: Duration = Duration::from_secs(1);

/// However short the time is that the worker says.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);

/// All that stays as it is in a segment of a path (RFC 3986, unreserved).
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A body and its media type.
type Sent<'a> = (&'static str, &'a [u8]);

pub struct Client {
    url: String,
    agent: Agent,
    authorization: Option<String>,
    wait: Duration,
}

/// A good answer.
pub struct Answer {
    request: String,
    text: String,
}

impl Client {
    pub fn new(options: &Options) -> Result<Self, Error> {
        let url = options.url.trim_end_matches('/').to_owned();
        if url.starts_with("https:") {
            return Err(Error::Usage(format!("{url}: https isn't supported yet")));
        }
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECT))
            .timeout_global(Some(ANSWER))
            .user_agent(concat!("bulkhead-ctl/", env!("CARGO_PKG_VERSION")))
            .accept("application/json");
        let authorization = options.user.as_ref().map(|user| format!("Basic {}", STANDARD.encode(&user.0)));
        Ok(Self { url, agent: config.build().into(), authorization, wait: options.wait })
    }

    /// For how long to wait for something.
    pub fn patience(&self) -> Duration {
        self.wait
    }

    pub fn get(&self, path: &str) -> Result<Answer, Error> {
        self.ask(Method::GET, path, None)
    }

    pub fn post(&self, path: &str) -> Result<Answer, Error> {
        self.ask(Method::POST, path, None)
    }

    pub fn put(&self, path: &str) -> Result<Answer, Error> {
        self.ask(Method::PUT, path, None)
    }

    pub fn delete(&self, path: &str) -> Result<Answer, Error> {
        self.ask(Method::DELETE, path, None)
    }

    /// A request with a body.
    pub fn send(&self, method: Method, path: &str, body: &impl Serialize) -> Result<Answer, Error> {
        let body = serde_json::to_string(body).expect("what is sent has texts as keys");
        self.ask(method, path, Some(("application/json", body.as_bytes())))
    }

    /// Hands in a component.
    pub fn put_component(&self, path: &str, component: &[u8]) -> Result<Answer, Error> {
        self.ask(Method::PUT, path, Some(("application/wasm", component)))
    }

    /// Asks again while something is in the way that will pass.
    fn ask(&self, method: Method, path: &str, body: Option<Sent<'_>>) -> Result<Answer, Error> {
        let request = format!("{method} {path}");
        let end = Instant::now() + self.wait;
        loop {
            let mut response = self.ask_once(&method, path, body)?;
            let status = response.status();
            let text = response.body_mut().with_config().limit(MAX_ANSWER).read_to_string();
            let text = text.map_err(|source| self.unreachable(source))?;
            if status.is_success() {
                return Ok(Answer { request, text });
            }
            let status = status.as_u16();
            let Some(message) = Complaint::read(&text) else {
                return Err(Error::NotConnect { request, status });
            };
            let left = end.saturating_duration_since(Instant::now());
            match pause(&response, status, &message) {
                Some(pause) if !left.is_zero() => sleep(pause.clamp(SHORTEST_PAUSE, left.max(SHORTEST_PAUSE))),
                Some(_) | None => return Err(Error::Refused { status, message }),
            }
        }
    }

    fn ask_once(&self, method: &Method, path: &str, body: Option<Sent<'_>>) -> Result<Response<Body>, Error> {
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        if let Some(authorization) = &self.authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        let body = match body {
            Some((media_type, body)) => {
                request = request.header(header::CONTENT_TYPE, media_type);
                Some(body)
            }
            // No body would be sent as one in chunks, of which there are none.
            None => matches!(*method, Method::PUT | Method::POST).then_some(&[][..]),
        };
        let answer = match body {
            Some(body) => request.body(body).map_err(ureq::Error::from).and_then(|request| self.agent.run(request)),
            None => request.body(()).map_err(ureq::Error::from).and_then(|request| self.agent.run(request)),
        };
        answer.map_err(|source| self.unreachable(source))
    }

    fn unreachable(&self, source: ureq::Error) -> Error {
        Error::Unreachable { url: self.url.clone(), source: Box::new(source) }
    }
}

impl Answer {
    /// As the worker has written it; empty, if it said nothing.
    pub fn text(&self) -> &str {
        self.text.trim()
    }

    pub fn read<T: DeserializeOwned>(&self) -> Result<T, Error> {
        let unexpected = |source| Error::Unexpected { request: self.request.clone(), source };
        serde_json::from_str(&self.text).map_err(unexpected)
    }
}

/// The path of a connector, and of what is below it.
pub fn connector(name: &str, below: &str) -> String {
    format!("/connectors/{}{below}", segment(name))
}

pub fn segment(text: &str) -> String {
    utf8_percent_encode(text, SEGMENT).to_string()
}

/// How long to wait before asking again; nothing, if that won't help. Our workers say it in `Retry-After`, Apache's only
/// by words that a rebalance is in the way.
fn pause(response: &Response<Body>, status: u16, message: &str) -> Option<Duration> {
    let in_words = matches!(status, 409 | 500)
        && (message.starts_with("Cannot complete request") || message.contains("because a rebalance is expected"));
    match response.headers().get(header::RETRY_AFTER) {
        Some(after) if matches!(status, 409 | 503) => {
            let seconds = after.to_str().ok().and_then(|text| text.parse().ok());
            Some(seconds.map_or(PAUSE, Duration::from_secs))
        }
        Some(_) | None => in_words.then_some(PAUSE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Reply, Worker};

    #[test]
    fn names_are_one_segment_of_a_path() {
        assert_eq!(connector("a/b %;ä~.", "/status"), "/connectors/a%2Fb%20%25%3B%C3%A4~./status");
    }

    #[test]
    fn what_will_pass_is_asked_again_and_the_rest_is_not() {
        let busy = r#"{"error_code": 409, "message": "a rebalance"}"#;
        let worker = Worker::start([
            Reply::new(409, busy).with("Retry-After", "0"),
            Reply::new(503, busy).with("Retry-After", "0"),
            Reply::new(200, "[]"),
            Reply::new(409, busy),
        ]);
        assert_eq!(worker.run("pause a"), "a: pausing\n");
        assert_eq!(worker.run("pause a"), "error: a rebalance (HTTP 409)\n1");
        assert_eq!(worker.requests(), ["PUT /connectors/a/pause"; 4]);
    }

    #[test]
    fn patience_ends() {
        let busy = Reply::new(409, r#"{"message": "a rebalance"}"#).with("Retry-After", "0");
        let worker = Worker::start([busy]);
        assert_eq!(worker.run("pause a --wait 0"), "error: a rebalance (HTTP 409)\n1");
        assert_eq!(worker.requests().len(), 1);
    }

    #[test]
    fn apaches_workers_say_by_words_that_asking_again_helps() {
        let stale = "Cannot complete request momentarily due to stale configuration";
        for (status, message, helps) in [
            (409, stale, true),
            (500, "Request cannot be completed because a rebalance is expected", true),
            (409, "Connector a already exists", false),
            (404, stale, false),
        ] {
            let response = Response::builder().body(Body::builder().data("")).unwrap();
            assert_eq!(pause(&response, status, message), helps.then_some(PAUSE), "{status} {message}");
        }
    }

    #[test]
    fn whatever_is_no_connect_worker_is_told_as_such() {
        let worker = Worker::start([Reply::new(404, "<html>nginx</html>"), Reply::new(200, "<html>hello</html>")]);
        assert_eq!(
            worker.run("topics a"),
            "error: GET /connectors/a/topics was answered with HTTP 404, but not as a Connect worker answers\n1"
        );
        let answer = worker.run("topics a");
        assert!(answer.starts_with("error: the answer to GET /connectors/a/topics isn't what a Connect"), "{answer}");
    }

    #[test]
    fn whoever_does_not_listen_is_named() {
        let worker = Worker::start([]);
        let answer = worker.run("list --url http://127.0.0.1:1");
        assert!(answer.starts_with("error: the worker at http://127.0.0.1:1 can't be asked: "), "{answer}");
        assert_eq!(worker.run("list --url https://w"), "error: https://w: https isn't supported yet\n2");
    }

    #[test]
    fn a_request_without_a_body_is_sent_whole() {
        let worker = Worker::start([Reply::new(202, ""), Reply::new(204, "")]);
        worker.run("pause a");
        worker.run("delete a");
        let heads = worker.heads();
        assert!(heads.len() == 2 && heads[1].starts_with("DELETE "), "{heads:?}");
        assert!(heads[0].starts_with("PUT ") && heads[0].to_lowercase().contains("content-length: 0\r\n"), "{heads:?}");
        assert!(heads.iter().all(|head| !head.to_lowercase().contains("transfer-encoding")), "{heads:?}");
    }

    #[test]
    fn name_and_password_go_along() {
        let worker = Worker::start([Reply::new(200, "{}")]);
        worker.run("topics a --user me:x");
        assert!(worker.heads()[0].to_lowercase().contains("authorization: basic bwu6ea=="));
    }
}
