//! How values of an Avro schema are read, worked out once for each schema.

use std::sync::Arc;

use super::schema::Enum;

#[derive(Debug)]
pub(super) struct Plan {
    /// The members of the union that the value is in; none if it is in no union.
    pub(super) members: Vec<Member>,
    pub(super) shape: Shape,
}

/// A type of a union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Member {
    Null,
    /// The value; in a [`Shape::Union`] the one with this number.
    Value(usize),
}

#[derive(Debug)]
pub(super) enum Shape {
    Boolean,
    /// An int of which the lowest bits count.
    Int8,
    Int16,
    Int32,
    /// Milliseconds of a day, as an int.
    Time,
    Long,
    Float32,
    Float64,
    Text,
    Bytes,
    Fixed(usize),
    /// Bytes or a fixed of this size.
    Decimal(Option<usize>),
    Enum(Arc<Enum>),
    Array(Box<Plan>),
    Map(Box<Plan>),
    /// An array of records that are the entries of a map.
    Pairs {
        plans: Box<(Plan, Plan)>,
        key_comes_first: bool,
        text_keys: bool,
    },
    Struct(Vec<Plan>),
    /// A struct of which one field is set.
    Union(Vec<Plan>),
    /// A value without schema.
    Anything,
}

impl Plan {
    pub(super) fn plain(shape: Shape) -> Self {
        Self { members: Vec::new(), shape }
    }
}
