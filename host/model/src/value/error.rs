//! The one way in which data can be wrong.

/// A value or a schema breaks a rule of the data model: what Connect calls a `DataException`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DataError(pub String);

impl DataError {
    pub fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}
