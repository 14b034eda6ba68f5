//! What can go wrong between this worker and a broker.

use std::io;
use std::time::Duration;

use kafka_protocol::ResponseError;

/// Why a call failed. The cause of a cause stays in `source`; [`Error::explain`] tells all in one line.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("configuration `{key}`: {problem}")]
    Settings { key: &'static str, problem: String },
    #[error("{address} can't be reached")]
    Unreachable { address: String, source: io::Error },
    #[error("TLS with {address} failed ({problem})")]
    Tls { address: String, problem: String },
    #[error("{address} refused the login by {mechanism} ({problem})")]
    Authentication { address: String, mechanism: &'static str, problem: String },
    #[error("the connection to {address} is lost")]
    Lost { address: String, source: io::Error },
    #[error("{address} didn't answer {what} within {limit:?}")]
    TimedOut { address: String, what: &'static str, limit: Duration },
    #[error("{address} doesn't offer a version of {what} that is known here (it has {offered}, known are {known})")]
    Unsupported { address: String, what: &'static str, offered: String, known: String },
    #[error("{address} sent what can't be read ({problem})")]
    Malformed { address: String, problem: String },
    #[error("{what} was refused ({code}{})", message.as_ref().map(|text| format!(": {text}")).unwrap_or_default())]
    Refused { what: String, code: ResponseError, message: Option<String> },
}

impl Error {
    pub(crate) fn refused(what: impl Into<String>, code: ResponseError, message: Option<String>) -> Self {
        Self::Refused { what: what.into(), code, message }
    }

    /// The message and those of its causes, in one line.
    pub fn explain(&self) -> String {
        bulkhead_model::with_causes(self)
    }

    /// Whether asking again can't help: the broker, or TLS, or a setting said no.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Settings { .. } | Self::Tls { .. } | Self::Authentication { .. } | Self::Unsupported { .. } => true,
            Self::Unreachable { .. } | Self::Lost { .. } | Self::TimedOut { .. } | Self::Malformed { .. } => false,
            Self::Refused { code, .. } => !code.is_retriable(),
        }
    }
}
