//! The clients against a broker: librdkafka's mock in the process and, where `BULKHEAD_KAFKA=host:port`
//! names one, a real Kafka. `cargo xtask test` starts that.

#![allow(clippy::unwrap_used, reason = "what can't be had fails the test")]

mod consuming;
mod errors;
mod groups;
mod logs;
mod offsets;
mod producing;
mod support;
mod throughput;
