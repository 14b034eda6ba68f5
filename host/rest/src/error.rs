//! Why a request got no good answer, and the answer that says so.

use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use bulkhead_herder::api::Refusal;
use serde::Serialize;

use crate::forward::{ClientError, Elsewhere};
use crate::json::Json;

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
    #[error("the body must be declared as `Content-Type: application/json`, not as `{found}`")]
    UnsupportedMediaType { found: String },
    #[error("the body is declared as nothing: send `Content-Type: application/json`")]
    MissingMediaType,
    #[error("the body is larger than the {limit} bytes that a request may have")]
    BodyTooLarge { limit: usize },
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
            Self::UnsupportedMediaType { .. } | Self::MissingMediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::BodyTooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTooSlow { .. } => StatusCode::REQUEST_TIMEOUT,
            Self::TooManyHops | Self::NoTarget | Self::Unanswered(ClientError::Unreachable { .. }) => {
                StatusCode::CONFLICT
            }
            Self::Unanswered(_) | Self::TimedOut { .. } | Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// The body of every error.
#[derive(Serialize)]
struct ErrorBody {
    error_code: u16,
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
        if let Self::Refused(Refusal::Elsewhere { to }) = self {
            response.extensions_mut().insert(Elsewhere { to });
        }
        response
    }
}
