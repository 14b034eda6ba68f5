//! From bytes to lines that are safe to show.

use super::MAX_LINE;

/// Collects bytes until a line is whole.
#[derive(Default)]
pub(super) struct Lines {
    unfinished: Vec<u8>,
}

impl Lines {
    /// The first line of `bytes`, with what was there before, and the bytes after it; none if no line is
    /// whole yet. A line that gets too long counts as whole.
    pub(super) fn next<'a>(&mut self, bytes: &'a [u8]) -> Option<(String, &'a [u8])> {
        let room = MAX_LINE.saturating_sub(self.unfinished.len());
        let end = bytes.iter().take(room).position(|byte| *byte == b'\n');
        let (line, rest) = match end {
            Some(end) => (&bytes[..end], &bytes[end + 1..]),
            None if bytes.len() >= room => bytes.split_at(room),
            None => {
                self.unfinished.extend_from_slice(bytes);
                return None;
            }
        };
        self.unfinished.extend_from_slice(line);
        Some((self.take().unwrap_or_default(), rest))
    }

    /// What is there of a line that was never ended.
    pub(super) fn take(&mut self) -> Option<String> {
        if self.unfinished.is_empty() {
            return None;
        }
        let bytes = std::mem::take(&mut self.unfinished);
        Some(escaped(&String::from_utf8_lossy(&bytes), MAX_LINE))
    }
}

/// The text with control characters shown as escapes, cut to at most `most` bytes.
pub(crate) fn escaped(text: &str, most: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(most));
    for c in text.chars() {
        if shown.len() >= most {
            break;
        }
        if c.is_control() && c != '\t' {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    cut(&mut shown, most);
    shown
}

/// Cuts a text to at most `most` bytes, at a character's end.
pub(super) fn cut(text: &mut String, most: usize) {
    if text.len() > most {
        text.truncate(text.floor_char_boundary(most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_line_is_cut_into_pieces() {
        let mut lines = Lines::default();
        let flood = vec![b'x'; MAX_LINE + 10];
        let (line, rest) = lines.next(&flood).unwrap();
        assert_eq!((line.len(), rest.len()), (MAX_LINE, 10));
        assert!(lines.next(rest).is_none());
        assert_eq!(lines.take().unwrap().len(), 10);
    }

    #[test]
    fn cutting_keeps_characters_whole() {
        assert_eq!(escaped("aäö", 2), "a");
        assert_eq!(escaped("a\r\n\u{7}", 64), r"a\r\n\u{7}");
    }
}
