//! What a converter has to know of a schema registry, and how it gets to know it while converting never waits.

use std::sync::Arc;

use super::ConvertError;
use crate::ports::{BoxFuture, SubjectSchema};

/// A question to a schema registry.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Lookup {
    /// The schema that values are to be written with.
    Writer(SubjectSchema),
    /// The schema that values of a topic were written with.
    Reader { topic: Arc<str>, id: u32 },
}

/// The side of a converter that waits. Loops ask as soon as they know what is missing, and convert after that.
pub trait Lookups: Send + Sync {
    /// A batch or fetch begins. Whatever of it was asked for is known until the next one begins, and what was given up
    /// before may be asked for again.
    fn begin(&self);

    /// What has to be asked before these bytes can be decoded.
    fn missing(&self, topic: &str, bytes: &[u8]) -> Option<Lookup>;

    /// Asks. Fails with [`ConvertError::Retriable`] if another try may succeed.
    fn look_up(&self, lookup: Lookup) -> BoxFuture<Result<(), ConvertError>>;

    /// Until the next batch begins, whatever needs this fails so.
    fn give_up(&self, lookup: Lookup, error: ConvertError);
}
