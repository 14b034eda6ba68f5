//! What the fuzz targets do. Each takes bytes, hands them to parsers of the worker, and panics if these do, or if what
//! has to be equal isn't.
//!
//! Start at [`TARGETS`]. Under libFuzzer they run from `libfuzzer/`; the inputs that are kept run as an ordinary test.
//! `kafka` and `bundles` are in the crates whose private parts they are about.

mod avro;
mod batch;
mod cbor;
mod cluster;
mod config;
mod converters;
mod data;
mod files;
mod json;
mod patterns;
mod rest;
mod rules;
mod transforms;

// Parsers of the two heavy crates, which can do without what these link. A module with modules of its own is a link
// here, since `path` would look for them beside it.
#[allow(dead_code, reason = "only what parses is used")]
#[path = "../../../host/bulkhead/src/connector_file.rs"]
mod connector_file;
#[allow(dead_code, unused_imports, reason = "only what parses is used")]
mod grant;
#[path = "../../../host/kafka/src/offset_store/coding.rs"]
mod offset_coding;
#[path = "../../../host/bulkhead/src/offset_file.rs"]
mod offset_file;
#[allow(dead_code, reason = "only what parses is used")]
#[path = "../../../host/bulkhead/src/properties.rs"]
mod properties;
#[allow(dead_code, reason = "only what parses is used")]
#[path = "../../../host/sandbox/src/settings/text.rs"]
mod texts;

pub use avro::avro;
pub use batch::batch;
pub use cbor::cbor;
pub use cluster::cluster;
pub use config::config;
pub use converters::converters;
pub use files::files;
pub use json::{json_decode, json_encode};
pub use patterns::patterns;
pub use rest::rest;
pub use transforms::transforms;

/// Panics if something is wrong with how the bytes are taken.
pub type Target = fn(&[u8]);

/// All targets by their names.
pub const TARGETS: [(&str, Target); 12] = [
    ("avro", avro),
    ("batch", batch),
    ("cbor", cbor),
    ("cluster", cluster),
    ("config", config),
    ("converters", converters),
    ("files", files),
    ("json_decode", json_decode),
    ("json_encode", json_encode),
    ("patterns", patterns),
    ("rest", rest),
    ("transforms", transforms),
];

/// What the sandbox's module of grants takes from its crate.
mod limits {
    pub(crate) fn mebibytes(bytes: u64) -> String {
        format!("{bytes} bytes")
    }
}

mod settings {
    pub(crate) use crate::texts::{bytes, list, milliseconds};
}
