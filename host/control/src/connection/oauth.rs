//! OAUTHBEARER (RFC 7628, KIP-255): a token from whoever provides them, or an unsecured one for trials.

use std::future::Future;
use std::pin::Pin;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bulkhead_model::security::UnsecuredToken;
use serde_json::{Map, Value, json};

/// A bearer token in its compact form. Not to be shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(pub String);

/// Fetches tokens. Asked once for each connection; whoever implements it keeps them as long as they are good.
pub trait TokenProvider: Send + Sync {
    /// The error is a sentence for the operator.
    fn token(&self) -> Pin<Box<dyn Future<Output = Result<Token, String>> + Send + '_>>;
}

/// A token that nobody has signed, as Java's login module makes it from its `unsecuredLogin…` options.
pub(super) fn unsecured(options: &UnsecuredToken) -> Result<String, String> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|error| error.to_string())?;
    Ok(unsecured_at(options, now.as_secs()))
}

fn unsecured_at(options: &UnsecuredToken, now: u64) -> String {
    let mut claims = Map::new();
    claims.insert(options.principal_claim.clone(), Value::String(options.principal.clone()));
    claims.insert("iat".to_owned(), json!(now));
    claims.insert("exp".to_owned(), json!(now.saturating_add(options.lifetime_seconds)));
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    format!("{}.{}.", part(&json!({"alg": "none"})), part(&Value::Object(claims)))
}

/// The one message of the mechanism.
pub(super) fn message(token: &str, options: Option<&UnsecuredToken>) -> Vec<u8> {
    let extensions = options.into_iter().flat_map(|options| &options.extensions);
    let extensions = extensions.map(|(name, value)| format!("{name}={value}\x01"));
    format!("n,,\x01auth=Bearer {token}\x01{}\x01", extensions.collect::<String>()).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unsecured_token_has_the_claims_and_no_signature() {
        let options = UnsecuredToken {
            principal_claim: "sub".to_owned(),
            principal: "me".to_owned(),
            lifetime_seconds: 60,
            extensions: [("x".to_owned(), "1".to_owned())].into(),
        };
        let token = unsecured_at(&options, 100);
        let parts: Vec<_> = token.split('.').collect();
        let read = |part: &str| String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
        assert_eq!(read(parts[0]), r#"{"alg":"none"}"#);
        assert_eq!(read(parts[1]), r#"{"sub":"me","iat":100,"exp":160}"#);
        assert_eq!(parts[2], "");
        assert_eq!(message("t", Some(&options)), b"n,,\x01auth=Bearer t\x01x=1\x01\x01");
        assert_eq!(message("t", None), b"n,,\x01auth=Bearer t\x01\x01");
    }
}
