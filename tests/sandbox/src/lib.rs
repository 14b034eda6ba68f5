//! Guests in the real sandbox: well-behaved ones, and a hostile one for every way to misbehave.
//!
//! The guests are compiled by `cargo xtask guests`; without them every test here fails and says so. One
//! compiled-code cache serves all tests of a run. Start at [`Bench`], which opens a sandbox.

mod bench;
mod plugins;

#[cfg(test)]
mod tests;

pub use bench::{Bench, HOSTILE, HOSTILE_SINK, POLL, SOON, source_config};
pub use plugins::plugin;
