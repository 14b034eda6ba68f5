//! Regular expressions in Java's syntax.
//!
//! The engine backtracks like Java's, so that look-around and back references work, but gives up after a
//! bounded number of steps where Java would go on for hours. Character classes are those of the engine,
//! which know all of Unicode where Java's know ASCII; topic names have nothing else.

use bulkhead_model::config::java_regex;

use crate::convert::ConvertError;

/// A pattern that is compared with whole texts.
#[derive(Debug)]
pub(crate) struct Regex {
    whole: fancy_regex::Regex,
    part: fancy_regex::Regex,
}

impl Regex {
    /// The error is the reason alone.
    pub(crate) fn new(pattern: &str) -> Result<Self, String> {
        // First alone, so that an unbalanced parenthesis cannot close the one added around.
        let part = java_regex::compile(pattern)?;
        let whole = fancy_regex::Regex::new(&format!("\\A(?:{})\\z", part.as_str()));
        Ok(Self { whole: whole.map_err(|error| error.to_string())?, part })
    }

    pub(crate) fn matches(&self, text: &str) -> Result<bool, ConvertError> {
        self.whole.is_match(text).map_err(|error| failed(&error))
    }

    /// The text with the first match in it replaced. That match is looked for anew, so that it may be
    /// shorter than the whole text.
    pub(super) fn replace_first(&self, text: &str, replacement: &str) -> Result<String, ConvertError> {
        let captures = self.part.captures(text).map_err(|error| failed(&error))?;
        let Some(captures) = captures else { return Ok(text.to_owned()) };
        let Some(found) = captures.get(0) else { return Ok(text.to_owned()) };
        let mut result = text[..found.start()].to_owned();
        self.expand(replacement, &captures, &mut result)?;
        result.push_str(&text[found.end()..]);
        Ok(result)
    }

    /// Java's replacements: `$1` with as many digits as name a group, `${name}`, and `\` before a literal.
    fn expand(
        &self,
        replacement: &str,
        captures: &fancy_regex::Captures<'_, str>,
        out: &mut String,
    ) -> Result<(), ConvertError> {
        let mut rest = replacement;
        while let Some(at) = rest.find(['\\', '$']) {
            out.push_str(&rest[..at]);
            let behind = &rest[at + 1..];
            rest = if rest[at..].starts_with('\\') {
                let literal = behind.chars().next().ok_or_else(|| bad("character to be escaped is missing"))?;
                out.push(literal);
                &behind[literal.len_utf8()..]
            } else if let Some(name) = behind.strip_prefix('{') {
                let (name, behind) =
                    name.split_once('}').ok_or_else(|| bad("named capturing group lacks its brace"))?;
                if !self.part.capture_names().flatten().any(|known| known == name) {
                    return Err(bad(&format!("No group with name {{{name}}}")));
                }
                push_group(captures.name(name), out);
                behind
            } else {
                let (number, behind) = group_number(behind, captures.len())?;
                push_group(captures.get(number), out);
                behind
            };
        }
        out.push_str(rest);
        Ok(())
    }
}

fn failed(error: &fancy_regex::Error) -> ConvertError {
    ConvertError::Other(format!("the regular expression gave up: {error}"))
}

/// A group that took no part is empty.
fn push_group(group: Option<fancy_regex::Match<'_>>, out: &mut String) {
    out.push_str(group.map_or("", |group| group.as_str()));
}

fn group_number(text: &str, groups: usize) -> Result<(usize, &str), ConvertError> {
    let digit = |text: &str| text.chars().next().and_then(|char| char.to_digit(10)).map(|digit| digit as usize);
    let mut number = digit(text).ok_or_else(|| bad("Illegal group reference"))?;
    if number >= groups {
        return Err(bad(&format!("No group {number}")));
    }
    let mut rest = &text[1..];
    while let Some(longer) = digit(rest).map(|digit| number * 10 + digit).filter(|longer| *longer < groups) {
        number = longer;
        rest = &rest[1..];
    }
    Ok((number, rest))
}

fn bad(reason: &str) -> ConvertError {
    ConvertError::Other(format!("the replacement cannot be used: {reason}"))
}
