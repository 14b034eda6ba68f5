//! From an address to a connection that is ready for requests.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bulkhead_model::security::ClientSecurity;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::tls::Connector;
use super::{ClientSettings, Connection, Stream, sasl, versions};
use crate::Error;

/// How long one address may take to answer at all; Java's `socket.connection.setup.timeout.ms`.
const SETUP: Duration = Duration::from_secs(10);

/// A broker, as it calls itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Address {
    pub(crate) host: String,
    pub(crate) port: u16,
}

/// Opens connections.
pub(crate) struct Dialer {
    settings: ClientSettings,
    bootstrap: Vec<Address>,
    tls: Option<Connector>,
    /// Which bootstrap address is tried first next time.
    next: AtomicUsize,
}

impl Dialer {
    /// Reads the addresses and the files that TLS needs.
    pub(crate) fn new(settings: ClientSettings) -> Result<Arc<Self>, Error> {
        let bootstrap: Vec<_> = settings.bootstrap.iter().map(|text| Address::parse(text)).collect::<Result<_, _>>()?;
        if bootstrap.is_empty() {
            return Err(Error::Settings { key: "bootstrap.servers", problem: "it names no broker".to_owned() });
        }
        let tls = settings.security.tls().map(Connector::new).transpose()?;
        Ok(Arc::new(Self { settings, bootstrap, tls, next: AtomicUsize::new(0) }))
    }

    pub(crate) fn request_timeout(&self) -> Duration {
        self.settings.request_timeout
    }

    /// To the first broker of the list that answers; the list is begun one further each time.
    pub(crate) async fn bootstrap(&self) -> Result<Connection, Error> {
        let start = self.next.fetch_add(1, Ordering::Relaxed);
        let mut last = None;
        for step in 0..self.bootstrap.len() {
            match self.dial(&self.bootstrap[(start.wrapping_add(step)) % self.bootstrap.len()]).await {
                Ok(connection) => return Ok(connection),
                // A refusal says more than an address that doesn't answer.
                Err(error) if error.is_refusal() => return Err(error),
                Err(error) => last = Some(error),
            }
        }
        Err(last.expect("the list has an address, see `new`"))
    }

    pub(crate) async fn dial(&self, address: &Address) -> Result<Connection, Error> {
        let limit = self.settings.request_timeout.min(SETUP);
        let what = "the opening of a connection";
        let address_text = address.to_string();
        match timeout(limit, self.open(address)).await {
            Ok(connection) => connection,
            Err(_) => Err(Error::TimedOut { address: address_text, what, limit }),
        }
    }

    async fn open(&self, address: &Address) -> Result<Connection, Error> {
        let unreachable = |source: io::Error| Error::Unreachable { address: address.to_string(), source };
        // Every IP address of the name is tried in turn.
        let tcp = TcpStream::connect((address.host.as_str(), address.port)).await.map_err(unreachable)?;
        tcp.set_nodelay(true).map_err(unreachable)?;
        let stream: Box<dyn Stream> = match &self.tls {
            Some(tls) => Box::new(tls.handshake(address, tcp).await?),
            None => Box::new(tcp),
        };
        let mut connection = Connection::new(stream, address.to_string(), &self.settings.client_id);
        versions::negotiate(&mut connection, self.settings.request_timeout).await?;
        if let Some(login) = self.security().sasl() {
            sasl::log_in(&mut connection, login, self.settings.tokens.as_deref(), self.request_timeout()).await?;
        }
        Ok(connection)
    }

    fn security(&self) -> &ClientSecurity {
        &self.settings.security
    }
}

impl Address {
    /// `host:port`, `[v6]:port`, or Kafka's own `PROTOCOL://host:port`.
    fn parse(text: &str) -> Result<Self, Error> {
        let wrong = || Error::Settings { key: "bootstrap.servers", problem: format!("`{text}` is no `host:port`") };
        let bare = text.trim().rsplit("://").next().unwrap_or_default();
        let (host, port) = bare.rsplit_once(':').ok_or_else(wrong)?;
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let port = port.parse().map_err(|_| wrong())?;
        if host.is_empty() {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), port })
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            return write!(f, "[{}]:{}", self.host, self.port);
        }
        write!(f, "{}:{}", self.host, self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_java_reads_them() {
        let shown =
            |text: &str| Address::parse(text).map_or_else(|error| error.to_string(), |address| address.to_string());
        assert_eq!(shown(" kafka-1.example:9092"), "kafka-1.example:9092");
        assert_eq!(shown("SSL://10.0.0.1:9093"), "10.0.0.1:9093");
        assert_eq!(shown("[::1]:9092"), "[::1]:9092");
        for wrong in ["kafka", "kafka:", ":9092", "kafka:99999"] {
            assert_eq!(shown(wrong), format!("configuration `bootstrap.servers`: `{wrong}` is no `host:port`"));
        }
    }
}
