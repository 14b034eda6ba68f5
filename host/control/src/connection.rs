//! One connection to one broker: a request, then its answer.
//!
//! Start at [`Dialer::bootstrap`] and [`Connection::call`]. A call that was dropped half-way leaves the connection
//! unusable; whoever drops a call drops the connection with it.

mod dial;
mod frame;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
mod oauth;
mod sasl;
mod scram;
mod shape;
#[cfg(test)]
mod tests;
mod tls;
mod versions;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::security::ClientSecurity;
use bytes::Bytes;
use kafka_protocol::protocol::{Request, StrBytes};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{Instant, timeout};

use crate::Error;

pub(crate) use dial::{Address, Dialer};
pub use oauth::{Token, TokenProvider};
use versions::Versions;

/// How to reach a cluster, by whatever client of this crate.
#[derive(Clone)]
pub struct ClientSettings {
    /// `host:port` of some brokers (`bootstrap.servers`).
    pub bootstrap: Vec<String>,
    pub client_id: String,
    pub request_timeout: Duration,
    pub security: ClientSecurity,
    /// Where tokens for OAUTHBEARER come from; without one the login module's own, unsecured, are taken.
    pub tokens: Option<Arc<dyn TokenProvider>>,
}

/// What bytes go over: TCP, or TLS on it.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// An open connection whose versions are settled and which is logged in.
pub(crate) struct Connection {
    stream: Box<dyn Stream>,
    address: String,
    client_id: StrBytes,
    correlation: i32,
    versions: Versions,
    /// When the broker ends the SASL session.
    ends: Option<Instant>,
}

impl Connection {
    fn new(stream: Box<dyn Stream>, address: String, client_id: &str) -> Self {
        let client_id = StrBytes::from_string(client_id.to_owned());
        Self { stream, address, client_id, correlation: 0, versions: Versions::default(), ends: None }
    }

    /// The newest version of a request that both sides know.
    pub(crate) fn version<R: Request>(&self) -> Result<i16, Error> {
        self.versions.choose::<R>(&self.address)
    }

    /// Whether the broker is about to close the connection because its login has grown old.
    pub(crate) fn is_expired(&self) -> bool {
        self.ends.is_some_and(|ends| Instant::now() >= ends)
    }

    /// Sends a request that was made for [`Connection::version`] and waits for its answer.
    pub(crate) async fn call<R: Request>(&mut self, request: &R, limit: Duration) -> Result<R::Response, Error> {
        let version = self.version::<R>()?;
        let mut answer = self.exchange(request, version, limit).await?;
        frame::decode::<R>(&mut answer, version).map_err(|problem| self.malformed(problem))
    }

    /// The body of the answer, its header taken off.
    async fn exchange<R: Request>(&mut self, request: &R, version: i16, limit: Duration) -> Result<Bytes, Error> {
        self.correlation = self.correlation.wrapping_add(1);
        let frame = frame::encode(request, version, self.correlation, &self.client_id)
            .map_err(|problem| self.malformed(problem))?;
        let answer = match timeout(limit, frame::exchange(&mut self.stream, &frame)).await {
            Ok(answer) => answer.map_err(|error| tls::lost(&self.address, error))?,
            Err(_) => {
                let what = versions::name(R::KEY);
                return Err(Error::TimedOut { address: self.address.clone(), what, limit });
            }
        };
        frame::body::<R>(answer, version, self.correlation).map_err(|problem| self.malformed(problem))
    }

    fn malformed(&self, problem: impl fmt::Display) -> Error {
        Error::Malformed { address: self.address.clone(), problem: problem.to_string() }
    }
}

impl fmt::Debug for Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Connection({})", self.address)
    }
}

impl fmt::Debug for ClientSettings {
    /// Without what is secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ClientSettings({} as {})", self.bootstrap.join(","), self.client_id)
    }
}
