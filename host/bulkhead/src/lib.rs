//! The worker as a process: reads settings, wires the crates together, drives the herder.
//!
//! Start at [`standalone::run`] and [`distributed::run`], which show what is connected to what; [`driver`]
//! is the one place where the herder's effects are performed.

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod cli;
pub mod connector_file;
pub mod distributed;
pub mod driver;
mod ending;
pub mod offset_file;
pub mod plugins;
pub mod properties;
mod serving;
pub mod settings;
mod signals;
pub mod standalone;
pub mod telemetry;
mod usage;
