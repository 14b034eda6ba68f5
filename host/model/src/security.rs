//! How clients prove who they are and whom they trust, whichever client it is: read once, from Java's names.

mod jaas;
mod read;

use std::collections::BTreeMap;
use std::path::PathBuf;

use crate::config::{Password, RawConfig};

/// `security.*`, `ssl.*` and `sasl.*` of one client, found to be right as far as it can be seen without its files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClientSecurity {
    pub protocol: SecurityProtocol,
    /// What is configured for TLS; in use only if the protocol says so.
    pub tls: Tls,
    /// What is configured for SASL; in use only if the protocol says so.
    pub sasl: Option<Sasl>,
}

/// `security.protocol`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SecurityProtocol {
    #[default]
    Plaintext,
    Ssl,
    SaslPlaintext,
    SaslSsl,
}

/// What TLS needs to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Certificates of the authorities; without them the system's are trusted.
    pub trust: Option<Pem>,
    pub identity: Option<Identity>,
    /// Whether the broker's certificate has to name its host.
    pub verify_hostname: bool,
    /// Names as OpenSSL has them; those of TLS 1.3 are the same everywhere.
    pub cipher_suites: Option<Vec<String>>,
}

/// Something in PEM form, and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pem {
    File(PathBuf),
    Text(Password),
}

/// The client's own key and certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    Pem { key: Pem, chain: Pem, password: Option<Password> },
    Pkcs12 { location: PathBuf, password: Option<Password> },
}

/// A way to log in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sasl {
    Plain {
        username: String,
        password: Password,
    },
    Scram {
        hash: ScramHash,
        username: String,
        password: Password,
    },
    /// With the token that the login module makes, or without one: then the tokens come from elsewhere.
    OAuthBearer(Option<UnsecuredToken>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScramHash {
    Sha256,
    Sha512,
}

/// What Java's `OAuthBearerLoginModule` puts into a token that nobody has signed, as far as librdkafka can do it too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsecuredToken {
    pub principal_claim: String,
    pub principal: String,
    pub lifetime_seconds: u64,
    /// Sent beside the token (KIP-342).
    pub extensions: BTreeMap<String, String>,
}

/// A property that can't be used, without its value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("configuration `{key}`: {problem}")]
pub struct WrongProperty {
    pub key: String,
    pub problem: String,
}

impl ClientSecurity {
    /// Reads the properties of one client, without prefixes. Keys that aren't about security are left alone, and so
    /// are those of [`Self::KEYS`] that don't matter for what is chosen. Where librdkafka has names of its own for the
    /// same thing, they are read too.
    pub fn read(properties: &RawConfig) -> Result<Self, WrongProperty> {
        read::read(properties)
    }

    /// What [`Self::read`] looks at.
    pub const KEYS: &'static [&'static str] = read::KEYS;

    /// The part that is in use.
    pub fn tls(&self) -> Option<&Tls> {
        match self.protocol {
            SecurityProtocol::Ssl | SecurityProtocol::SaslSsl => Some(&self.tls),
            SecurityProtocol::Plaintext | SecurityProtocol::SaslPlaintext => None,
        }
    }

    /// The part that is in use.
    pub fn sasl(&self) -> Option<&Sasl> {
        match self.protocol {
            SecurityProtocol::SaslPlaintext | SecurityProtocol::SaslSsl => self.sasl.as_ref(),
            SecurityProtocol::Plaintext | SecurityProtocol::Ssl => None,
        }
    }
}

impl SecurityProtocol {
    pub fn name(self) -> &'static str {
        match self {
            Self::Plaintext => "PLAINTEXT",
            Self::Ssl => "SSL",
            Self::SaslPlaintext => "SASL_PLAINTEXT",
            Self::SaslSsl => "SASL_SSL",
        }
    }
}

impl Sasl {
    /// As the broker calls it.
    pub fn mechanism(&self) -> &'static str {
        match self {
            Self::Plain { .. } => "PLAIN",
            Self::Scram { hash: ScramHash::Sha256, .. } => "SCRAM-SHA-256",
            Self::Scram { hash: ScramHash::Sha512, .. } => "SCRAM-SHA-512",
            Self::OAuthBearer(_) => "OAUTHBEARER",
        }
    }
}

impl Default for Tls {
    fn default() -> Self {
        Self { trust: None, identity: None, verify_hostname: true, cipher_suites: None }
    }
}
