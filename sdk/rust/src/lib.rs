//! Write Kafka Connect connectors in Rust that run as WebAssembly components.
