//! The group and the admin calls against a real Kafka: `BULKHEAD_KAFKA=host:port` names one, `cargo xtask test`
//! starts one.

#![allow(clippy::unwrap_used, reason = "what can't be had fails the test")]

mod admin;
mod group;
mod support;
