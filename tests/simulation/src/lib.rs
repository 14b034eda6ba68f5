//! A cluster of herders in one thread, under one virtual clock.
//!
//! Owns the simulated [`World`] (logs, group, workers, clients, faults), the [`Schedule`]s that seeds
//! make, and what must hold whatever happens (`checks`). It knows the herder by its public interface
//! only. **Invariant:** no async, no clock, no socket; the same seed gives the same run.
//!
//! `SIM_SEED` plays one seed, `SIM_SEEDS` as many as it says, `SIM_TRACE` shows all that happens in
//! the shortest schedule that fails.

mod agenda;
mod checks;
pub mod cluster;
mod conditions;
mod diary;
mod dice;
mod expected;
mod group;
mod logs;
mod plugins;
mod runner;
mod schedule;
mod worker;
mod world;

pub use cluster::Cluster;
pub use conditions::{Conditions, HEARTBEAT, Mutation, Pace, REBALANCE_TIMEOUT, SESSION_TIMEOUT, url, worker_id};
pub use diary::Note;
pub use dice::Dice;
pub use expected::Expected;
pub use plugins::SOURCE;
pub use runner::{Failure, Run, Summary, play, shrink};
pub use schedule::{Deed, Item, Schedule};
pub use world::{AppendFault, Fault, Outcome, ProcessId, Rest, Trouble, World};
