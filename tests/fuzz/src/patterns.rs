//! Regular expressions in Java's syntax, and patterns of dates.

use bulkhead_model::config::java_regex;
use bulkhead_model::value::time::DateFormat;

/// Longest text that a pattern is tried on: matching may take time without end, within the engine's own bounds.
const MAX_TEXT: usize = 64;

/// `d` and a pattern of dates, or anything else and a regular expression; a line feed; what it is used on.
pub fn patterns(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (pattern, text) = text.split_once('\n').unwrap_or((text, ""));
    match pattern.strip_prefix('d') {
        Some(pattern) => date(pattern, text),
        None => regex(pattern, text),
    }
}

fn regex(pattern: &str, text: &str) {
    let Ok(regex) = java_regex::compile(pattern) else { return };
    if text.len() <= MAX_TEXT {
        // Beyond the engine's bounds it is an error.
        let _ = regex.is_match(text);
        let _ = regex.captures(text);
    }
}

/// What is read of a text that was written is a moment, if not always the same: patterns may leave things out.
fn date(pattern: &str, text: &str) {
    let Ok(format) = DateFormat::new(pattern) else { return };
    let now = text.trim().parse().unwrap_or(1_764_460_800_000);
    let _ = format.parse(text, now);
    let written = format.format(now);
    if let Some(read) = format.parse(&written, now) {
        let _ = format.format(read);
    }
    for moment in [i64::MIN, i64::MAX, 0] {
        let _ = format.parse(&format.format(moment), moment);
    }
}
