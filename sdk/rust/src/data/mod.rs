//! Structured data: schemas, values under them, and their encoding.

mod cbor;
mod display;
mod nodes;
mod schema;
mod value;

pub use schema::{Schema, SchemaType};
pub use value::{Struct, Value};

pub(crate) use cbor::{decode, encode};
