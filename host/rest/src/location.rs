//! Addresses in answers: those of connectors, as the client can reach them.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Uri, header};
use bulkhead_model::ConnectorName;

use crate::path;

/// The host and port by which the client reached us. None if the client (HTTP/1.0) named no host; addresses
/// then have none either.
#[derive(Clone, Debug)]
pub(crate) struct Host(Option<String>);

impl Host {
    pub(crate) fn of(headers: &HeaderMap, uri: &Uri) -> Self {
        let header = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let host = header.or_else(|| uri.authority().map(|authority| authority.as_str()));
        Self(host.map(str::to_owned))
    }

    /// The `Location` of a new connector.
    pub(crate) fn location(&self, name: &ConnectorName) -> HeaderMap {
        let location = self.absolute(&format!("/connectors/{}", path::encode(name.as_str())));
        HeaderMap::from_iter(location.map(|value| (header::LOCATION, value)))
    }

    /// An address that another worker gave, as one of ours.
    pub(crate) fn rebase(&self, location: HeaderValue) -> HeaderValue {
        let uri = Uri::try_from(location.as_bytes()).ok();
        let path = uri.as_ref().and_then(Uri::path_and_query).map(|path| path.as_str());
        path.and_then(|path| self.absolute(path)).unwrap_or(location)
    }

    fn absolute(&self, path: &str) -> Option<HeaderValue> {
        let authority = self.0.as_ref().map(|host| format!("http://{host}")).unwrap_or_default();
        HeaderValue::try_from(format!("{authority}{path}")).ok()
    }
}

impl<S: Sync> FromRequestParts<S> for Host {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self::of(&parts.headers, &parts.uri))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_other_workers_become_ours() {
        let uri = Uri::from_static("/");
        let host = |name| Host::of(&HeaderMap::from_iter([(header::HOST, HeaderValue::from_static(name))]), &uri);
        for (location, expected) in [
            ("http://leader:1/connectors/a%20b", "http://here:8083/connectors/a%20b"),
            ("/connectors/a", "http://here:8083/connectors/a"),
            ("not a location", "not a location"),
        ] {
            assert_eq!(host("here:8083").rebase(HeaderValue::from_static(location)), expected);
        }
        let nameless = Host::of(&HeaderMap::new(), &uri);
        assert_eq!(nameless.rebase(HeaderValue::from_static("http://l:1/connectors/a")), "/connectors/a");
    }
}
