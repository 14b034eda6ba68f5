//! Requests that are another worker's to carry out: this one passes them on and relays the answer.
//!
//! The herder names the worker in [`Refusal::Elsewhere`](bulkhead_herder::api::Refusal::Elsewhere).
//! `forward` in the query counts the hops, so that workers which point at each other don't do so for ever.

mod aftermath;
mod client;
mod hop;
#[cfg(test)]
mod tests;

use std::sync::{Arc, OnceLock};

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::time::{Instant, timeout_at};

use crate::app::App;
use crate::error::Error;
use crate::location::Host;
use crate::query::Parameters;
use aftermath::Aftermath;
use client::Answer;
use hop::Hop;

pub use client::Client;
pub(crate) use client::ClientError;

/// Base64 of the signature of the body (KIP-507).
pub(crate) const SIGNATURE: &str = "x-connect-authorization";
/// The algorithm of the signature, e.g. `HmacSHA256`.
pub(crate) const ALGORITHM: &str = "x-connect-request-signature-algorithm";

/// What goes along. The signature does so unlike in Connect, whose forwarded internal requests are refused.
const COPIED: [&str; 3] = ["authorization", SIGNATURE, ALGORITHM];

/// Says, in the extensions of a response, which worker the request should go to.
#[derive(Clone)]
pub(crate) struct Elsewhere {
    pub(crate) to: Option<String>,
}

/// The body of a request, left here by whoever read it.
#[derive(Clone, Default)]
pub(crate) struct ReadBody(pub(crate) Arc<OnceLock<Bytes>>);

/// Passes a request on if the answer to it is [`Elsewhere`].
pub(crate) async fn forward(State(app): State<App>, mut request: Request, next: Next) -> Response {
    let original = Original::of(&mut request);
    let mut response = next.run(request).await;
    match response.extensions_mut().remove::<Elsewhere>() {
        Some(Elsewhere { to }) => original.pass_on(&app, to).await.unwrap_or_else(IntoResponse::into_response),
        None => response,
    }
}

/// A request as far as it is needed to send it once more.
struct Original {
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    host: Host,
    hop: Hop,
    body: ReadBody,
    arrived: Instant,
}

impl Original {
    fn of(request: &mut Request) -> Self {
        let body = ReadBody::default();
        request.extensions_mut().insert(body.clone());
        let header = |name: &'static str| Some((HeaderName::from_static(name), request.headers().get(name)?.clone()));
        Self {
            method: request.method().clone(),
            uri: request.uri().clone(),
            headers: COPIED.into_iter().filter_map(header).collect(),
            host: Host::of(request.headers(), request.uri()),
            hop: Hop::of(&Parameters::of(request.uri())),
            body,
            arrived: Instant::now(),
        }
    }

    async fn pass_on(self, app: &App, to: Option<String>) -> Result<Response, Error> {
        let Some(next) = self.hop.next() else {
            let (method, path) = (&self.method, self.uri.path());
            tracing::warn!(%method, ?path, ?to, "No worker within two hops carries this request out.");
            return Err(Error::TooManyHops);
        };
        let worker = to.ok_or(Error::NoTarget)?;
        let url = client::url(&worker, &next.path_and_query(&self.uri))?;
        tracing::debug!(method = %self.method, %url, "Request forwarded.");
        let body = self.body.0.get().cloned().unwrap_or_default();
        let answer = app.client().send(self.method.clone(), url, self.headers, body);
        let Ok(answer) = timeout_at(self.arrived + app.request_timeout(), answer).await else {
            return Err(Error::TimedOut {
                stage: format!("The worker is currently waiting for {worker}, to which it forwarded the request."),
            });
        };
        let answer = answer?;
        if answer.is_foreign_error() {
            return Err(Error::Foreign { status: answer.status, worker, complaint: answer.complaint() });
        }
        if let Some(aftermath) = Aftermath::of(&self.method, &self.uri, &answer) {
            aftermath.shown(|| app.view()).await;
        }
        Ok(relayed(answer, &self.host))
    }
}

/// The answer as the other worker gave it. The address of a new connector is built from the host that the
/// client asked, which may be unable to reach the other worker.
fn relayed(answer: Answer, host: &Host) -> Response {
    let mut response = answer.body.into_response();
    *response.status_mut() = answer.status;
    let headers = response.headers_mut();
    headers.remove(header::CONTENT_TYPE);
    headers.extend(answer.content_type.map(|kind| (header::CONTENT_TYPE, kind)));
    let location = match answer.status {
        StatusCode::CREATED => answer.location.map(|location| host.rebase(location)),
        _ => answer.location,
    };
    headers.extend(location.map(|location| (header::LOCATION, location)));
    headers.extend(answer.retry_after.map(|seconds| (header::RETRY_AFTER, seconds)));
    response
}
