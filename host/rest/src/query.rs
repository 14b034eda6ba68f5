//! Query parameters, by Connect's rules.

use std::convert::Infallible;

use axum::extract::{FromRequestParts, Query};
use axum::http::Uri;
use axum::http::request::Parts;
use utoipa::IntoParams;

/// The query of a request. Unknown parameters are ignored, and none is ever malformed.
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    pub(crate) fn of(uri: &Uri) -> Self {
        Self(Query::try_from_uri(uri).map(|Query(pairs)| pairs).unwrap_or_default())
    }

    /// The first value of a parameter.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a parameter that may be repeated.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether a flag is set: `true` in any case. Anything else is false, as is its absence.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name).is_some_and(is_true)
    }
}

/// What a request may have that another worker may have to carry out.
#[derive(IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described here, read where requests are forwarded")]
pub(crate) struct Forward {
    /// Between workers: whether the request may be forwarded once more. Clients leave it out.
    forward: Option<bool>,
}

/// How Java reads a boolean.
pub(crate) fn is_true(text: &str) -> bool {
    text.eq_ignore_ascii_case("true")
}

impl<S: Sync> FromRequestParts<S> for Parameters {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.uri))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn parse(uri: &str) -> Parameters {
        let (mut parts, ()) = axum::http::Request::builder().uri(uri).body(()).unwrap().into_parts();
        let Ok(parameters) = Parameters::from_request_parts(&mut parts, &()).await;
        parameters
    }

    #[tokio::test]
    async fn a_flag_is_true_only_by_that_word_in_any_case() {
        for (uri, expected) in [
            ("/?f=true", true),
            ("/?f=TRUE&f=false", true),
            ("/?f=1", false),
            ("/?f=", false),
            ("/?f", false),
            ("/?F=true", false),
            ("/", false),
        ] {
            assert_eq!(parse(uri).await.flag("f"), expected, "{uri}");
        }
    }

    #[tokio::test]
    async fn malformed_encodings_do_no_harm() {
        let parameters = parse("/?expand=%zz&expand=%ff&&=&expand=a%20b+c").await;
        assert_eq!(parameters.all("expand").last(), Some("a b c"));
    }
}
