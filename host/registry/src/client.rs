//! One request: the registry's URLs in turn, time-outs, and tries again.

use std::fmt::Write;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bulkhead_model::config::Password;
use bulkhead_model::with_causes;
use bulkhead_pipeline::ports::{ClientError, RegistryError, RegistryLogin, RegistrySettings};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper_openssl::client::legacy::HttpsConnector;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::time::{sleep, timeout};

use crate::tls;
use crate::url::Base;

/// Largest answer that is taken.
const MAX_ANSWER: usize = 16 << 20;
/// Of what a registry says about an error, so many characters are passed on.
const MAX_MESSAGE: usize = 2_000;
/// Shorter than registries keep a connection without requests, so that none is used while it is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(15);
const CONTENT_TYPE: &str = "application/vnd.schemaregistry.v1+json";

pub(crate) struct Client {
    http: legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    bases: Vec<(Base, HeaderMap)>,
    /// The one that has answered last.
    current: AtomicUsize,
    settings: RegistrySettings,
}

/// A request, and what it is about.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) body: Bytes,
    /// For messages, e.g. ``subject `orders-value` ``.
    pub(crate) about: String,
}

impl Client {
    pub(crate) fn new(settings: RegistrySettings) -> Result<Self, ClientError> {
        let bases = settings.urls.iter().map(|url| {
            let base = Base::parse(url)?;
            let headers = headers(&base, &settings)?;
            Ok((base, headers))
        });
        let bases = bases.collect::<Result<Vec<_>, ClientError>>()?;
        if bases.is_empty() {
            return Err(ClientError("schema.registry.url names no registry".to_owned()));
        }
        let mut http = HttpConnector::new();
        http.set_connect_timeout(Some(settings.connect_timeout).filter(|limit| !limit.is_zero()));
        http.set_nodelay(true);
        let mut builder = legacy::Client::builder(TokioExecutor::new());
        builder.pool_timer(TokioTimer::new()).pool_idle_timeout(IDLE_TIMEOUT);
        let http = builder.build(tls::connector(http, &settings.tls)?);
        Ok(Self { http, bases, current: AtomicUsize::new(0), settings })
    }

    /// The answer to a question, after as many tries as are allowed.
    pub(crate) async fn ask<T: DeserializeOwned>(&self, question: &Question) -> Result<T, RegistryError> {
        let mut tries = 0;
        loop {
            let error = match self.ask_each(question).await {
                Err(error @ RegistryError::Retriable(_)) => error,
                settled => return settled,
            };
            if tries == self.settings.retries {
                return Err(error);
            }
            sleep(self.wait(tries)).await;
            tries += 1;
        }
    }

    /// Half to all of a time that doubles, so that those who failed together don't come back together.
    fn wait(&self, tries: u32) -> Duration {
        let wait = self.settings.retry_wait.saturating_mul(1 << tries.min(20)).min(self.settings.retry_max_wait);
        let half = u64::try_from(wait.as_millis() / 2).unwrap_or(u64::MAX);
        Duration::from_millis(half + RandomState::new().hash_one(0_u8) % (half + 1))
    }

    /// Asks at each URL until one answers, beginning with the one that did so last.
    async fn ask_each<T: DeserializeOwned>(&self, question: &Question) -> Result<T, RegistryError> {
        let first = self.current.load(Ordering::Relaxed);
        let mut outcome = Err(RegistryError::Refused("there is no schema registry to ask".to_owned()));
        for place in (0..self.bases.len()).map(|offset| (first + offset) % self.bases.len()) {
            outcome = self.ask_one(place, question).await;
            if !matches!(outcome, Err(RegistryError::Retriable(_))) {
                self.current.store(place, Ordering::Relaxed);
                return outcome;
            }
        }
        outcome
    }

    async fn ask_one<T: DeserializeOwned>(&self, place: usize, question: &Question) -> Result<T, RegistryError> {
        let (base, headers) = &self.bases[place];
        let about = format!("schema registry {base}, {}", question.about);
        let failed = |reason: &str| RegistryError::Retriable(format!("{about}: {reason}"));
        let mut request = Request::new(Full::new(question.body.clone()));
        *request.method_mut() = question.method.clone();
        *request.uri_mut() =
            base.join(&question.path).parse().map_err(|_| RegistryError::Refused(format!("{about}: no URL")))?;
        *request.headers_mut() = headers.clone();
        let answer = async {
            let answer = self.http.request(request).await.map_err(|error| failed(&with_causes(&error)))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), MAX_ANSWER).collect().await;
            Ok((status, body.map_err(|error| failed(&with_causes(&*error)))?.to_bytes()))
        };
        let limit = self.settings.connect_timeout.saturating_add(self.settings.read_timeout);
        let limit = if self.settings.read_timeout.is_zero() { Duration::MAX } else { limit };
        let (status, body) = match timeout(limit, answer).await {
            Ok(answer) => answer?,
            Err(_) => return Err(failed(&format!("no answer within {limit:?}"))),
        };
        if !status.is_success() {
            return Err(refused(&about, status, &body));
        }
        serde_json::from_slice(&body)
            .map_err(|error| RegistryError::Refused(format!("{about}: the answer can't be read: {error}")))
    }
}

/// What every request to one URL has.
fn headers(base: &Base, settings: &RegistrySettings) -> Result<HeaderMap, ClientError> {
    let mut headers = HeaderMap::new();
    headers
        .insert(header::ACCEPT, HeaderValue::from_static("application/vnd.schemaregistry.v1+json, application/json"));
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
    for (name, value) in &settings.headers {
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| ClientError(format!("configuration `request.header.{name}`: that is no name of a header")))?;
        headers.insert(name.clone(), secret(&format!("request.header.{name}"), &value.0)?);
    }
    let basic =
        |user_info: &Password| secret("basic.auth.user.info", &format!("Basic {}", STANDARD.encode(&user_info.0)));
    let login = match &settings.login {
        RegistryLogin::Url => base.user_info.as_ref().map(basic).transpose()?,
        RegistryLogin::Basic(user_info) => Some(basic(user_info)?),
        RegistryLogin::Bearer(token) => Some(secret("bearer.auth.token", &format!("Bearer {}", token.0))?),
    };
    if let Some(login) = login {
        headers.insert(header::AUTHORIZATION, login);
    }
    Ok(headers)
}

fn secret(key: &str, value: &str) -> Result<HeaderValue, ClientError> {
    let mut value = HeaderValue::try_from(value)
        .map_err(|_| ClientError(format!("configuration `{key}`: it can't be sent as a header")))?;
    value.set_sensitive(true);
    Ok(value)
}

/// What an answer that isn't the wanted one means.
fn refused(about: &str, status: StatusCode, body: &[u8]) -> RegistryError {
    #[derive(Deserialize)]
    struct Complaint {
        error_code: i64,
        #[serde(default)]
        message: String,
    }
    let mut text = format!("{about}: ");
    match serde_json::from_slice(body) {
        Ok(Complaint { error_code, message }) => {
            text.extend(message.chars().take(MAX_MESSAGE));
            let _ = write!(text, " (status {}, error code {error_code})", status.as_u16());
        }
        Err(_) => {
            let _ = write!(text, "status {status}");
        }
    }
    match status.as_u16() {
        404 => RegistryError::NotFound(text),
        408 | 429 | 500..=599 => RegistryError::Retriable(text),
        _ => RegistryError::Refused(text),
    }
}
