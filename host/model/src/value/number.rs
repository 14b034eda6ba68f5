//! Numbers in text, before anybody has decided which type they get.

use bytes::Bytes;
use num_bigint::BigInt;

use super::decimal::shortest;
use super::{DataError, Decimal};

/// Longest number text that is read as a number; turning digits into bits takes quadratic time, and the
/// digits are a stranger's.
const MAX_DIGITS: usize = 10_000;

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
    pub(super) fn with_scale(mut self, scale: i32) -> Option<Self> {
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
