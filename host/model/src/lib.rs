//! The vocabulary that every other crate speaks: names, states, configurations, schemas, values and
//! records, and the words in which the herder tells the worker what to run ([`work`]).
//!
//! Start at [`name`] and [`state`]; [`config`] is what REST shows and validates; [`value`] is
//! Connect's data model. **Invariant:** nothing here waits, reads a clock, opens a file or logs.

mod causes;
pub mod config;
pub mod name;
pub mod offset;
pub mod plugin;
pub mod security;
pub mod state;
pub mod value;
pub mod work;

pub use causes::with_causes;
pub use config::{ConfigPatch, RawConfig};
pub use name::{ConnectorName, Instance, TaskId, WorkerId};
pub use state::{State, TargetState};
