//! The one place with `unsafe`: taking compiled code from disk without compiling it.

#![allow(unsafe_code, reason = "wasmtime cannot verify machine code; see the safety comment")]

use std::path::Path;

use wasmtime::Engine;
use wasmtime::component::Component;

/// Maps compiled code into memory.
///
/// Wasmtime checks that the file was made by this version under these settings, and has to trust the
/// rest. The caller makes sure of it: the file is in a folder that only this user can enter and only
/// [`super::Cache`] writes to, it got there whole by a rename, and it has just been found to have the
/// digest that was noted when it was compiled.
pub(super) fn component(engine: &Engine, file: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file is the output of `Component::serialize`, as said above, and is not changed while
    // it is mapped: a later writer renames another file over it.
    unsafe { Component::deserialize_file(engine, file) }
}
