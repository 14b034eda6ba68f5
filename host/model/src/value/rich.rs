//! Logical types: the rich value in memory, the raw one on the wire.

use super::{DataError, Decimal, Schema, Value, logical};

pub(super) const MILLIS_PER_DAY: i64 = 86_400_000;

/// Which logical type a schema's name makes of it. Version and base type are not looked at, as in
/// Connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Logical {
    Decimal,
    Date,
    Time,
    Timestamp,
}

impl Logical {
    pub fn of(schema: &Schema) -> Option<Self> {
        match schema.name.as_deref()? {
            logical::DECIMAL => Some(Self::Decimal),
            logical::DATE => Some(Self::Date),
            logical::TIME => Some(Self::Time),
            logical::TIMESTAMP => Some(Self::Timestamp),
            _ => None,
        }
    }

    /// Whether `value` is the rich form of this type.
    pub fn fits(self, value: &Value) -> bool {
        match self {
            Self::Decimal => matches!(value, Value::Decimal(_)),
            Self::Date | Self::Time | Self::Timestamp => matches!(value, Value::Instant(_)),
        }
    }

    /// The raw number of an instant: days, milliseconds of the day, or milliseconds.
    pub fn instant_to_raw(self, millis: i64) -> Result<i64, DataError> {
        match self {
            Self::Date if millis.rem_euclid(MILLIS_PER_DAY) != 0 => {
                Err(DataError::new("a Date must not have a time of day"))
            }
            // The cast keeps the low bits, as Java's does.
            Self::Date => Ok(i64::from((millis / MILLIS_PER_DAY) as i32)),
            Self::Time => time_of_day(millis),
            Self::Timestamp => Ok(millis),
            Self::Decimal => Err(DataError::new("a Decimal is no instant")),
        }
    }

    /// The instant of a raw number.
    pub fn instant_from_raw(self, raw: i64) -> Result<i64, DataError> {
        match self {
            Self::Date => {
                raw.checked_mul(MILLIS_PER_DAY).ok_or_else(|| DataError(format!("{raw} is no number of days")))
            }
            Self::Time => time_of_day(raw),
            Self::Timestamp => Ok(raw),
            Self::Decimal => Err(DataError::new("a Decimal is no instant")),
        }
    }
}

/// Midnight of the next day is a time, too: Connect's bound is inclusive.
fn time_of_day(millis: i64) -> Result<i64, DataError> {
    match millis {
        0..=MILLIS_PER_DAY => Ok(millis),
        _ => Err(DataError::new("a Time must lie between 0 and 86400000 milliseconds")),
    }
}

impl Schema {
    /// The scale that a Decimal's schema has to name.
    pub fn decimal_scale(&self) -> Result<i32, DataError> {
        let Some(scale) = self.parameter("scale") else {
            return Err(DataError::new("a Decimal schema needs the parameter `scale`"));
        };
        scale.parse().map_err(|_| DataError(format!("the scale `{scale}` of a Decimal schema is no number")))
    }
}

impl Decimal {
    /// The unscaled number, if this has the scale its schema asks for.
    pub fn unscaled_for(&self, scale: i32) -> Result<&[u8], DataError> {
        if self.scale != scale {
            return Err(DataError(format!(
                "a Decimal of scale {} does not fit its schema of scale {scale}",
                self.scale
            )));
        }
        Ok(&self.unscaled)
    }
}
