//! Floating point numbers as Java writes them.
//!
//! Connect's texts (JSON, headers, `toString`) hold `1.0E10` and `100.0` where Rust writes `1e10` and
//! `100`. Digits are the shortest that read back as the same number; where a single digit would do, Java
//! takes the two nearest ones (`4.9E-324`), which this follows. Java 17 sometimes prints more digits
//! than needed; this doesn't.

use std::fmt::{LowerExp, Write as _};
use std::ops::{Deref, Range};

/// The text of a number, on the stack.
#[derive(Clone, Copy, Debug)]
pub struct FloatText {
    bytes: [u8; Self::CAPACITY],
    len: usize,
}

/// Appends `number` in Java's form: plain from 0.001 up to 10 million, with an exponent beyond.
pub fn write_f64(number: f64, out: &mut String) {
    out.push_str(&FloatText::of_f64(number));
}

/// As [`write_f64`], with the digits that a 32-bit float needs.
pub fn write_f32(number: f32, out: &mut String) {
    out.push_str(&FloatText::of_f32(number));
}

impl FloatText {
    /// Room for 17 digits, two signs, a point and an exponent.
    const CAPACITY: usize = 32;

    const EMPTY: Self = Self { bytes: [0; Self::CAPACITY], len: 0 };

    pub fn of_f64(number: f64) -> Self {
        match number {
            _ if number.is_nan() => Self::of_text(b"NaN"),
            f64::INFINITY => Self::of_text(b"Infinity"),
            f64::NEG_INFINITY => Self::of_text(b"-Infinity"),
            _ if number == 0.0 => Self::of_text(if number.is_sign_negative() { b"-0.0" } else { b"0.0" }),
            _ => Self::of_finite(number, number.is_sign_negative()),
        }
    }

    pub fn of_f32(number: f32) -> Self {
        match number {
            _ if number.is_finite() && number != 0.0 => Self::of_finite(number, number.is_sign_negative()),
            _ => Self::of_f64(number.into()),
        }
    }

    fn of_finite(number: impl LowerExp, negative: bool) -> Self {
        let mut exact = Self::EMPTY;
        // Writing fails only when the text is full, and it has room for any number.
        let _ = write!(exact, "{number:e}");
        if exact.digits().1.len() == 1 {
            exact.len = 0;
            let _ = write!(exact, "{number:.1e}");
        }
        let mut text = Self::EMPTY;
        if negative {
            text.push(b'-');
        }
        let (exponent, digits) = exact.digits();
        text.lay_out(digits, exponent);
        text
    }

    /// Places the point among `digits`, of which the first stands for 10^`exponent`.
    fn lay_out(&mut self, digits: Digits<'_>, exponent: i32) {
        match exponent {
            -3..0 => {
                self.extend(b"0.");
                (exponent..-1).for_each(|_| self.push(b'0'));
                self.push_digits(digits, 0..digits.len());
            }
            0..7 => {
                let whole = exponent as usize + 1;
                self.push_digits(digits, 0..whole);
                self.push(b'.');
                self.push_digits(digits, whole..digits.len().max(whole + 1));
            }
            _ => {
                self.push_digits(digits, 0..1);
                self.push(b'.');
                self.push_digits(digits, 1..digits.len().max(2));
                let _ = write!(self, "E{exponent}");
            }
        }
    }

    /// Exponent and digits of a text `-d.ddde-xx`, the sign left out.
    fn digits(&self) -> (i32, Digits<'_>) {
        let text = self.as_bytes();
        let text = text.strip_prefix(b"-").unwrap_or(text);
        let end = text.iter().position(|byte| *byte == b'e').unwrap_or(text.len());
        let exponent = text.get(end + 1..).and_then(|text| std::str::from_utf8(text).ok());
        let fraction = text[..end].get(2..).unwrap_or_default();
        let zeros = fraction.iter().rev().take_while(|digit| **digit == b'0').count();
        let digits = Digits { first: text[0], rest: &fraction[..fraction.len() - zeros] };
        (exponent.and_then(|text| text.parse().ok()).unwrap_or(0), digits)
    }

    fn push_digits(&mut self, digits: Digits<'_>, range: Range<usize>) {
        range.for_each(|index| self.push(digits.get(index)));
    }

    fn of_text(text: &[u8]) -> Self {
        let mut result = Self::EMPTY;
        result.extend(text);
        result
    }

    fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    fn extend(&mut self, text: &[u8]) {
        let end = self.len + text.len();
        if let Some(room) = self.bytes.get_mut(self.len..end) {
            room.copy_from_slice(text);
            self.len = end;
        }
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl Deref for FloatText {
    type Target = str;

    fn deref(&self) -> &str {
        std::str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

impl std::fmt::Write for FloatText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.extend(text.as_bytes());
        Ok(())
    }
}

/// Significant digits without trailing zeros; whatever lies beyond them is zero.
#[derive(Clone, Copy)]
struct Digits<'a> {
    first: u8,
    rest: &'a [u8],
}

impl Digits<'_> {
    fn len(self) -> usize {
        1 + self.rest.len()
    }

    fn get(self, index: usize) -> u8 {
        match index {
            0 => self.first,
            _ => self.rest.get(index - 1).copied().unwrap_or(b'0'),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_look_as_in_java() {
        for (number, expected) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-1.5, "-1.5"),
            (100.0, "100.0"),
            (0.1, "0.1"),
            (0.001, "0.001"),
            (0.002, "0.002"),
            (0.0125, "0.0125"),
            (0.000999, "9.99E-4"),
            (1.0e-4, "1.0E-4"),
            (9_999_999.0, "9999999.0"),
            (1.0e7, "1.0E7"),
            (1.0e10, "1.0E10"),
            (1.234_567_89e8, "1.23456789E8"),
            (1_234_567.8, "1234567.8"),
            (f64::MAX, "1.7976931348623157E308"),
            (f64::from_bits(1), "4.9E-324"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            let mut text = String::new();
            write_f64(number, &mut text);
            assert_eq!(text, expected);
        }
    }

    #[test]
    fn floats_look_as_in_java() {
        for (number, expected) in
            [(0.1, "0.1"), (f32::MAX, "3.4028235E38"), (f32::from_bits(1), "1.4E-45"), (1.234_567_9e8, "1.2345679E8")]
        {
            let mut text = String::new();
            write_f32(number, &mut text);
            assert_eq!(text, expected);
        }
    }
}
