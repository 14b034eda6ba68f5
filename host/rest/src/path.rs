//! Paths: cleaning them before they are routed, taking parameters out, and writing them.

use axum::extract::{FromRequestParts, RawPathParams, Request};
use axum::http::Uri;
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bulkhead_model::{ConnectorName, TaskId};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use utoipa::IntoParams;

use crate::error::Error;

/// Longest path that is looked at. A name in it has at most a third of that in bytes.
const MAX_PATH: usize = 8 * 1024;

/// What stays as it is in the path of a `Location`, as in Java's URI builder. A slash, a semicolon and a
/// percent sign don't: they would lead to another resource than the one created.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'!')
    .remove(b'$')
    .remove(b'&')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')')
    .remove(b'*')
    .remove(b'+')
    .remove(b',')
    .remove(b'=')
    .remove(b':')
    .remove(b'@');

/// A name as one segment of a path.
pub(crate) fn encode(name: &str) -> String {
    match is_step(name) {
        true => name.replace('.', "%2E"),
        false => utf8_percent_encode(name, SEGMENT).to_string(),
    }
}

/// Whether clients take this for a step within a path (RFC 3986, section 5.2.4), many of them even if it is encoded.
pub(crate) fn is_step(name: &str) -> bool {
    matches!(name, "." | "..")
}

/// Puts the path in the form that routes are written in, or refuses it.
pub(crate) async fn clean(mut request: Request, next: Next) -> Response {
    match cleaned(request.uri()) {
        Ok(uri) => {
            *request.uri_mut() = uri;
            next.run(request).await
        }
        Err(error) => error.into_response(),
    }
}

fn cleaned(uri: &Uri) -> Result<Uri, Error> {
    if uri.path_and_query().is_none() {
        return Err(Error::bad_request("the request names no path"));
    }
    let mut path = clean_path(uri.path())?;
    if let Some(query) = uri.query() {
        path.push('?');
        path.push_str(query);
    }
    let path = PathAndQuery::try_from(path).map_err(|error| Error::bad_request(error.to_string()))?;
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).map_err(|error| Error::bad_request(error.to_string()))
}

/// Drops one slash at the end and the parameters of segments (`s1;x=y`); dots mean nothing special.
fn clean_path(path: &str) -> Result<String, Error> {
    if path.len() > MAX_PATH {
        return Err(Error::PathTooLong { limit: MAX_PATH });
    }
    let path = path.strip_prefix('/').unwrap_or(path);
    if path.is_empty() {
        return Ok("/".to_owned());
    }
    let path = path.strip_suffix('/').unwrap_or(path);
    path.split('/').try_fold(String::new(), |clean, segment| Ok(clean + "/" + clean_segment(segment)?))
}

fn clean_segment(segment: &str) -> Result<&str, Error> {
    let segment = segment.split(';').next().unwrap_or_default();
    if segment.is_empty() {
        return Err(Error::bad_request("the path has an empty segment (`//`)"));
    }
    if !escapes_are_complete(segment) {
        return Err(Error::bad_request(format!(
            "`{segment}` in the path has a `%` without two hexadecimal digits; a percent sign itself is written `%25`"
        )));
    }
    if percent_decode_str(segment).decode_utf8().is_err() {
        return Err(Error::bad_request(format!("`{segment}` in the path is no percent-encoded UTF-8")));
    }
    Ok(segment)
}

fn escapes_are_complete(segment: &str) -> bool {
    segment.split('%').skip(1).all(|after| {
        let mut digits = after.bytes().take(2);
        matches!((digits.next(), digits.next()), (Some(a), Some(b)) if a.is_ascii_hexdigit() && b.is_ascii_hexdigit())
    })
}

/// `{connector}`.
#[derive(IntoParams)]
#[into_params(names("connector"), parameter_in = Path)]
pub(crate) struct Connector(#[param(value_type = String, example = "orders")] pub(crate) ConnectorName);

/// `{connector}` and `{task}`. A negative number is understood, though no task has it.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
pub(crate) struct Task {
    #[param(value_type = String, example = "orders")]
    pub(crate) connector: ConnectorName,
    #[param(rename = "task", example = 0)]
    pub(crate) number: i32,
}

/// `{plugin}`: a class or a short name of one.
#[derive(IntoParams)]
#[into_params(names("plugin"), parameter_in = Path)]
pub(crate) struct Plugin(#[param(example = "FileStreamSource")] pub(crate) String);

/// `{logger}`.
#[derive(IntoParams)]
#[into_params(names("logger"), parameter_in = Path)]
pub(crate) struct Logger(#[param(example = "root")] pub(crate) String);

impl Task {
    /// The task's id, unless no task can have it.
    pub(crate) fn id(&self) -> Option<TaskId> {
        u32::try_from(self.number).ok().map(|number| self.connector.task(number))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Connector {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        parameter(parts, "connector").await.map(|name| Self(ConnectorName::new(name)))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Task {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let Connector(connector) = Connector::from_request_parts(parts, state).await?;
        let number = parameter(parts, "task").await?;
        let number = number.parse().map_err(|_| Error::UnknownPath(parts.uri.path().to_owned()))?;
        Ok(Self { connector, number })
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Plugin {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        parameter(parts, "plugin").await.map(Self)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Logger {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        parameter(parts, "logger").await.map(Self)
    }
}

/// A decoded segment of the path, by its name in the route.
async fn parameter(parts: &mut Parts, name: &str) -> Result<String, Error> {
    let found = RawPathParams::from_request_parts(parts, &())
        .await
        .ok()
        .and_then(|parameters| parameters.iter().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned()));
    found.ok_or_else(|| Error::UnknownPath(parts.uri.path().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_loses_one_final_slash_and_the_parameters_of_its_segments() {
        for (path, expected) in [
            ("/", "/"),
            ("/connectors/", "/connectors"),
            ("/connectors/s1;x=y/status", "/connectors/s1/status"),
            ("/connectors/..", "/connectors/.."),
            ("/connectors/a%2Fb%25", "/connectors/a%2Fb%25"),
            ("/connectors/a%3Bb", "/connectors/a%3Bb"),
        ] {
            assert_eq!(clean_path(path).unwrap(), expected);
        }
    }

    #[test]
    fn empty_segments_and_bad_encodings_are_refused() {
        for path in ["//", "/connectors//status", "/connectors/;x", "/a%zz", "/a%", "/a%f", "/a%ff", "/a%+1"] {
            assert!(clean_path(path).is_err(), "{path}");
        }
        assert!(clean_path(&"/a".repeat(MAX_PATH)).is_err());
    }

    #[test]
    fn a_name_is_encoded_so_that_it_leads_back_to_itself() {
        for (name, expected) in [
            ("a b", "a%20b"),
            ("a?b#c", "a%3Fb%23c"),
            ("a:b&c=d@e+f", "a:b&c=d@e+f"),
            ("q\"uote\\", "q%22uote%5C"),
            ("a/b;c%d", "a%2Fb%3Bc%25d"),
            ("ü{x}", "%C3%BC%7Bx%7D"),
            ("..", "%2E%2E"),
            ("...", "..."),
        ] {
            assert_eq!(encode(name), expected);
        }
    }
}
