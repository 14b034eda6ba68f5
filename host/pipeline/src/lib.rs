//! Moves records: from a source task through converters to a producer, from a consumer through
//! converters to a sink task; decides on errors and keeps offsets.
//!
//! Start at [`ports`], which says what this crate needs of the outside world, and [`batch`], the unit
//! in which everything moves. **Invariant:** no wasmtime and no librdkafka here; the loops are generic
//! over the ports and run the same on in-memory doubles.

mod acks;
pub mod batch;
pub mod cbor;
pub mod control;
pub mod convert;
pub mod guest;
mod lookup;
pub mod ports;
pub mod sink;
pub mod source;
pub mod tolerance;
pub mod transform;
