//! Kafka Connect's REST interface, as a client of Connect 4.4 expects it.
//!
//! Start at [`Interface`], then `routes`: one module per group of resources. Settings come from
//! [`Settings::from_properties`], sockets from [`bind`], and [`serve`] answers on them until it is told to
//! stop. What the outside has to bring is declared here too: [`HerderHandle`], [`Loggers`],
//! [`SandboxView`] and [`PluginFiles`]. Requests that another worker has to carry out go there by [`Client`].
//!
//! Where Connect blames itself for a client's mistake (500 for malformed JSON, an unknown member, a bad
//! `initial_state`), this interface answers 400 and says what is wrong. Errors are JSON, also those of
//! routing (only a head that is no HTTP gets a bare status), and a connector of any name can be reached if
//! its name is percent-encoded.
//!
//! **Invariant:** this crate decides nothing about connectors. What needs a decision is a
//! [`Request`](bulkhead_herder::api::Request) to the herder; everything else is read from its
//! [`ClusterView`](bulkhead_herder::ClusterView).

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod answer;
mod app;
mod body;
mod cors;
mod document;
mod error;
mod forward;
mod json;
mod levels;
mod location;
mod metrics;
mod negotiation;
mod path;
mod ports;
mod query;
mod router;
mod routes;
mod seen;
mod server;
mod settings;

#[cfg(test)]
mod testing;

pub use forward::Client;
pub use levels::{Level, LevelTable, UnknownLevel, apply_level};
pub use metrics::Metrics;
pub use ports::{
    BoxFuture, HerderHandle, Installed, InstanceLimits, InstanceUsage, LoggerLevel, Loggers, PartKind, PartUsage,
    PluginFile, PluginFiles, PluginUpload, SandboxView, ServerInfo, UploadError,
};
pub use router::{Interface, Resources};
pub use server::{BindError, bind, serve};
pub use settings::{
    AdminListeners, Advertised, Cors, Listener, ResponseHeader, Settings, SettingsError, TopicTracking,
};
