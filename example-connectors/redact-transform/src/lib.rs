//! Masks what nobody downstream should read: card numbers, addresses, tokens.
//!
//! [`Redact`] replaces what matches a regular expression, [`Mentions`] tells which records have such a match. Both look into
//! texts, and into structs, maps and arrays at any depth.

mod mentions;
mod redact;
mod texts;

pub use mentions::Mentions;
pub use redact::Redact;

bulkhead_sdk::export! {
    transform "io.bulkhead.transforms.Redact" => Redact,
    predicate "io.bulkhead.predicates.Mentions" => Mentions,
}
