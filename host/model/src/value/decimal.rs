//! Decimal numbers of any size: `java.math.BigDecimal` as far as Connect needs it.

use std::fmt;

use bytes::Bytes;
use num_bigint::BigInt;

use super::DataError;

/// `unscaled` × 10^-`scale`, of any size: the bytes are big-endian two's complement, as short as
/// possible, at least one. 1.50 and 1.5 are not equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    pub unscaled: Bytes,
    pub scale: i32,
}

/// Longest number text that is read as a number; turning digits into bits takes quadratic time, and the
/// digits are a stranger's.
const MAX_DIGITS: usize = 10_000;

/// Longest unscaled number that is written as text, for the same reason.
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
fn shortest(bytes: &[u8]) -> Bytes {
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

/// A number as it was written: sign, digits, scale. Nothing is expanded, so `1E999999999` costs nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Number {
    negative: bool,
    /// At least one; leading zeros dropped, zero is `0`.
    digits: String,
    scale: i32,
}

impl Number {
    /// Java's syntax: a sign, digits with at most one point among them, an exponent.
    pub fn parse(text: &str) -> Result<Self, DataError> {
        let not_a_number = || DataError(format!("`{}` is no number", text.chars().take(100).collect::<String>()));
        if text.len() > MAX_DIGITS {
            return Err(not_a_number());
        }
        let (negative, unsigned) = split_sign(text);
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => (&unsigned[..at], parse_exponent(&unsigned[at + 1..]).ok_or_else(not_a_number)?),
            None => (unsigned, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let mut digits = String::with_capacity(whole.len() + fraction.len());
        digits.push_str(whole);
        digits.push_str(fraction);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(not_a_number());
        }
        let scale = i32::try_from(fraction.len() as i64 - exponent).map_err(|_| not_a_number())?;
        let zeros = digits.bytes().take_while(|byte| *byte == b'0').count();
        digits.drain(..zeros.min(digits.len() - 1));
        Ok(Self { negative: negative && digits != "0", digits, scale })
    }

    pub fn scale(&self) -> i32 {
        self.scale
    }

    pub fn is_zero(&self) -> bool {
        self.digits == "0"
    }

    /// Whether nothing but zeros stands behind the point.
    pub fn is_whole(&self) -> bool {
        let behind = usize::try_from(self.scale).unwrap_or(0);
        self.is_zero()
            || (behind < self.digits.len() && self.digits.bytes().rev().take(behind).all(|digit| digit == b'0'))
    }

    /// The number, if it is a whole one within 64 bits.
    pub fn to_i64(&self) -> Option<i64> {
        if !self.is_whole() {
            return None;
        }
        if self.is_zero() {
            return Some(0);
        }
        let whole = self.whole_digits();
        let zeros = self.trailing_zeros();
        if whole.len() as i64 + zeros > 19 {
            return None;
        }
        let magnitude: i128 = whole.parse::<i128>().ok()? * 10_i128.pow(u32::try_from(zeros).ok()?);
        i64::try_from(if self.negative { -magnitude } else { magnitude }).ok()
    }

    /// The lowest 64 bits of the number with its fraction cut: `BigDecimal.longValue`.
    pub fn low_bits(&self) -> i64 {
        let Ok(zeros) = u32::try_from(self.trailing_zeros()) else {
            return 0;
        };
        // 10^64 is a multiple of 2^64.
        if zeros >= 64 {
            return 0;
        }
        let magnitude = self
            .whole_digits()
            .bytes()
            .fold(0_i64, |number, digit| number.wrapping_mul(10).wrapping_add(i64::from(digit - b'0')))
            .wrapping_mul(10_i64.wrapping_pow(zeros));
        if self.negative { magnitude.wrapping_neg() } else { magnitude }
    }

    /// Nearest double; infinite if there is none. A negative zero doesn't exist here.
    pub fn to_f64(&self) -> f64 {
        self.exponent_form().parse().unwrap_or(f64::NAN)
    }

    /// Nearest float.
    pub fn to_f32(&self) -> f32 {
        self.exponent_form().parse().unwrap_or(f32::NAN)
    }

    pub fn to_decimal(&self) -> Decimal {
        Decimal { unscaled: self.unscaled(), scale: self.scale }
    }

    /// The same number with zeros added or dropped behind the point; none if there are none to drop, or
    /// too many to add.
    fn with_scale(mut self, scale: i32) -> Option<Self> {
        let added = i64::from(scale) - i64::from(self.scale);
        if self.is_zero() {
            // Zero is zero at any scale.
        } else if let Ok(added) = usize::try_from(added) {
            if added > MAX_DIGITS {
                return None;
            }
            self.digits.extend(std::iter::repeat_n('0', added));
        } else {
            let kept = self.digits.len().checked_sub(usize::try_from(-added).ok()?)?;
            if self.digits[kept..].bytes().any(|digit| digit != b'0') {
                return None;
            }
            self.digits.truncate(kept);
        }
        self.scale = scale;
        Some(self)
    }

    fn unscaled(&self) -> Bytes {
        let sign = if self.negative { "-" } else { "" };
        let text = format!("{sign}{}", self.digits);
        match text.parse::<i64>() {
            Ok(number) => shortest(&number.to_be_bytes()),
            Err(_) => Bytes::from(text.parse::<BigInt>().unwrap_or_default().to_signed_bytes_be()),
        }
    }

    /// The digits before the point, as far as they are written.
    fn whole_digits(&self) -> &str {
        let behind = usize::try_from(self.scale).unwrap_or(0);
        &self.digits[..self.digits.len().saturating_sub(behind)]
    }

    /// How many zeros follow the written digits before the point.
    fn trailing_zeros(&self) -> i64 {
        (-i64::from(self.scale)).max(0)
    }

    fn exponent_form(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        format!("{sign}{}e{}", self.digits, -i64::from(self.scale))
    }
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

/// A sign and one to ten digits.
fn parse_exponent(text: &str) -> Option<i64> {
    let (negative, digits) = split_sign(text);
    if digits.is_empty() || digits.len() > 10 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let magnitude: i64 = digits.parse().ok()?;
    Some(if negative { -magnitude } else { magnitude })
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

    #[test]
    fn narrowing_follows_java() {
        for (text, whole, low) in [
            ("1.9", None, 1),
            ("-1.9", None, -1),
            ("1e3", Some(1000), 1000),
            ("1.50e1", Some(15), 15),
            ("9223372036854775808", None, i64::MIN),
            ("18446744073709551616", None, 0),
            ("1e999999999", None, 0),
            ("1e-999999999", None, 0),
            ("0.00", Some(0), 0),
            ("0e50", Some(0), 0),
            ("1e63", None, 10_i64.wrapping_pow(63)),
        ] {
            let number = Number::parse(text).unwrap();
            assert_eq!((number.to_i64(), number.low_bits()), (whole, low), "{text}");
        }
    }

    #[test]
    fn what_java_refuses_is_no_number() {
        for text in ["", "+", "-", ".", "1_0", "0x10", "1e", "1 ", "--1", "1e99999999999", "1.2.3", "NaN", "1-"] {
            assert!(Number::parse(text).is_err(), "{text}");
        }
        assert_eq!(Number::parse("100.").unwrap().to_i64(), Some(100));
        assert_eq!(Number::parse("+.5").unwrap().to_f64(), 0.5);
    }
}
