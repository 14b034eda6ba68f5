//! Where a registry is.

use std::fmt;

use bulkhead_model::config::Password;
use bulkhead_pipeline::ports::ClientError;
use http::Uri;
use percent_encoding::percent_decode_str;

/// A URL and, apart from it, the credentials that stood in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    /// Without a slash at its end.
    url: String,
    pub(crate) user_info: Option<Password>,
}

impl Base {
    pub(crate) fn parse(text: &Password) -> Result<Self, ClientError> {
        let text = text.0.trim().trim_end_matches('/');
        let Some((scheme, rest)) = text.split_once("://") else { return Err(no_url("a text without `://`")) };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let (user_info, host) = match authority.rsplit_once('@') {
            Some((user_info, host)) => (Some(user_info), host),
            None => (None, authority),
        };
        let url = format!("{}://{host}{path}", scheme.to_ascii_lowercase());
        let is_http = |uri: Uri| matches!(uri.scheme_str(), Some("http" | "https")) && uri.query().is_none();
        if !url.parse().is_ok_and(is_http) {
            return Err(no_url(&format!("`{url}`")));
        }
        let decoded = |text: &str| Password(percent_decode_str(text).decode_utf8_lossy().into_owned());
        Ok(Self { url, user_info: user_info.map(decoded) })
    }

    pub(crate) fn join(&self, path_and_query: &str) -> String {
        format!("{}{path_and_query}", self.url)
    }
}

fn no_url(what: &str) -> ClientError {
    ClientError(format!("schema.registry.url: {what} is no URL of a registry"))
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        match Base::parse(&Password(text.to_owned())) {
            Ok(base) => {
                let user_info = base.user_info.as_ref().map(|info| format!(" as {}", info.0)).unwrap_or_default();
                format!("{base}{user_info}")
            }
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn credentials_are_taken_out_of_a_url() {
        assert_eq!(check("http://r:8081"), "http://r:8081");
        assert_eq!(check(" HTTPS://r/apis/ccompat/v7/ "), "https://r/apis/ccompat/v7");
        assert_eq!(check("http://me:p%40ss@r:8081/"), "http://r:8081 as me:p@ss");
        assert_eq!(check("http://me:p@ss@[::1]:1"), "http://[::1]:1 as me:p@ss");
    }

    #[test]
    fn what_is_no_url_is_refused_without_its_credentials() {
        for (text, shown) in
            [("r:8081", "a text"), ("ftp://me:s3cret@r", "`ftp://r`"), ("http://s3cret@a b", "`http://a b`")]
        {
            let message = check(text);
            assert!(message.contains(shown) && message.ends_with("no URL of a registry"), "{message}");
            assert!(!message.contains("s3cret"), "{message}");
        }
    }
}
