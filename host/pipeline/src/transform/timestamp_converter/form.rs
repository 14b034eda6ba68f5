//! The five forms of a point in time.

use bulkhead_model::value::time::DateFormat;
use bulkhead_model::value::{Logical, Schema, SchemaType, Value, logical};

use crate::convert::ConvertError;

const MILLIS_PER_DAY: i64 = 86_400_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    /// A count of units since 1970.
    Unix,
    Date,
    Time,
    Timestamp,
}

impl Form {
    pub(super) const NAMES: [&'static str; 5] = ["string", "unix", "Date", "Time", "Timestamp"];

    /// One of [`Self::NAMES`].
    pub(super) fn named(name: &str) -> Self {
        match name {
            "string" => Self::Text,
            "unix" => Self::Unix,
            "Date" => Self::Date,
            "Time" => Self::Time,
            _ => Self::Timestamp,
        }
    }

    pub(super) fn of_schema(schema: &Schema) -> Result<Self, ConvertError> {
        match (Logical::of(schema), &schema.kind) {
            (Some(Logical::Date), _) => Ok(Self::Date),
            (Some(Logical::Time), _) => Ok(Self::Time),
            (Some(Logical::Timestamp), _) => Ok(Self::Timestamp),
            (_, SchemaType::String) => Ok(Self::Text),
            (_, SchemaType::Int64) => Ok(Self::Unix),
            _ => Err(ConvertError::Other(format!("{} is no form of a point in time", schema.describe()))),
        }
    }

    pub(super) fn of_value(value: &Value) -> Result<Self, ConvertError> {
        match value {
            Value::Instant(_) => Ok(Self::Timestamp),
            Value::Int64(_) => Ok(Self::Unix),
            Value::String(_) => Ok(Self::Text),
            _ => Err(ConvertError::Data(format!("a value of type {} is no point in time", value.type_name()))),
        }
    }

    pub(super) fn schema(self, optional: bool) -> Schema {
        let logical = |kind, name| Schema { version: Some(1), ..Schema::required(kind).named(name) };
        let schema = match self {
            Self::Text => Schema::required(SchemaType::String),
            Self::Unix => Schema::required(SchemaType::Int64),
            Self::Date => logical(SchemaType::Int32, logical::DATE),
            Self::Time => logical(SchemaType::Int32, logical::TIME),
            Self::Timestamp => logical(SchemaType::Int64, logical::TIMESTAMP),
        };
        Schema { optional, ..schema }
    }
}

/// The unit of unix times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Precision {
    Seconds,
    Milliseconds,
    Microseconds,
    Nanoseconds,
}

impl Precision {
    pub(super) const NAMES: [&'static str; 4] = ["nanoseconds", "microseconds", "milliseconds", "seconds"];

    /// One of [`Self::NAMES`].
    pub(super) fn named(name: &str) -> Self {
        match name {
            "seconds" => Self::Seconds,
            "microseconds" => Self::Microseconds,
            "nanoseconds" => Self::Nanoseconds,
            _ => Self::Milliseconds,
        }
    }

    /// Cut toward zero, bounded where the number overflows.
    fn to_millis(self, count: i64) -> i64 {
        match self {
            Self::Seconds => count.saturating_mul(1000),
            Self::Milliseconds => count,
            Self::Microseconds => count / 1000,
            Self::Nanoseconds => count / 1_000_000,
        }
    }

    fn of_millis(self, millis: i64) -> i64 {
        match self {
            Self::Seconds => millis / 1000,
            Self::Milliseconds => millis,
            Self::Microseconds => millis.saturating_mul(1000),
            Self::Nanoseconds => millis.saturating_mul(1_000_000),
        }
    }
}

/// How texts and unix times are to be understood.
#[derive(Debug)]
pub(super) struct Translation {
    pattern: String,
    format: Option<DateFormat>,
    precision: Precision,
    now: i64,
}

impl Translation {
    /// Without a pattern, texts can't be translated.
    pub(super) fn new(pattern: &str, precision: Precision, now: i64) -> Result<Self, ConvertError> {
        let format = match pattern {
            "" => None,
            pattern => Some(DateFormat::new(pattern).map_err(|error| {
                ConvertError::Config(format!("Invalid value {pattern} for configuration format: {error}"))
            })?),
        };
        Ok(Self { pattern: pattern.to_owned(), format, precision, now })
    }

    pub(super) fn has_format(&self) -> bool {
        self.format.is_some()
    }

    pub(super) fn convert(&self, value: &Value, from: Form, to: Form) -> Result<Value, ConvertError> {
        let millis = self.millis(value, from)?;
        Ok(match to {
            Form::Text => Value::string(self.format()?.format(millis)),
            Form::Unix => Value::Int64(self.precision.of_millis(millis)),
            Form::Date => Value::Instant(millis - millis.rem_euclid(MILLIS_PER_DAY)),
            Form::Time => Value::Instant(millis.rem_euclid(MILLIS_PER_DAY)),
            Form::Timestamp => Value::Instant(millis),
        })
    }

    fn millis(&self, value: &Value, form: Form) -> Result<i64, ConvertError> {
        match (form, value) {
            (Form::Text, Value::String(text)) => self.format()?.parse(text, self.now).ok_or_else(|| {
                let pattern = &self.pattern;
                ConvertError::Data(format!(
                    "Could not parse timestamp: value ({text}) does not match pattern ({pattern})"
                ))
            }),
            (Form::Unix, Value::Int64(count)) => Ok(self.precision.to_millis(*count)),
            (Form::Date | Form::Time | Form::Timestamp, Value::Instant(millis)) => Ok(*millis),
            _ => Err(ConvertError::Data(format!("a value of type {} does not fit its schema", value.type_name()))),
        }
    }

    fn format(&self) -> Result<&DateFormat, ConvertError> {
        self.format.as_ref().ok_or_else(|| ConvertError::Other("strings need a `format`".to_owned()))
    }
}
