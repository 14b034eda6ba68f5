//! Why a request got no good answer, and the answer that says so.

use axum::http::{HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use bulkhead_herder::api::Refusal;
use serde::Serialize;
use utoipa::ToSchema;

use crate::forward::{ClientError, Elsewhere};
use crate::json::Json;
use crate::ports::UploadError;

/// How many seconds a client should wait for what will pass: a rebalance, mostly, which takes about as long.
const RETRY_AFTER: HeaderValue = HeaderValue::from_static("1");

/// Each variant has one status, chosen in [`Error::status`].
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// What the herder says.
    #[error(transparent)]
    Refused(#[from] Refusal),
    #[error("{0}")]
    BadRequest(String),
    #[error("{0}")]
    Forbidden(String),
    #[error("{0}")]
    NotFound(String),
    #[error("there is no resource at `{0}`")]
    UnknownPath(String),
    #[error("the path is longer than {limit} bytes")]
    PathTooLong { limit: usize },
    #[error("`{path}` doesn't take {method}, only {allowed}")]
    MethodNotAllowed { method: Method, path: String, allowed: String },
    #[error("answers are `application/json`, which the header `Accept: {accept}` leaves out")]
    NotAcceptable { accept: String },
    #[error("the body must be declared as `Content-Type: {wanted}`, not as `{found}`")]
    UnsupportedMediaType { found: String, wanted: &'static str },
    #[error("the body is declared as nothing: send `Content-Type: {wanted}`")]
    MissingMediaType { wanted: &'static str },
    #[error("the body is larger than the {limit} bytes that a request may have")]
    BodyTooLarge { limit: u64 },
    #[error("the body did not arrive completely within {seconds} seconds")]
    BodyTooSlow { seconds: u64 },
    /// It came from another worker, which believes that it is for this one.
    #[error("Cannot complete request because of a conflicting operation (e.g. worker rebalance)")]
    TooManyHops,
    #[error("Cannot complete request momentarily due to no known leader URL, likely because a rebalance was underway.")]
    NoTarget,
    /// The worker that it is for gave no answer.
    #[error(transparent)]
    Unanswered(#[from] ClientError),
    /// It answered in a form that isn't for clients.
    #[error("{worker}, to which the request was forwarded, answered {status}: {complaint}")]
    Foreign { status: StatusCode, worker: String, complaint: String },
    /// A plugin was not taken.
    #[error(transparent)]
    Upload(#[from] UploadError),
    #[error("Request timed out. {stage}")]
    TimedOut { stage: String },
    #[error("{0}")]
    Internal(String),
}

impl Error {
    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::BadRequest(message.into())
    }

    /// A reply that doesn't fit the request: the herder and this crate disagree. The reply isn't shown, as it
    /// may hold configurations.
    pub(crate) fn unexpected() -> Self {
        Self::Internal("the herder gave an answer that doesn't fit the request".to_owned())
    }

    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Self::Refused(refusal) => {
                StatusCode::from_u16(refusal.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
            }
            Self::BadRequest(_) => StatusCode::BAD_REQUEST,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NotFound(_) | Self::UnknownPath(_) => StatusCode::NOT_FOUND,
            Self::PathTooLong { .. } => StatusCode::URI_TOO_LONG,
            Self::MethodNotAllowed { .. } => StatusCode::METHOD_NOT_ALLOWED,
            Self::NotAcceptable { .. } => StatusCode::NOT_ACCEPTABLE,
            Self::UnsupportedMediaType { .. } | Self::MissingMediaType { .. } => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::TooManyHops | Self::NoTarget | Self::Unanswered(ClientError::Unreachable { .. }) => {
                StatusCode::CONFLICT
            }
            Self::Foreign { status, .. } => *status,
            Self::Upload(error) => match error {
                UploadError::Unusable(_) => StatusCode::BAD_REQUEST,
                UploadError::Conflict(_) | UploadError::Busy(_) => StatusCode::CONFLICT,
                UploadError::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
            },
            Self::Unanswered(_) | Self::TimedOut { .. } | Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// Whether the same request may be answered well a little later.
    fn will_pass(&self) -> bool {
        match self {
            Self::Refused(refusal) => match refusal {
                Refusal::Conflict(_) | Refusal::Unavailable(_) | Refusal::Elsewhere { .. } => true,
                Refusal::NotFound(_)
                | Refusal::Exists(_)
                | Refusal::BadRequest(_)
                | Refusal::Failed(_)
                | Refusal::Forbidden(_) => false,
            },
            Self::TooManyHops | Self::NoTarget | Self::Unanswered(ClientError::Unreachable { .. }) => true,
            Self::Upload(error) => matches!(error, UploadError::Busy(_)),
            Self::BadRequest(_)
            | Self::Forbidden(_)
            | Self::NotFound(_)
            | Self::UnknownPath(_)
            | Self::PathTooLong { .. }
            | Self::MethodNotAllowed { .. }
            | Self::NotAcceptable { .. }
            | Self::UnsupportedMediaType { .. }
            | Self::MissingMediaType { .. }
            | Self::BodyTooLarge { .. }
            | Self::BodyTooSlow { .. }
            | Self::Unanswered(_)
            | Self::Foreign { .. }
            | Self::TimedOut { .. }
            | Self::Internal(_) => false,
        }
    }
}

/// The body of every error.
#[derive(Serialize, ToSchema)]
#[schema(as = Error)]
pub(crate) struct ErrorBody {
    /// The status.
    error_code: u16,
    /// Null only in answers of Apache's workers that were forwarded.
    #[schema(value_type = Option<String>, required)]
    message: String,
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let status = self.status();
        let message = self.to_string();
        if status.is_server_error() {
            tracing::error!(status = status.as_u16(), reason = ?message, "A request failed.");
        }
        let mut response = (status, Json(ErrorBody { error_code: status.as_u16(), message })).into_response();
        if self.will_pass() {
            response.headers_mut().insert(header::RETRY_AFTER, RETRY_AFTER);
        }
        if let Self::Refused(Refusal::Elsewhere { to }) = self {
            response.extensions_mut().insert(Elsewhere { to });
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Client;

    #[tokio::test]
    async fn what_will_pass_says_when_to_ask_again() {
        let text = str::to_owned;
        for (refusal, status, retry_after) in [
            (Refusal::Conflict(text("a rebalance")), 409, "1"),
            (Refusal::Elsewhere { to: None }, 409, "1"),
            (Refusal::Unavailable(text("no session key yet")), 503, "1"),
            (Refusal::Exists(text("there already")), 409, ""),
            (Refusal::Failed(text("a log failed")), 500, ""),
        ] {
            let client = Client::new();
            client.herder.refuse(refusal);
            let answer = client.send("DELETE /connectors/a", "").await;
            assert_eq!((answer.status.as_u16(), answer.header("retry-after")), (status, retry_after));
        }
    }
}
