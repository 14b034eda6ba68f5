//! JSON's tokens, as strict and as lenient as the parser that Connect uses.
//!
//! Numbers may begin with zeros; nothing else that strict JSON lacks is taken. Texts are bounded like
//! Connect's: they come from whoever may write to a topic.

mod string;

use std::borrow::Cow;

/// Most levels of arrays and objects.
const MAX_DEPTH: usize = 1000;
/// Longest number, in characters.
const MAX_NUMBER: usize = 1000;
/// Longest key, in bytes.
const MAX_KEY: usize = 50_000;

/// The text is no JSON from this byte on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the JSON is damaged, unusually large or deeply nested at byte {0}")]
pub(super) struct Syntax(usize);

/// What comes next, told by its first character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    Array,
    String,
    Number,
    True,
    False,
    Null,
    /// Nothing but white space is left.
    End,
}

/// A number as it stands in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Numeral<'a> {
    pub(super) text: &'a str,
    /// Without point and exponent.
    pub(super) integral: bool,
}

/// Walks through a text. Containers are read by `begin_…` and then `next_…` until that says no.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0, depth: 0 }
    }

    /// How many bytes were read.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The text between two positions.
    pub(super) fn slice(&self, start: usize, end: usize) -> &'a [u8] {
        &self.text[start..end]
    }

    /// Goes on behind `text` if that is what comes next, to the letter.
    pub(super) fn advance_past(&mut self, text: &[u8]) -> bool {
        let found = self.text[self.at..].starts_with(text);
        if found {
            self.at += text.len();
        }
        found
    }

    /// Skips white space and looks at what comes.
    pub(super) fn kind(&mut self) -> Result<Kind, Syntax> {
        self.skip_white_space();
        Ok(match self.peek() {
            None => Kind::End,
            Some(b'{') => Kind::Object,
            Some(b'[') => Kind::Array,
            Some(b'"') => Kind::String,
            Some(b'-' | b'0'..=b'9') => Kind::Number,
            Some(b't') => Kind::True,
            Some(b'f') => Kind::False,
            Some(b'n') => Kind::Null,
            Some(_) => return Err(self.syntax()),
        })
    }

    pub(super) fn literal(&mut self, literal: &str) -> Result<(), Syntax> {
        if self.advance_past(literal.as_bytes()) { Ok(()) } else { Err(self.syntax()) }
    }

    pub(super) fn number(&mut self) -> Result<Numeral<'a>, Syntax> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        self.digits()?;
        let whole = self.at;
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.at += 1;
            }
            self.digits()?;
        }
        let text = std::str::from_utf8(&self.text[start..self.at]).map_err(|_| self.syntax())?;
        if text.len() > MAX_NUMBER {
            return Err(Syntax(start));
        }
        Ok(Numeral { text, integral: whole == self.at })
    }

    /// At least one digit.
    fn digits(&mut self) -> Result<(), Syntax> {
        let start = self.at;
        while let Some(b'0'..=b'9') = self.peek() {
            self.at += 1;
        }
        if self.at == start { Err(self.syntax()) } else { Ok(()) }
    }

    pub(super) fn begin_object(&mut self) -> Result<(), Syntax> {
        self.begin()
    }

    pub(super) fn begin_array(&mut self) -> Result<(), Syntax> {
        self.begin()
    }

    fn begin(&mut self) -> Result<(), Syntax> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(self.syntax()) } else { Ok(()) }
    }

    /// The next key of an object, with the colon behind it; `first` is true until there was one.
    pub(super) fn next_key(&mut self, first: &mut bool) -> Result<Option<Cow<'a, str>>, Syntax> {
        if !self.next_part(first, b'}')? {
            return Ok(None);
        }
        if self.peek() != Some(b'"') {
            return Err(self.syntax());
        }
        let key = self.string()?;
        if key.len() > MAX_KEY {
            return Err(self.syntax());
        }
        self.skip_white_space();
        self.expect(b':')?;
        Ok(Some(key))
    }

    /// Whether an array has one more item; `first` is true until it had one.
    pub(super) fn next_item(&mut self, first: &mut bool) -> Result<bool, Syntax> {
        self.next_part(first, b']')
    }

    fn next_part(&mut self, first: &mut bool, end: u8) -> Result<bool, Syntax> {
        self.skip_white_space();
        if self.peek() == Some(end) {
            self.at += 1;
            self.depth -= 1;
            return Ok(false);
        }
        if !std::mem::take(first) {
            self.expect(b',')?;
            self.skip_white_space();
        }
        Ok(true)
    }

    /// Reads the value that comes next, whatever it is.
    pub(super) fn skip(&mut self) -> Result<(), Syntax> {
        match self.kind()? {
            Kind::Object => {
                self.begin_object()?;
                let mut first = true;
                while self.next_key(&mut first)?.is_some() {
                    self.skip()?;
                }
                Ok(())
            }
            Kind::Array => {
                self.begin_array()?;
                let mut first = true;
                while self.next_item(&mut first)? {
                    self.skip()?;
                }
                Ok(())
            }
            Kind::String => self.string().map(drop),
            Kind::Number => self.number().map(drop),
            Kind::True => self.literal("true"),
            Kind::False => self.literal("false"),
            Kind::Null => self.literal("null"),
            Kind::End => Err(self.syntax()),
        }
    }

    /// Checks what stands behind a document that is a lone number or word: whatever follows a document
    /// is ignored, but it mustn't touch.
    pub(super) fn end_of_scalar(&self, kind: Kind) -> Result<(), Syntax> {
        let touches = match (kind, self.peek()) {
            (_, None) | (Kind::Object | Kind::Array | Kind::String | Kind::End, _) => false,
            (Kind::Number, Some(next)) => !is_white_space(next),
            (Kind::True | Kind::False | Kind::Null, Some(next)) => {
                next.is_ascii_alphanumeric() || matches!(next, b'_' | b'$' | 0x80..)
            }
        };
        if touches { Err(self.syntax()) } else { Ok(()) }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Syntax> {
        if self.peek() != Some(byte) {
            return Err(self.syntax());
        }
        self.at += 1;
        Ok(())
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn skip_white_space(&mut self) {
        while self.peek().is_some_and(is_white_space) {
            self.at += 1;
        }
    }

    pub(super) fn syntax(&self) -> Syntax {
        Syntax(self.at)
    }
}

fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
