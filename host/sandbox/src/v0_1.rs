//! Version 0.1 of the WIT package: generated bindings, and the adapter between them and the ports.
//!
//! A later version gets a module of its own beside this one; nothing outside of them sees bindings.

mod batch;
mod bindings;
mod connector;
mod convert;
mod converter;
mod exports;
mod lower;
mod part;
mod put;
pub(crate) mod schema;
mod sink;
mod source;
mod transform;

pub(crate) use bindings::bulkhead::connect as wit;
pub(crate) use bindings::exports::bulkhead::connect::manifest;
pub use connector::SandboxedConnector;
pub(crate) use convert::{config_def, needs, plugin_error};
pub(crate) use converter::SandboxedConverter;
pub(crate) use exports::{Exports, Indices, Role};
pub(crate) use lower::Numbering;
pub(crate) use part::PartInstance;
pub use sink::SandboxedSink;
pub use source::SandboxedSource;
pub(crate) use transform::{SandboxedPredicate, SandboxedTransform};

use wasmtime::component::{HasSelf, Linker};

use crate::tenant::Tenant;

/// The package's name, before the interface.
pub(crate) const PACKAGE: &str = "bulkhead:connect";
pub(crate) const VERSION: &str = "0.1.0";

/// Everything that `host.wit` offers.
pub(crate) fn add_to_linker(linker: &mut Linker<Tenant>) -> wasmtime::Result<()> {
    bindings::Everything::add_to_linker::<Tenant, HasSelf<Tenant>>(linker, |tenant| tenant)
}
