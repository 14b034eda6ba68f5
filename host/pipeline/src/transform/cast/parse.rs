//! Floating point numbers in the syntax of `Double.parseDouble`.

/// White space around, a suffix `f` or `d`, `NaN`, `Infinity` and hexadecimal digits are allowed.
pub(super) fn parse_double(text: &str) -> Option<f64> {
    let text = text.trim_matches(|char| char <= ' ');
    let (negative, unsigned) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = match unsigned {
        "NaN" => f64::NAN,
        "Infinity" => f64::INFINITY,
        _ => parse_digits(unsigned.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(unsigned))?,
    };
    Some(if negative { -magnitude } else { magnitude })
}

fn parse_digits(text: &str) -> Option<f64> {
    if let Some(hexadecimal) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return parse_hexadecimal(hexadecimal);
    }
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b'e' | b'E' | b'+' | b'-'));
    if is_plain && text.starts_with(|char: char| char.is_ascii_digit() || char == '.') {
        text.parse().ok()
    } else {
        None
    }
}

/// `1.8p-3`: hexadecimal digits, then a power of two in decimal.
fn parse_hexadecimal(text: &str) -> Option<f64> {
    /// More digits than a double has bits for.
    const MAX_DIGITS: usize = 16;
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let exponent: i32 = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: String = [whole, fraction].concat();
    if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    let significant = digits.trim_start_matches('0');
    let kept = &significant[..significant.len().min(MAX_DIGITS - 1)];
    let cut = i32::try_from(significant.len() - kept.len()).ok()?;
    let number = if kept.is_empty() { 0 } else { u64::from_str_radix(kept, 16).ok()? };
    let shift = exponent.saturating_sub(4 * i32::try_from(fraction.len()).ok()?).saturating_add(4 * cut);
    // In two steps, since the power alone may overflow where the number doesn't.
    Some(number as f64 * 2_f64.powi(shift / 2) * 2_f64.powi(shift - shift / 2))
}

#[cfg(test)]
mod tests {
    use super::parse_double;

    #[test]
    fn what_java_reads_is_read() {
        for (text, expected) in [
            ("12", 12.0),
            (" 1.5f ", 1.5),
            ("1e3", 1000.0),
            (".5d", 0.5),
            ("-Infinity", f64::NEG_INFINITY),
            ("0x1p3", 8.0),
            ("-0x1.8p-1", -0.75),
            ("1e999", f64::INFINITY),
        ] {
            assert_eq!(parse_double(text), Some(expected), "{text}");
        }
        for text in ["", "abc", "0x10", "inf", "nan", "1_0", "1e", "--1"] {
            assert_eq!(parse_double(text), None, "{text}");
        }
    }
}
