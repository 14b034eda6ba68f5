//! Floating point numbers as Java writes them.
//!
//! Connect's texts (JSON, headers, `toString`) hold `1.0E10` and `100.0` where Rust writes `1e10` and
//! `100`. Digits are the shortest that read back as the same number; where a single digit would do, Java
//! takes the two nearest ones (`4.9E-324`), which this follows. Java 17 sometimes prints more digits
//! than needed; this doesn't.

use std::fmt::{LowerExp, Write as _};

/// Appends `number` in Java's form: plain from 0.001 up to 10 million, with an exponent beyond.
pub fn write_f64(number: f64, out: &mut String) {
    match number {
        _ if number.is_nan() => out.push_str("NaN"),
        _ if number.is_infinite() => out.push_str(if number > 0.0 { "Infinity" } else { "-Infinity" }),
        _ => write_finite(number, number.is_sign_negative(), number == 0.0, out),
    }
}

/// As [`write_f64`], with the digits that a 32-bit float needs.
pub fn write_f32(number: f32, out: &mut String) {
    match number {
        _ if number.is_nan() => out.push_str("NaN"),
        _ if number.is_infinite() => out.push_str(if number > 0.0 { "Infinity" } else { "-Infinity" }),
        _ => write_finite(number, number.is_sign_negative(), number == 0.0, out),
    }
}

fn write_finite(number: impl LowerExp, negative: bool, zero: bool, out: &mut String) {
    if zero {
        out.push_str(if negative { "-0.0" } else { "0.0" });
        return;
    }
    let mut text = Scratch::default();
    // A scratch of this size holds any float: 17 digits, two signs, a point and an exponent.
    let _ = write!(text, "{number:e}");
    if text.digits().1.len() == 1 {
        text.clear();
        let _ = write!(text, "{number:.1e}");
    }
    if negative {
        out.push('-');
    }
    let (exponent, digits) = text.digits();
    lay_out(digits, exponent, out);
}

/// Places the point among `digits`, of which the first stands for 10^`exponent`.
fn lay_out(digits: Digits<'_>, exponent: i32, out: &mut String) {
    match exponent {
        -3..0 => {
            out.push_str("0.");
            (exponent..-1).for_each(|_| out.push('0'));
            digits.push(0..digits.len(), out);
        }
        0..7 => {
            let whole = exponent as usize + 1;
            digits.push(0..whole, out);
            out.push('.');
            digits.push(whole..digits.len().max(whole + 1), out);
        }
        _ => {
            digits.push(0..1, out);
            out.push('.');
            digits.push(1..digits.len().max(2), out);
            let _ = write!(out, "E{exponent}");
        }
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

    fn push(self, range: std::ops::Range<usize>, out: &mut String) {
        for index in range {
            let digit = match index {
                0 => self.first,
                _ => self.rest.get(index - 1).copied().unwrap_or(b'0'),
            };
            out.push(char::from(digit));
        }
    }
}

/// The text `d.ddde-xx` of a number, on the stack.
#[derive(Default)]
struct Scratch {
    bytes: [u8; 32],
    len: usize,
}

impl Scratch {
    fn clear(&mut self) {
        self.len = 0;
    }

    /// Exponent and digits, the sign left out.
    fn digits(&self) -> (i32, Digits<'_>) {
        let text = &self.bytes[..self.len];
        let text = text.strip_prefix(b"-").unwrap_or(text);
        let end = text.iter().position(|byte| *byte == b'e').unwrap_or(text.len());
        let exponent = text
            .get(end + 1..)
            .and_then(|exponent| std::str::from_utf8(exponent).ok());
        let fraction = text[..end].get(2..).unwrap_or_default();
        let zeros = fraction.iter().rev().take_while(|digit| **digit == b'0').count();
        let digits = Digits {
            first: text[0],
            rest: &fraction[..fraction.len() - zeros],
        };
        (exponent.and_then(|exponent| exponent.parse().ok()).unwrap_or(0), digits)
    }
}

impl std::fmt::Write for Scratch {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        self.bytes
            .get_mut(self.len..end)
            .ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
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
        for (number, expected) in [
            (0.1, "0.1"),
            (f32::MAX, "3.4028235E38"),
            (f32::from_bits(1), "1.4E-45"),
            (1.234_567_9e8, "1.2345679E8"),
        ] {
            let mut text = String::new();
            write_f32(number, &mut text);
            assert_eq!(text, expected);
        }
    }
}
