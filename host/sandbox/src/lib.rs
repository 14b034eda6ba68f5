//! Connectors and tasks as isolated WebAssembly component instances.
//!
//! A plugin is a `*.wasm` file found on `plugin.path`; an *instance* of it is one connector or one task
//! in a store of its own, with a memory limit, a CPU budget, deadlines, and the grants that its
//! configuration asks for and the worker allows. Start at [`Sandbox`], which implements
//! [`bulkhead_pipeline::ports::Plugins`]; [`grant`] decides what an instance may do, `instance` is the
//! actor that owns a store, `host` holds what a guest may call, `v0_1` speaks version 0.1 of the
//! WIT package.
//!
//! **Invariants:** no Kafka here. No guest's failure ends anything but its instance: traps, overruns and
//! panics come out as [`bulkhead_pipeline::ports::PluginError::Crashed`]. Nothing a guest hands over is
//! believed before it was checked, and whatever it may pile up on the host has a limit with a name.

mod cache;
mod catalog;
mod crash;
mod engine;
mod error;
pub mod grant;
mod host;
mod instance;
mod limits;
mod output;
mod runtime;
mod sandbox;
mod settings;
mod stats;
mod tenant;
mod v0_1;
mod wasi;

pub use catalog::{BrokenFile, Changes, Fault, InstallError, PluginFile, Upload, Uploaded};
pub use error::Error;
pub use sandbox::Sandbox;
pub use settings::{Mode, Settings, Uploads};
pub use stats::{Gauge, InstanceStats, Metric, MetricKind, Part};
pub use v0_1::{SandboxedConnector, SandboxedSink, SandboxedSource};
