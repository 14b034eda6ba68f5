//! The worker as a process: reads settings, wires the crates together, drives the herder.
//!
//! Start at [`standalone::run`], which shows what is connected to what; [`driver`] is the one place where
//! the herder's effects are performed.

pub mod cli;
pub mod connector_file;
pub mod driver;
pub mod offset_file;
pub mod plugins;
pub mod properties;
pub mod standalone;
pub mod telemetry;
