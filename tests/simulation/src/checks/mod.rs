//! What must hold, whatever happens.

mod delays;
mod owners;
mod quiet;

pub(crate) use delays::{Delays, keep_duplicates};
