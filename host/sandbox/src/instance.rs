//! One instance: an actor that owns a store, and the handle through which the rest reaches it.

mod actor;
mod handle;
mod shared;
mod watch;

pub(crate) use actor::{Launch, launch};
pub(crate) use handle::{Budget, Handle, InStore};
pub(crate) use shared::{Origin, Shared, SinkState};
pub(crate) use watch::{CpuSpent, End, Op};
