//! Strings of a JSON text.

use std::borrow::Cow;

use super::super::text::{find_first, is_special};
use super::{Lexer, Syntax};

/// Longest string, in bytes.
const MAX_STRING: usize = 20_000_000;

impl<'a> Lexer<'a> {
    pub(in super::super) fn string(&mut self) -> Result<Cow<'a, str>, Syntax> {
        let start = self.at + 1;
        let end = self.plain_until(start)?;
        if self.text[end] == b'"' {
            self.at = end + 1;
            let text = std::str::from_utf8(&self.text[start..end]).map_err(|_| Syntax(start))?;
            return if text.len() > MAX_STRING { Err(Syntax(start)) } else { Ok(text.into()) };
        }
        self.escaped_string(start, end).map(Cow::Owned)
    }

    /// Where the characters that stand for themselves end: at a quote or a backslash.
    fn plain_until(&self, start: usize) -> Result<usize, Syntax> {
        let rest = self.text.get(start..).ok_or(Syntax(start))?;
        let length = find_first(rest, is_special).ok_or(Syntax(self.text.len()))?;
        match rest[length] {
            b'"' | b'\\' => Ok(start + length),
            _ => Err(Syntax(start + length)),
        }
    }

    /// A string in which the first backslash is at `backslash`.
    fn escaped_string(&mut self, start: usize, backslash: usize) -> Result<String, Syntax> {
        let mut text = String::new();
        let (mut from, mut to) = (start, backslash);
        loop {
            let plain = std::str::from_utf8(&self.text[from..to]).map_err(|_| Syntax(from))?;
            text.push_str(plain);
            if text.len() > MAX_STRING {
                return Err(Syntax(start));
            }
            self.at = to + 1;
            if self.text[to] == b'"' {
                return Ok(text);
            }
            text.push(self.escape()?);
            from = self.at;
            to = self.plain_until(from)?;
        }
    }

    /// The character that is written behind a backslash.
    fn escape(&mut self) -> Result<char, Syntax> {
        let letter = self.peek().ok_or(self.syntax())?;
        self.at += 1;
        Ok(match letter {
            b'"' | b'\\' | b'/' => char::from(letter),
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => {
                let unit = self.hex_digits()?;
                self.pair_up(unit)?
            }
            _ => return Err(Syntax(self.at - 1)),
        })
    }

    fn hex_digits(&mut self) -> Result<u16, Syntax> {
        let digits = self.text.get(self.at..self.at + 4).ok_or(self.syntax())?;
        let mut unit = 0;
        for digit in digits {
            let digit = char::from(*digit).to_digit(16).ok_or(self.syntax())?;
            unit = unit << 4 | digit as u16;
        }
        self.at += 4;
        Ok(unit)
    }

    /// Half of a surrogate pair takes the other half along. On its own it is a character in Java only.
    fn pair_up(&mut self, unit: u16) -> Result<char, Syntax> {
        let alone = || char::from_u32(unit.into()).unwrap_or(char::REPLACEMENT_CHARACTER);
        if !(0xd800..0xdc00).contains(&unit) || !self.text[self.at..].starts_with(b"\\u") {
            return Ok(alone());
        }
        let before = self.at;
        self.at += 2;
        let low = self.hex_digits()?;
        match char::decode_utf16([unit, low]).next() {
            Some(Ok(char)) => Ok(char),
            _ => {
                self.at = before;
                Ok(alone())
            }
        }
    }
}
