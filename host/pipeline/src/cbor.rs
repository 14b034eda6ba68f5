//! Connect values as CBOR, under the profile of `wit/README.md`.
//!
//! This is how structured values cross the sandbox's boundary, so what is read here was written by a
//! stranger: nothing is allocated for a length before that many bytes are there, and nesting is bounded.
//! [`read`] and [`write()`] go through a tree of values; converters that need none walk over the items
//! with a [`Reader`] and write with a [`Writer`].

mod decode;
mod encode;
mod reader;
mod writer;

pub use decode::read;
pub use encode::write;
pub use reader::{Malformed, Reader, Token};
pub use writer::Writer;

/// Most levels of arrays and maps in one value. Enough for any data, and little enough that recursion
/// stays far from the end of a thread's stack.
pub const MAX_DEPTH: usize = 128;

/// The profile's private tags: an integer without schema that is narrower than 64 bits.
mod tag {
    pub(super) const INT8: u64 = 47_008;
    pub(super) const INT16: u64 = 47_016;
    pub(super) const INT32: u64 = 47_032;
}

#[cfg(test)]
mod tests;
