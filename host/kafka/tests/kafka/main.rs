//! The clients against a broker: librdkafka's mock in the process and, where `BULKHEAD_KAFKA=host:port`
//! names one, a real Kafka. `cargo xtask test` starts that.

mod consuming;
mod groups;
mod producing;
mod support;
mod throughput;
