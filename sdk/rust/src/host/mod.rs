//! The worker, as the SDK calls it: the imports of the contract in a component, a stand-in in native tests.
//!
//! Both modules have the same functions, so the rest of the SDK doesn't know which one it talks to.

#[cfg(target_family = "wasm")]
mod wasm;
#[cfg(target_family = "wasm")]
pub(crate) use wasm::*;

#[cfg(not(target_family = "wasm"))]
pub(crate) mod native;
#[cfg(not(target_family = "wasm"))]
pub(crate) use native::*;
