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
            _ if number.is_subnormal() => Self::of_subnormal(number),
            _ => Self::of_shortest(zmij::Buffer::new().format_finite(number)),
        }
    }

    pub fn of_f32(number: f32) -> Self {
        match number {
            _ if number.is_subnormal() => Self::of_subnormal(number),
            _ if number.is_normal() => Self::of_shortest(zmij::Buffer::new().format_finite(number)),
            _ => Self::of_f64(number.into()),
        }
    }

    /// From a text in whatever layout.
    fn of_shortest(text: &str) -> Self {
        let unsigned = text.strip_prefix('-').unwrap_or(text);
        let mut result = Self::of_text(if unsigned.len() < text.len() { b"-" } else { b"" });
        result.lay_out(&Digits::of(unsigned));
        result
    }

    /// Only these numbers are so coarse that a second digit isn't a zero.
    fn of_subnormal(number: impl LowerExp) -> Self {
        let shortest = format!("{number:e}");
        let digits = shortest.bytes().take_while(|byte| *byte != b'e').filter(u8::is_ascii_digit).count();
        let text = if digits == 1 { format!("{number:.1e}") } else { shortest };
        Self::of_shortest(&text)
    }

    /// Places point and exponent among digits.
    fn lay_out(&mut self, digits: &Digits) {
        let exponent = digits.exponent;
        match exponent {
            -3..0 => {
                self.extend(b"0.");
                (exponent..-1).for_each(|_| self.push(b'0'));
                self.extend(digits.range(0..digits.len));
            }
            0..7 => {
                let whole = exponent as usize + 1;
                self.extend(digits.range(0..whole));
                self.push(b'.');
                self.extend(digits.range(whole..digits.len.max(whole + 1)));
            }
            _ => {
                self.extend(digits.range(0..1));
                self.push(b'.');
                self.extend(digits.range(1..digits.len.max(2)));
                // Writing fails only when the text is full, and it has room for any number.
                let _ = write!(self, "E{exponent}");
            }
        }
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

/// The significant digits of a number, without zeros before or behind.
struct Digits {
    /// Zeros behind the digits, so that a range may reach beyond them.
    digits: [u8; Self::CAPACITY],
    len: usize,
    /// The first digit stands for 10 to this power.
    exponent: i32,
}

impl Digits {
    /// Room for 17 digits and the zeros of a plain number beside them.
    const CAPACITY: usize = 32;

    /// Of a text such as `0.00125`, `100.0` or `1.5e-7`.
    fn of(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
        let mut digits = Self { digits: [b'0'; Self::CAPACITY], len: 0, exponent: -1 };
        let mut behind_point = false;
        for byte in mantissa.bytes() {
            match byte {
                b'.' => behind_point = true,
                b'0' if digits.len == 0 && behind_point => digits.exponent -= 1,
                b'0' if digits.len == 0 => {}
                digit => {
                    digits.push(digit);
                    digits.exponent += i32::from(!behind_point);
                }
            }
        }
        digits.exponent += exponent.parse::<i32>().unwrap_or(0);
        let zeros = digits.digits[..digits.len].iter().rev().take_while(|digit| **digit == b'0').count();
        digits.len -= zeros;
        digits
    }

    fn push(&mut self, digit: u8) {
        if let Some(room) = self.digits.get_mut(self.len) {
            *room = digit;
            self.len += 1;
        }
    }

    fn range(&self, range: Range<usize>) -> &[u8] {
        &self.digits[range]
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
