//! Dates, times and timestamps among texts.

use std::sync::{Arc, LazyLock};

use bulkhead_model::value::time::{DateFormat, IllegalPattern};
use bulkhead_model::value::{Schema, Value};

use super::SCHEMAS;

/// Milliseconds of a day.
const DAY: i64 = 86_400_000;

/// The three forms, ISO 8601 in UTC.
struct Formats {
    date: DateFormat,
    time: DateFormat,
    timestamp: DateFormat,
}

static FORMATS: LazyLock<Formats> =
    LazyLock::new(|| Formats::new().expect("these patterns have no letter that is not known"));

impl Formats {
    fn new() -> Result<Self, IllegalPattern> {
        Ok(Self {
            date: DateFormat::new("yyyy-MM-dd")?,
            time: DateFormat::new("HH:mm:ss.SSS'Z'")?,
            timestamp: DateFormat::new("yyyy-MM-dd'T'HH:mm:ss.SSS'Z'")?,
        })
    }
}

/// The text's length alone says which of the three it may be. Fields may overflow.
pub(super) fn parse(text: &str) -> Option<(Arc<Schema>, Value)> {
    const DATE_LENGTH: usize = 10;
    const TIME_LENGTH: usize = 13;
    const TIMESTAMP_LENGTH: usize = 24;
    let text = text.replace("\\:", ":");
    let (format, schema) = match text.encode_utf16().count() {
        DATE_LENGTH => (&FORMATS.date, &SCHEMAS.date),
        TIME_LENGTH => (&FORMATS.time, &SCHEMAS.time),
        TIMESTAMP_LENGTH => (&FORMATS.timestamp, &SCHEMAS.timestamp),
        _ => return None,
    };
    // All years have four digits, so it doesn't matter what time it is.
    let millis = format.parse(&text, 0)?;
    Some((schema.clone(), Value::Instant(millis)))
}

/// The instant's size alone says which of the three it is written as.
pub(super) fn format(millis: i64) -> String {
    match millis {
        ..DAY => FORMATS.time.format(millis),
        _ if millis % DAY == 0 => FORMATS.date.format(millis),
        _ => FORMATS.timestamp.format(millis),
    }
}
