//! Regular expressions in Java's syntax.

use fancy_regex::Regex;

/// The error is the reason alone.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    Regex::new(&translate(pattern)?).map_err(|error| error.to_string())
}

/// Quotes (`\Q…\E`) are written out; counts that don't end are refused, which the engine would take as
/// plain text.
fn translate(pattern: &str) -> Result<String, String> {
    let mut result = String::with_capacity(pattern.len());
    let mut rest = pattern;
    let mut class_depth = 0_usize;
    while let Some(char) = rest.chars().next() {
        if let Some(quoted) = rest.strip_prefix("\\Q") {
            let (content, behind) = quoted.split_once("\\E").unwrap_or((quoted, ""));
            result.push_str(&fancy_regex::escape(content));
            rest = behind;
            continue;
        }
        let taken = match char {
            '\\' => escape_length(rest),
            '{' if class_depth == 0 => count_length(rest).ok_or("Unclosed counted closure")?,
            _ => char.len_utf8(),
        };
        match char {
            '[' => class_depth += 1,
            ']' => class_depth = class_depth.saturating_sub(1),
            _ => {}
        }
        result.push_str(&rest[..taken]);
        rest = &rest[taken..];
    }
    Ok(result)
}

/// A backslash with what belongs to it: a character, and a name in braces behind some letters.
fn escape_length(text: &str) -> usize {
    let Some(escaped) = text[1..].chars().next() else { return 1 };
    let length = 1 + escaped.len_utf8();
    let braced = matches!(escaped, 'p' | 'P' | 'x' | 'N') && text[length..].starts_with('{');
    match text[length..].find('}').filter(|_| braced) {
        Some(end) => length + end + 1,
        None => length,
    }
}

/// `{2}`, `{2,}` or `{2,5}`.
fn count_length(text: &str) -> Option<usize> {
    let end = text.find('}')?;
    let (least, most) = text[1..end].split_once(',').unwrap_or((&text[1..end], ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (!least.is_empty() && is_number(least) && is_number(most)).then_some(end + 1)
}
