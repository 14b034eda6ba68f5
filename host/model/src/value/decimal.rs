//! Decimal numbers of any size: `java.math.BigDecimal` as far as Connect needs it.

use std::fmt;

use bytes::Bytes;
use num_bigint::BigInt;

use super::{DataError, Number};

/// `unscaled` × 10^-`scale`, of any size: the bytes are big-endian two's complement, as short as
/// possible, at least one. 1.50 and 1.5 are not equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    pub unscaled: Bytes,
    pub scale: i32,
}

/// Longest unscaled number that is written as text, because turning bits into digits takes
/// quadratic time, and the bits are a stranger's.
const MAX_UNSCALED_BYTES: usize = 8 * 1024;

impl Decimal {
    /// A whole number.
    pub fn from_i64(number: i64) -> Self {
        Self { unscaled: shortest(&number.to_be_bytes()), scale: 0 }
    }

    /// From big-endian two's complement of any length but zero.
    pub fn from_unscaled(bytes: &[u8], scale: i32) -> Result<Self, DataError> {
        if bytes.is_empty() {
            return Err(DataError::new("a Decimal needs at least one byte"));
        }
        Ok(Self { unscaled: shortest(bytes), scale })
    }

    /// The number of a text.
    pub fn parse(text: &str) -> Result<Self, DataError> {
        Ok(Number::parse(text)?.to_decimal())
    }

    /// Decimal digits of the unscaled number.
    fn unscaled_text(&self) -> Option<String> {
        match self.unscaled.len() {
            0..=8 => Some(sign_extended(&self.unscaled).to_string()),
            9..=MAX_UNSCALED_BYTES => Some(BigInt::from_signed_bytes_be(&self.unscaled).to_string()),
            _ => None,
        }
    }

    /// `BigDecimal.toString`: plain, or with an exponent where the scale is negative or the number tiny.
    pub fn to_text(&self) -> Result<String, DataError> {
        let Some(text) = self.unscaled_text() else {
            return Err(DataError(format!(
                "a Decimal of {} bytes is too large to be written as text",
                self.unscaled.len()
            )));
        };
        Ok(layout(&text, self.scale))
    }

    /// The same number with another scale, unless that loses digits.
    pub fn with_scale(&self, scale: i32) -> Result<Self, DataError> {
        if scale == self.scale {
            return Ok(self.clone());
        }
        let rescaled = self.to_number()?.with_scale(scale).map(|number| number.to_decimal());
        rescaled.ok_or_else(|| DataError(format!("the number {self} cannot be written with a scale of {scale}")))
    }

    /// The same number as text and scale.
    pub fn to_number(&self) -> Result<Number, DataError> {
        Number::parse(&self.to_text()?)
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_text() {
            Ok(text) => f.write_str(&text),
            Err(_) => write!(f, "a number of {} bytes", self.unscaled.len()),
        }
    }
}

/// Drops bytes that only repeat the sign.
pub(super) fn shortest(bytes: &[u8]) -> Bytes {
    let redundant = bytes
        .windows(2)
        .take_while(|pair| (pair[0] == 0 && pair[1] < 0x80) || (pair[0] == 0xff && pair[1] >= 0x80))
        .count();
    Bytes::copy_from_slice(&bytes[redundant..])
}

/// Up to eight bytes of two's complement.
fn sign_extended(bytes: &[u8]) -> i64 {
    let sign = bytes.first().map_or(0, |first| if *first >= 0x80 { -1 } else { 0 });
    bytes.iter().fold(sign, |number, byte| (number << 8) | i64::from(*byte))
}

/// Places point and exponent in the digits of an unscaled number.
fn layout(unscaled: &str, scale: i32) -> String {
    if scale == 0 {
        return unscaled.to_owned();
    }
    let (sign, digits) = match unscaled.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", unscaled),
    };
    let exponent = digits.len() as i64 - 1 - i64::from(scale);
    if scale > 0 && exponent >= -6 {
        return format!("{sign}{}", with_point(digits, scale as usize));
    }
    let (first, rest) = digits.split_at(1);
    let point = if rest.is_empty() { "" } else { "." };
    match exponent {
        0 => format!("{sign}{first}{point}{rest}"),
        _ => format!("{sign}{first}{point}{rest}E{exponent:+}"),
    }
}

/// `scale` digits behind the point.
fn with_point(digits: &str, scale: usize) -> String {
    match digits.len().checked_sub(scale) {
        None | Some(0) => format!("0.{digits:0>scale$}"),
        Some(whole) => format!("{}.{}", &digits[..whole], &digits[whole..]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_those_of_java() {
        for (unscaled, scale, expected) in [
            (15600, 2, "156.00"),
            (156, 3, "0.156"),
            (156, -2, "1.56E+4"),
            (1, 10, "1E-10"),
            (1, 12, "1E-12"),
            (-5, 1, "-0.5"),
            (1, 6, "0.000001"),
            (1, 7, "1E-7"),
            (12, 7, "0.0000012"),
            (0, 2, "0.00"),
            (1, -400, "1E+400"),
            (i64::MIN, 0, "-9223372036854775808"),
        ] {
            let decimal = Decimal { scale, ..Decimal::from_i64(unscaled) };
            assert_eq!(decimal.to_text().unwrap(), expected);
            assert_eq!(Decimal::parse(expected).unwrap(), decimal);
        }
    }

    #[test]
    fn bytes_are_as_short_as_possible() {
        for (number, bytes) in [(0, &[0_u8][..]), (127, &[127]), (128, &[0, 128]), (-128, &[128]), (-129, &[255, 127])]
        {
            assert_eq!(Decimal::from_i64(number).unscaled, bytes);
        }
        assert_eq!(Decimal::from_unscaled(&[0, 0, 1], 2).unwrap().unscaled, &[1_u8][..]);
        assert_eq!(Decimal::from_unscaled(&[255, 255, 128], 2).unwrap().unscaled, &[128_u8][..]);
    }

    #[test]
    fn numbers_beyond_64_bits_survive() {
        let text = "123456789012345678901234567890.5";
        assert_eq!(Decimal::parse(text).unwrap().to_text().unwrap(), text);
    }

    #[test]
    fn a_scale_changes_only_without_loss() {
        for (text, scale, expected) in [
            ("156", 2, Some("156.00")),
            ("1.5600", 2, Some("1.56")),
            ("1.561", 2, None),
            ("1E+3", 0, Some("1000")),
            ("0", 3, Some("0.000")),
            ("-5", i32::MAX, None),
        ] {
            let rescaled = Decimal::parse(text).unwrap().with_scale(scale).ok();
            assert_eq!(rescaled.map(|decimal| decimal.to_string()).as_deref(), expected, "{text}");
        }
    }
}
