//! AvroConverter beside a registry, by itself and in the loops.

#![allow(clippy::unwrap_used)]

mod converter;
mod sink;
mod source;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use bulkhead_doubles::MemoryRegistry;
use bulkhead_model::RawConfig;
use bulkhead_pipeline::control::Observer;
use bulkhead_pipeline::convert::{Converter, Role, create, create_with};
use bulkhead_pipeline::tolerance::Tolerance;

const SOON: Duration = Duration::from_secs(10);

fn converter(registry: &MemoryRegistry, role: Role, entries: &[(&str, &str)]) -> Arc<dyn Converter> {
    let mut config = RawConfig::from([("schema.registry.url", "http://registry")]);
    for (key, value) in entries {
        config.set(*key, *value);
    }
    create_with("io.confluent.connect.avro.AvroConverter", &config, role, Some(registry)).unwrap()
}

fn strings(role: Role) -> Arc<dyn Converter> {
    create("StringConverter", &RawConfig::new(), role).unwrap()
}

fn tolerance(tolerated: &str, retry_timeout: &str) -> Tolerance {
    Tolerance::from_config(&RawConfig::from([
        ("errors.tolerance", tolerated),
        ("errors.retry.timeout", retry_timeout),
        ("errors.retry.delay.max.ms", "10"),
    ]))
}

/// Keeps what it is told of pauses.
#[derive(Clone, Default)]
struct Pauses(Arc<Mutex<Vec<&'static str>>>);

impl Pauses {
    fn are(&self, expected: &[&str]) -> bool {
        *self.0.lock().unwrap() == expected
    }
}

impl Observer for Pauses {
    fn started(&self) {}
    fn paused(&self) {
        self.0.lock().unwrap().push("paused");
    }
    fn resumed(&self) {
        self.0.lock().unwrap().push("resumed");
    }
    fn topic_used(&self, _topic: &str) {}
}

/// Bytes as AvroConverter writes them: a text behind the id of `"string"`.
fn text(id: u8, text: &str) -> Vec<u8> {
    [&[0, 0, 0, 0, id, 2 * text.len() as u8], text.as_bytes()].concat()
}
