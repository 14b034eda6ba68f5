//! Logging in (RFC 4422, framed as in KIP-43 and KIP-152).

use std::time::Duration;

use bulkhead_model::security::{Sasl, UnsecuredToken};
use bytes::Bytes;
use kafka_protocol::ResponseError;
use kafka_protocol::messages::{SaslAuthenticateRequest, SaslHandshakeRequest};
use kafka_protocol::protocol::StrBytes;
use tokio::time::Instant;

use super::scram::Scram;
use super::{Connection, TokenProvider, oauth};
use crate::Error;

/// How much of a session is used before the next connection is made.
const SHARE_OF_SESSION: f64 = 0.85;

pub(super) async fn log_in(
    connection: &mut Connection,
    sasl: &Sasl,
    tokens: Option<&dyn TokenProvider>,
    limit: Duration,
) -> Result<(), Error> {
    let mut login = Login { mechanism: sasl.mechanism(), connection, limit };
    // A token that can't be had is no reason to bother the broker.
    let token = match sasl {
        Sasl::OAuthBearer(options) => {
            Some(token(options.as_ref(), tokens).await.map_err(|problem| login.failed(problem))?)
        }
        Sasl::Plain { .. } | Sasl::Scram { .. } => None,
    };
    login.choose_mechanism().await?;
    match sasl {
        Sasl::Plain { username, password } => {
            let message = format!("\0{username}\0{}", password.0);
            login.send(message.into_bytes()).await?;
        }
        Sasl::Scram { hash, username, password } => {
            let nonce = Scram::nonce().map_err(|problem| login.failed(problem))?;
            let mut scram = Scram::new(*hash, username, &password.0, nonce);
            let challenge = login.send(scram.first()).await?;
            let proof = scram.answer(&challenge).map_err(|problem| login.failed(problem))?;
            let signature = login.send(proof).await?;
            scram.verify(&signature).map_err(|problem| login.failed(problem))?;
        }
        Sasl::OAuthBearer(options) => {
            let message = oauth::message(&token.unwrap_or_default(), options.as_ref());
            let answer = login.send(message).await?;
            if !answer.is_empty() {
                // RFC 7628: an error in the answer is confirmed before the broker says no.
                login.send(vec![1]).await?;
                return Err(login.failed(String::from_utf8_lossy(&answer)));
            }
        }
    }
    Ok(())
}

async fn token(options: Option<&UnsecuredToken>, tokens: Option<&dyn TokenProvider>) -> Result<String, String> {
    match (tokens, options) {
        (Some(provider), _) => provider.token().await.map(|token| token.0),
        (None, Some(options)) => oauth::unsecured(options),
        (None, None) => Err("there is no source of tokens; `unsecuredLoginStringClaim_sub` would make them".to_owned()),
    }
}

struct Login<'a> {
    connection: &'a mut Connection,
    mechanism: &'static str,
    limit: Duration,
}

impl Login<'_> {
    async fn choose_mechanism(&mut self) -> Result<(), Error> {
        let request = SaslHandshakeRequest::default().with_mechanism(StrBytes::from_static_str(self.mechanism));
        let answer = self.connection.call(&request, self.limit).await?;
        match ResponseError::try_from_code(answer.error_code) {
            None => Ok(()),
            Some(code) => {
                let offered: Vec<_> = answer.mechanisms.iter().map(|name| name.as_str()).collect();
                Err(self.failed(format!("{code}; the broker offers {}", offered.join(", "))))
            }
        }
    }

    /// One message of the mechanism; the answer is the broker's.
    async fn send(&mut self, message: Vec<u8>) -> Result<Bytes, Error> {
        let request = SaslAuthenticateRequest::default().with_auth_bytes(message.into());
        let answer = self.connection.call(&request, self.limit).await?;
        if let Some(code) = ResponseError::try_from_code(answer.error_code) {
            let message = answer.error_message.as_ref().map_or_else(|| code.to_string(), |text| text.to_string());
            return Err(self.failed(message));
        }
        if let Ok(lifetime @ 1..) = u64::try_from(answer.session_lifetime_ms) {
            self.connection.ends = Some(Instant::now() + Duration::from_millis(lifetime).mul_f64(SHARE_OF_SESSION));
        }
        Ok(answer.auth_bytes)
    }

    fn failed(&self, problem: impl std::fmt::Display) -> Error {
        let address = self.connection.address.clone();
        Error::Authentication { address, mechanism: self.mechanism, problem: problem.to_string() }
    }
}
