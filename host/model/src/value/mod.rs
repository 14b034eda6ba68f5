//! Connect's data model: schemas and values, as `org.apache.kafka.connect.data` has them.

mod decimal;
mod error;
mod float;
mod number;
mod rich;
mod schema;
pub mod time;
mod validate;
#[expect(clippy::module_inception, reason = "the value of the module that is about values")]
mod value;

pub use decimal::Decimal;
pub use error::DataError;
pub use float::{FloatText, write_f32, write_f64};
pub use number::Number;
pub use rich::Logical;
pub use schema::{Field, Parameters, Schema, SchemaType, logical};
pub use value::{Struct, Value};
