//! Validation of connector configurations, and its answer (`ConfigInfos`).
//!
//! The herder looks up the class, the worker lets the plugin speak, and `judge` puts everything
//! together: what every connector has (`common`), transformations and predicates (`aliases`),
//! converters, and the plugin's own keys.

mod aliases;
mod common;
mod converters;
mod definitions;
mod infos;
mod judge;
mod overrides;
mod plugins;
mod references;
mod requests;
mod sandbox;
mod sink;
mod source;

pub use infos::{ConfigInfo, ConfigInfos, ConfigKeyInfo, ConfigValueInfo};
pub(crate) use plugins::plugin_keys;
pub(crate) use requests::{Preparation, Submission};

#[cfg(test)]
mod tests;
