//! Media types: what the client takes, and what it says it sends.

use axum::extract::Request;
use axum::http::{HeaderMap, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::error::Error;

pub(crate) const JSON: &str = "application/json";
pub(crate) const WASM: &str = "application/wasm";

/// Refuses a client that doesn't take JSON.
pub(crate) async fn answers_json(request: Request, next: Next) -> Response {
    match accept(request.headers()) {
        Some(accept) if !allows_json(&accept) => Error::NotAcceptable { accept }.into_response(),
        _ => next.run(request).await,
    }
}

/// Refuses a request that declares any other body than JSON, even where no body is read.
pub(crate) async fn takes_json(request: Request, next: Next) -> Response {
    match request.headers().get(header::CONTENT_TYPE) {
        Some(found) if !is(JSON, found.as_bytes()) => {
            let found = String::from_utf8_lossy(found.as_bytes()).into_owned();
            Error::UnsupportedMediaType { found, wanted: JSON }.into_response()
        }
        _ => next.run(request).await,
    }
}

/// All `Accept` headers as one, if there are any.
fn accept(headers: &HeaderMap) -> Option<String> {
    let values: Vec<_> =
        headers.get_all(header::ACCEPT).iter().map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
    (!values.is_empty()).then(|| values.join(", "))
}

/// The most specific range that covers JSON decides; its weight must not be zero.
fn allows_json(accept: &str) -> bool {
    accept
        .split(',')
        .filter_map(|range| Some((specificity(range)?, weight(range))))
        .max_by_key(|(specificity, _)| *specificity)
        .is_some_and(|(_, weight)| weight > 0.0)
}

/// How closely a media range describes `application/json`; none if it doesn't.
fn specificity(range: &str) -> Option<u8> {
    match essence(range).to_ascii_lowercase().as_str() {
        // Java's own HTTP client sends a lone star.
        "*/*" | "*" => Some(0),
        "application/*" => Some(1),
        "application/json" => Some(2),
        _ => None,
    }
}

fn weight(range: &str) -> f32 {
    let parameters = range.split(';').skip(1).filter_map(|parameter| parameter.split_once('='));
    parameters
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
        .find_map(|(_, value)| value.trim().parse().ok())
        .unwrap_or(1.0)
}

/// Refuses a body that isn't declared as a component.
pub(crate) fn check_wasm(headers: &HeaderMap) -> Result<(), Error> {
    match headers.get(header::CONTENT_TYPE) {
        Some(found) if is(WASM, found.as_bytes()) => Ok(()),
        Some(found) => {
            let found = String::from_utf8_lossy(found.as_bytes()).into_owned();
            Err(Error::UnsupportedMediaType { found, wanted: WASM })
        }
        None => Err(Error::MissingMediaType { wanted: WASM }),
    }
}

fn is(media_type: &str, content_type: &[u8]) -> bool {
    std::str::from_utf8(content_type).is_ok_and(|text| essence(text).eq_ignore_ascii_case(media_type))
}

/// A media type without its parameters.
fn essence(media_type: &str) -> &str {
    media_type.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_allowed_by_its_name_and_by_wider_ranges() {
        for accept in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/*;q=0.5, text/html",
            "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2",
        ] {
            assert!(allows_json(accept), "{accept}");
        }
    }

    #[test]
    fn json_is_left_out_by_other_types_and_by_weight_zero() {
        for accept in ["text/html", "application/xml, text/plain", "*/*, application/json;q=0", ""] {
            assert!(!allows_json(accept), "{accept}");
        }
    }

    #[test]
    fn a_body_is_json_in_any_case_and_with_any_parameters() {
        assert!(is(JSON, b"APPLICATION/json ; charset=latin1"));
        assert!(!is(JSON, b"application/vnd.test+json"));
        assert!(!is(JSON, b"\xff"));
    }
}
