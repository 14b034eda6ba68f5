//! What librdkafka can't do for a worker, on a connection of our own: being a member of a Connect group, and the
//! admin calls it lacks.
//!
//! Start at [`Group::spawn`]; [`Admin`] is the other entry. Both dial through `connection`, which negotiates
//! versions, speaks TLS by OpenSSL and logs in by SASL. **Invariant:** this crate doesn't know what the bytes of a
//! member's metadata or assignment mean, and it decides nothing about connectors.

mod admin;
mod connection;
mod coordinator;
mod error;
mod group;

pub use admin::{Admin, BrokerNode, Cluster, Isolation, Position};
pub use connection::{ClientSettings, Token, TokenProvider};
pub use error::Error;
pub use group::{Group, GroupEvent, GroupHandle, GroupSettings, Protocol};

#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing {
    pub use crate::connection::fuzzing::answers;
}
