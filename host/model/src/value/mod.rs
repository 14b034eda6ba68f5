//! Connect's data model: schemas and values, as `org.apache.kafka.connect.data` has them.

mod schema;
#[expect(clippy::module_inception, reason = "the value of the module that is about values")]
mod value;

pub use schema::{Field, Schema, SchemaType, logical};
pub use value::{Decimal, Struct, Value};
