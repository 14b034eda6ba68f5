//! Texts of properties, as Java reads them.

use std::borrow::Cow;

use bulkhead_model::RawConfig;
use java_properties::PropertiesIter;

/// In the order of the text; of a key that is there twice the last value counts. The error says in which line it is.
pub fn parse(text: &str) -> Result<RawConfig, String> {
    let mut properties = RawConfig::new();
    PropertiesIter::new_with_encoding(with_whole_characters(text).as_bytes(), encoding_rs::UTF_8)
        .read_into(|key, value| properties.set(key, value))
        .map_err(|error| match error.line_number() {
            Some(line) => format!("line {line}: {error}"),
            None => error.to_string(),
        })?;
    Ok(properties)
}

/// An escape has 16 bits, so that a character beyond the basic plane is two of them; the library takes each for one.
fn with_whole_characters(text: &str) -> Cow<'_, str> {
    if !text.contains("\\u") {
        return Cow::Borrowed(text);
    }
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        whole.push_str(&rest[..at]);
        rest = &rest[at..];
        match pair(rest) {
            Some(character) => {
                whole.push(character);
                rest = &rest[PAIR..];
            }
            None => {
                let escaped = 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                whole.push_str(&rest[..escaped]);
                rest = &rest[escaped..];
            }
        }
    }
    whole.push_str(rest);
    Cow::Owned(whole)
}

/// Length of an escape, and of two.
const ESCAPE: usize = 6;
const PAIR: usize = 2 * ESCAPE;

fn pair(text: &str) -> Option<char> {
    let units = [unit(text)?, unit(text.get(ESCAPE..)?)?];
    char::decode_utf16(units).next()?.ok().filter(|character| character.len_utf16() == 2)
}

fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    u16::from_str_radix(digits, 16).ok().filter(|_| is_hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = |(key, value): (&str, &str)| format!("{key}={value}");
        let found = parse(text).map(|properties| properties.iter().map(shown).collect::<Vec<_>>().join("|"));
        assert_eq!(found.unwrap_or_else(|error| error), expected);
    }

    #[test]
    fn two_escapes_may_be_one_character() {
        check("k=a\\ud83d\\ude00b\\u00e4", "k=a😀bä");
        check("k=\\\\ud83d\\\\ude00", "k=\\ud83d\\ude00");
        check("\\uD83D\\uDE00=\\\\\\uD83D\\uDE00", "😀=\\😀");
        check("k=\\u0041\\u0042", "k=AB");
    }

    #[test]
    fn half_a_character_is_an_error() {
        for text in ["k=\\ud83d", "k=\\ud83d\\u0041", "k=\\ude00\\ud83d", "k=\\ud83dx"] {
            assert!(parse(text).unwrap_err().starts_with("line 1: "), "{text}");
        }
    }
}
