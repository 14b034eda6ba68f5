//! The text form of values: what `org.apache.kafka.connect.data.Values` reads and writes.
//!
//! Headers have this form under the default header converter, and some transforms use it for literals.
//! Reading guesses: only the beginning of a text decides on numbers, arrays and maps, and whatever
//! doesn't fit is a string.

mod align;
mod number;
mod parse;
mod temporal;
mod token;
mod write;

pub(crate) use number::{as_double, as_long};
pub(crate) use parse::parse;
pub(crate) use write::write;

use std::sync::{Arc, LazyLock};

use bulkhead_model::value::{Schema, SchemaType, logical};

/// Schemas that texts get, shared so that equal ones are one.
struct Schemas {
    boolean: Arc<Schema>,
    int8: Arc<Schema>,
    int16: Arc<Schema>,
    int32: Arc<Schema>,
    int64: Arc<Schema>,
    float32: Arc<Schema>,
    float64: Arc<Schema>,
    string: Arc<Schema>,
    date: Arc<Schema>,
    time: Arc<Schema>,
    timestamp: Arc<Schema>,
}

static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| {
    let plain = |kind| Arc::new(Schema::required(kind));
    let logical = |kind, name| Arc::new(Schema { version: Some(1), ..Schema::required(kind).named(name) });
    Schemas {
        boolean: plain(SchemaType::Boolean),
        int8: plain(SchemaType::Int8),
        int16: plain(SchemaType::Int16),
        int32: plain(SchemaType::Int32),
        int64: plain(SchemaType::Int64),
        float32: plain(SchemaType::Float32),
        float64: plain(SchemaType::Float64),
        string: plain(SchemaType::String),
        date: logical(SchemaType::Int32, logical::DATE),
        time: logical(SchemaType::Int32, logical::TIME),
        timestamp: logical(SchemaType::Int64, logical::TIMESTAMP),
    }
});

/// A required Decimal of this scale.
fn decimal_schema(scale: i32) -> Arc<Schema> {
    let mut schema = Schema::required(SchemaType::Bytes).named(logical::DECIMAL);
    schema.version = Some(1);
    schema.parameters = Some(vec![("scale".into(), scale.to_string().into())]);
    Arc::new(schema)
}

/// The schema of any string.
pub(crate) fn string_schema() -> Arc<Schema> {
    SCHEMAS.string.clone()
}
