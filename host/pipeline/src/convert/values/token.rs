//! Delimiters and what lies between them.

/// Cuts a text into tokens: each delimiter is one, each run of other characters is one. A backslash
/// protects the delimiter behind it, and stays.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    text: &'a str,
    /// Where the token after the peeked one begins.
    at: usize,
    peeked: Option<&'a str>,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, peeked: None }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// To come back to by [`Self::rewind`].
    pub(super) fn mark(&self) -> usize {
        self.at - self.peeked.map_or(0, str::len)
    }

    pub(super) fn rewind(&mut self, mark: usize) {
        self.at = mark;
        self.peeked = None;
    }

    pub(super) fn has_next(&self) -> bool {
        self.peeked.is_some() || self.at < self.text.len()
    }

    /// The next token; empty at the end.
    pub(super) fn next(&mut self) -> &'a str {
        self.peeked.take().unwrap_or_else(|| self.cut())
    }

    /// The text of the next four tokens, with what is between them.
    pub(super) fn next_four(&mut self) -> Option<&'a str> {
        let start = self.mark();
        for _ in 0..4 {
            if !self.has_next() {
                self.rewind(start);
                return None;
            }
            self.next();
        }
        Some(&self.text[start..self.at])
    }

    /// Takes the next token that is not blank if it is the expected one, apart from white space.
    pub(super) fn take(&mut self, expected: &str) -> bool {
        if !self.has_next() {
            return false;
        }
        let mut token = self.next();
        while is_blank(token) && self.at < self.text.len() {
            token = self.cut();
        }
        let found = trim(token) == expected;
        self.peeked = (!found).then_some(token);
        found
    }

    fn cut(&mut self) -> &'a str {
        let rest = &self.text[self.at..];
        let end = match find_delimiter(rest) {
            Some(0) => 1,
            Some(end) => end,
            None => rest.len(),
        };
        self.at += end;
        &rest[..end]
    }
}

fn find_delimiter(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().position(|byte| match byte {
        b'\\' => {
            escaped = !escaped;
            false
        }
        b':' | b',' | b'{' | b'}' | b'[' | b']' | b'"' => !std::mem::take(&mut escaped),
        _ => {
            escaped = false;
            false
        }
    })
}

/// Java's `trim`.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches(|char| char <= ' ')
}

pub(super) fn is_blank(text: &str) -> bool {
    trim(text).is_empty()
}
