//! A record as transforms see it.

use std::sync::Arc;

use crate::convert::SchemaAndValue;

/// One record, taken out of its batch.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    pub topic: Arc<str>,
    pub partition: Option<i32>,
    pub key: SchemaAndValue,
    pub value: SchemaAndValue,
    /// Milliseconds since 1970.
    pub timestamp: Option<i64>,
    pub headers: Vec<Header>,
    /// Where the record is in its Kafka partition; none on its way from a source.
    pub offset: Option<i64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    pub key: Arc<str>,
    pub value: SchemaAndValue,
}

/// Which half of a record a transform works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Key,
    Value,
}

impl Side {
    pub(super) fn of(self, record: &Record) -> &SchemaAndValue {
        match self {
            Self::Key => &record.key,
            Self::Value => &record.value,
        }
    }

    /// The half, of which a null stays behind.
    pub(super) fn take(self, record: &mut Record) -> SchemaAndValue {
        let half = match self {
            Self::Key => &mut record.key,
            Self::Value => &mut record.value,
        };
        std::mem::replace(half, SchemaAndValue::NULL)
    }

    /// The record with this half replaced.
    pub(super) fn replaced(self, mut record: Record, half: SchemaAndValue) -> Record {
        match self {
            Self::Key => record.key = half,
            Self::Value => record.value = half,
        }
        record
    }
}
