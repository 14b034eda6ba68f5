//! Why a call failed, and what the worker should do about it.

use std::error::Error as StdError;
use std::fmt;
use std::io;

use crate::bindings::base::bulkhead::connect::types as wit;

/// What the SDK's and an author's functions answer.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failed call. The constructors say what the worker will do: [`retriable`](Error::retriable),
/// [`failed`](Error::failed), [`config`](Error::config), [`data`](Error::data).
///
/// `?` turns an [`io::Error`] into one: retriable where a connection broke or was refused, failed otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    kind: Kind,
    message: String,
    causes: Vec<String>,
}

/// What the worker does about an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It tries the same `poll` or `put` again after a while.
    Retriable,
    /// The connector or task becomes FAILED.
    Failed,
    /// The same; the setting named is to blame.
    Config(Option<String>),
    /// One record is bad: skipped or reported if `errors.tolerance=all`, otherwise the same as failed.
    Data,
}

impl Error {
    /// The cause may pass: a broker or a database is away. Takes a text or any error.
    pub fn retriable(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(Kind::Retriable, cause.into())
    }

    /// The task can't go on. Takes a text or any error.
    pub fn failed(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(Kind::Failed, cause.into())
    }

    /// One record's data is bad, not the task. Takes a text or any error.
    pub fn data(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::new(Kind::Data, cause.into())
    }

    /// The configuration is wrong, and `key` is to blame: `File::open(&path).map_err(Error::config("file"))`.
    pub fn config<E: Into<Box<dyn StdError + Send + Sync>>>(key: impl Into<String>) -> impl FnOnce(E) -> Self {
        let kind = Kind::Config(Some(key.into()));
        move |cause| Self::new(kind, cause.into())
    }

    /// The same error under a message of its own; what it said before becomes its cause.
    #[must_use]
    pub fn context(mut self, message: impl Into<String>) -> Self {
        self.causes.insert(0, std::mem::replace(&mut self.message, message.into()));
        self
    }

    /// What the worker will do about it.
    pub fn kind(&self) -> &Kind {
        &self.kind
    }

    /// One line for people.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// What caused it, outermost first.
    pub fn causes(&self) -> &[String] {
        &self.causes
    }

    /// What it says of one `what` of a batch; the error itself if it is about more than that.
    pub(crate) fn of_one(self, what: &str, index: u32) -> Result<wit::Failure> {
        match self.kind {
            Kind::Data => Ok(wit::Failure { index, message: self.to_string() }),
            Kind::Retriable | Kind::Failed | Kind::Config(_) => {
                Err(self.context(format!("{what} {index} of the batch")))
            }
        }
    }

    fn new(kind: Kind, cause: Box<dyn StdError + Send + Sync>) -> Self {
        let causes = std::iter::successors(cause.source(), |&error| error.source()).map(ToString::to_string).collect();
        Self { kind, message: cause.to_string(), causes }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.causes.iter().try_for_each(|cause| write!(f, ": {cause}"))
    }
}

impl StdError for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        use io::ErrorKind::*;
        match error.kind() {
            ConnectionRefused | ConnectionReset | ConnectionAborted | NotConnected | BrokenPipe | HostUnreachable
            | NetworkUnreachable | NetworkDown | TimedOut | WouldBlock | Interrupted => Self::retriable(error),
            _ => Self::failed(error),
        }
    }
}

impl From<Error> for wit::Error {
    fn from(error: Error) -> Self {
        let Error { kind, message, causes } = error;
        match kind {
            Kind::Retriable => Self::Retriable(wit::ErrorInfo { message, causes }),
            Kind::Failed => Self::Failed(wit::ErrorInfo { message, causes }),
            Kind::Data => Self::Data(wit::ErrorInfo { message, causes }),
            Kind::Config(key) => {
                let message = std::iter::once(message).chain(causes).collect::<Vec<_>>().join(": ");
                Self::Config(wit::ConfigError { key, message })
            }
        }
    }
}

impl From<wit::Error> for Error {
    fn from(error: wit::Error) -> Self {
        let (kind, wit::ErrorInfo { message, causes }) = match error {
            wit::Error::Retriable(info) => (Kind::Retriable, info),
            wit::Error::Failed(info) => (Kind::Failed, info),
            wit::Error::Data(info) => (Kind::Data, info),
            wit::Error::Config(wit::ConfigError { key, message }) => {
                (Kind::Config(key), wit::ErrorInfo { message, causes: Vec::new() })
            }
        };
        Self { kind, message, causes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_connection_is_retriable_and_a_missing_file_is_not() {
        let kind = |kind: io::ErrorKind| Error::from(io::Error::from(kind)).kind().clone();
        assert_eq!(kind(io::ErrorKind::ConnectionReset), Kind::Retriable);
        assert_eq!(kind(io::ErrorKind::NotFound), Kind::Failed);
    }

    #[test]
    fn context_keeps_what_was_said_before_as_the_cause() {
        let error = Error::failed("no such table").context("cannot read `orders`");
        assert_eq!(error.message(), "cannot read `orders`");
        assert_eq!(error.to_string(), "cannot read `orders`: no such table");
    }

    #[test]
    fn a_config_error_names_the_key_and_takes_its_causes_along() {
        let error: Error = Error::config("file")("no such folder");
        let wit::Error::Config(sent) = error.context("cannot open `/x`").into() else { panic!("not a config error") };
        assert_eq!(sent.key.as_deref(), Some("file"));
        assert_eq!(sent.message, "cannot open `/x`: no such folder");
    }
}
