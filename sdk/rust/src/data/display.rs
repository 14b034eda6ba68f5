//! How values look as text.

use std::fmt::{self, Display};

use super::{Schema, Value};

const DAY: i64 = 24 * 60 * 60 * 1000;
const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// As Java prints it: `{a=1, b=x}`, `[1, 2]`, `1.0E10`, `Struct{id=7}` with unset fields left out; fields of logical types
/// as their schema means them. Bytes are shown as text.
impl Display for Value<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown(None).fmt(f)
    }
}

impl Value<'_> {
    /// The same as its own display, but for a value that is of a logical type by this schema.
    pub fn shown<'v>(&'v self, schema: Option<&'v Schema>) -> impl Display + 'v {
        Shown { value: self, schema }
    }
}

struct Shown<'v, 'a> {
    value: &'v Value<'a>,
    schema: Option<&'v Schema>,
}

impl Display for Shown<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let logical = self.schema.and_then(|schema| schema.get_name()?.strip_prefix("org.apache.kafka.connect.data."));
        match (logical, self.value) {
            (Some("Date"), Value::Int32(days)) => date(f, i64::from(*days) * DAY),
            (Some("Time"), Value::Int32(millis)) => date(f, i64::from(*millis)),
            (Some("Timestamp"), Value::Int64(millis)) => date(f, *millis),
            (Some("Decimal"), Value::Bytes(unscaled)) => decimal(f, unscaled, self.scale()),
            _ => self.plain(f),
        }
    }
}

impl Shown<'_, '_> {
    fn plain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            Value::Null => f.write_str("null"),
            Value::Boolean(value) => value.fmt(f),
            Value::Int8(value) => value.fmt(f),
            Value::Int16(value) => value.fmt(f),
            Value::Int32(value) => value.fmt(f),
            Value::Int64(value) => value.fmt(f),
            Value::Float32(value) => float(f, f64::from(value.abs()), format!("{value:e}"), format!("{value:?}")),
            Value::Float64(value) => float(f, value.abs(), format!("{value:e}"), format!("{value:?}")),
            Value::Text(text) => f.write_str(text),
            Value::Bytes(bytes) => f.write_str(&String::from_utf8_lossy(bytes)),
            Value::Array(elements) => {
                let element = self.schema.and_then(Schema::element);
                listed(f, ["[", ", ", "]"], elements, |f, value| value.shown(element).fmt(f))
            }
            Value::Map(entries) => {
                let (keys, values) = (self.schema.and_then(Schema::key), self.schema.and_then(Schema::element));
                listed(f, ["{", ", ", "}"], entries, |f, (key, value)| {
                    write!(f, "{}={}", key.shown(keys), value.shown(values))
                })
            }
            Value::Struct(fields) => {
                let all = fields.schema().fields().iter().zip(fields.values());
                let set = all.filter(|(_, value)| **value != Value::Null);
                listed(f, ["Struct{", ",", "}"], set, |f, ((name, schema), value)| {
                    write!(f, "{name}={}", value.shown(Some(schema)))
                })
            }
        }
    }

    fn scale(&self) -> i64 {
        let scale = self.schema.and_then(|schema| schema.get_parameter("scale")?.parse::<i32>().ok());
        scale.unwrap_or_default().into()
    }
}

fn listed<T>(
    f: &mut fmt::Formatter<'_>,
    [open, between, close]: [&str; 3],
    items: impl IntoIterator<Item = T>,
    show: impl Fn(&mut fmt::Formatter<'_>, T) -> fmt::Result,
) -> fmt::Result {
    f.write_str(open)?;
    for (place, item) in items.into_iter().enumerate() {
        if place > 0 {
            f.write_str(between)?;
        }
        show(f, item)?;
    }
    f.write_str(close)
}

/// `Double.toString`: an exponent for what is very large or very small, and always a digit behind the point.
fn float(f: &mut fmt::Formatter<'_>, size: f64, exponential: String, plain: String) -> fmt::Result {
    if size.is_infinite() {
        return f.write_str(if plain.starts_with('-') { "-Infinity" } else { "Infinity" });
    }
    if size.is_nan() || size == 0.0 || (1e-3..1e7).contains(&size) {
        return f.write_str(&plain);
    }
    let (digits, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let point = if digits.contains('.') { "" } else { ".0" };
    write!(f, "{digits}{point}E{exponent}")
}

/// `Date.toString` of milliseconds since 1970, in UTC.
fn date(f: &mut fmt::Formatter<'_>, millis: i64) -> fmt::Result {
    let (days, seconds) = (millis.div_euclid(DAY), millis.rem_euclid(DAY) / 1000);
    let (year, month, day) = civil(days);
    let (weekday, month) = (DAYS[index(days.rem_euclid(7))], MONTHS[index(month - 1)]);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    write!(f, "{weekday} {month} {day:02} {hour:02}:{minute:02}:{second:02} UTC {year:04}")
}

fn index(small: i64) -> usize {
    usize::try_from(small).unwrap_or_default()
}

/// Year, month and day of a day since 1970. Years are counted from March, so that a leap day is the last one.
fn civil(days: i64) -> (i64, i64, i64) {
    const OF_400_YEARS: i64 = 146_097;
    let since_march_0000 = days + 719_468;
    let era = since_march_0000.div_euclid(OF_400_YEARS);
    let day = since_march_0000.rem_euclid(OF_400_YEARS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let january = i64::from(month >= 10);
    (era * 400 + year + january, month + 3 - 12 * january, day)
}

/// `BigDecimal.toString`.
fn decimal(f: &mut fmt::Formatter<'_>, unscaled: &[u8], scale: i64) -> fmt::Result {
    let negative = unscaled.first().is_some_and(|byte| *byte >= 0x80);
    let digits = digits(unscaled, negative);
    let sign = if negative { "-" } else { "" };
    let count = i64::try_from(digits.len()).map_err(|_| fmt::Error)?;
    let exponent = count - 1 - scale;
    if scale == 0 {
        return write!(f, "{sign}{digits}");
    }
    if scale < 0 || exponent < -6 {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let plus = if exponent > 0 { "+" } else { "" };
        return match exponent {
            0 => write!(f, "{sign}{first}{point}{rest}"),
            _ => write!(f, "{sign}{first}{point}{rest}E{plus}{exponent}"),
        };
    }
    let zeros = "0".repeat(index(scale + 1 - count));
    let padded = zeros + &digits;
    let (whole, fraction) = padded.split_at(padded.len() - index(scale));
    write!(f, "{sign}{whole}.{fraction}")
}

/// The decimal digits of the absolute value of a number in two's complement, highest byte first.
fn digits(unscaled: &[u8], negative: bool) -> String {
    const CHUNK: u64 = 1_000_000_000;
    // Lowest chunk of nine digits first; one more for each byte that is multiplied in, if it is needed.
    let mut chunks: Vec<u64> = vec![0];
    for byte in unscaled {
        let mut carry = u64::from(if negative { !byte } else { *byte });
        for chunk in &mut chunks {
            let value = *chunk * 256 + carry;
            (*chunk, carry) = (value % CHUNK, value / CHUNK);
        }
        if carry > 0 {
            chunks.push(carry);
        }
    }
    if negative {
        add_one(&mut chunks, CHUNK);
    }
    let lower = chunks.iter().rev().skip(1).map(|chunk| format!("{chunk:09}"));
    chunks.last().map(ToString::to_string).into_iter().chain(lower).collect()
}

fn add_one(chunks: &mut Vec<u64>, chunk: u64) {
    for value in &mut *chunks {
        *value = (*value + 1) % chunk;
        if *value > 0 {
            return;
        }
    }
    chunks.push(1);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Struct;

    #[test]
    fn values_print_as_java_prints_them() {
        let schema = Schema::record("P").field("x", Schema::int32()).field("y", Schema::int32().optional());
        let point = Struct::new(&schema).with("x", 1).unwrap();
        let map = Value::Map(vec![("a".into(), 1.into()), ("p".into(), point.into())]);
        assert_eq!(Value::Array(vec![map, Value::Null, 1.0.into()]).to_string(), "[{a=1, p=Struct{x=1}}, null, 1.0]");
    }

    #[test]
    fn numbers_with_a_point_print_as_java_prints_them() {
        let doubles =
            [1e21, 1e-7, 100.0, 12_345_678.0, 1e7, 9_999_999.5, 0.001, 0.000_99, -0.0, f64::NAN, -f64::INFINITY];
        let shown: Vec<_> = doubles.iter().map(|value| Value::from(*value).to_string()).collect();
        let expected = "1.0E21 1.0E-7 100.0 1.2345678E7 1.0E7 9999999.5 0.001 9.9E-4 -0.0 NaN -Infinity";
        assert_eq!(shown.join(" "), expected);
        assert_eq!(Value::from(16_777_217.0_f32).to_string(), "1.6777216E7");
        assert_eq!(Value::from(-1e-10_f32).to_string(), "-1.0E-10");
    }

    #[test]
    fn times_print_as_java_prints_them() {
        let shown = |schema: Schema, value: Value<'_>| value.shown(Some(&schema)).to_string();
        assert_eq!(shown(Schema::date(), 19_000.into()), "Sat Jan 08 00:00:00 UTC 2022");
        assert_eq!(shown(Schema::date(), (-1).into()), "Wed Dec 31 00:00:00 UTC 1969");
        assert_eq!(shown(Schema::date(), 11_016.into()), "Tue Feb 29 00:00:00 UTC 2000");
        assert_eq!(shown(Schema::time(), 3_723_004.into()), "Thu Jan 01 01:02:03 UTC 1970");
        assert_eq!(shown(Schema::timestamp(), 1_700_000_000_123_i64.into()), "Tue Nov 14 22:13:20 UTC 2023");
        assert!(!shown(Schema::timestamp(), i64::MIN.into()).is_empty());
        let times = Schema::array(Schema::date());
        assert_eq!(shown(times, Value::Array(vec![0.into()])), "[Thu Jan 01 00:00:00 UTC 1970]");
    }

    #[test]
    fn decimals_print_as_java_prints_them() {
        let shown = |scale: i32, bytes: &[u8]| Value::from(bytes).shown(Some(&Schema::decimal(scale))).to_string();
        assert_eq!(shown(2, &[0x30, 0x39]), "123.45");
        assert_eq!(shown(0, &[0xff]), "-1");
        assert_eq!(shown(2, &[0xff]), "-0.01");
        assert_eq!(shown(4, &[0x80, 0x00]), "-3.2768");
        assert_eq!(shown(-3, &[12]), "1.2E+4");
        assert_eq!(shown(-1, &[0]), "0E+1");
        assert_eq!(shown(8, &[5]), "5E-8");
        assert_eq!(shown(9, &[0x30, 0x39]), "0.000012345");
        assert_eq!(shown(0, &[1, 0, 0, 0, 0, 0, 0, 0, 0]), "18446744073709551616");
        assert_eq!(shown(0, &[0xff, 0, 0, 0, 0, 0, 0, 0, 0]), "-18446744073709551616");
    }
}
