use std::io::{self, Read};

use memchr::memchr2;

/// How much is read from the file at a time, once there is so much to read.
const CHUNK: usize = 128 * 1024;
/// And at first: most files grow by little at a time, and a buffer is never given back.
const FIRST_CHUNK: usize = 8 * 1024;

/// Cuts what a reader gives into lines, and knows the position behind each.
///
/// A line ends with `\n`, `\r` or `\r\n`, as in Java. One without an end yet is kept until it gets one: also a line that
/// ends with `\r` at the end of what there is, because `\n` may follow.
#[derive(Debug)]
pub struct Lines {
    buffer: Vec<u8>,
    /// The part of `buffer` that isn't handed out yet.
    start: usize,
    end: usize,
    /// How far the unfinished line was searched in vain, from `start`.
    searched: usize,
    /// Position in the file of `buffer[start]`.
    position: u64,
}

/// A line without its end, and the position behind it.
#[derive(Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// The line's bytes.
    pub text: &'a [u8],
    /// Where the next line begins in the file.
    pub next: u64,
}

impl Lines {
    /// Lines of a file from which everything before `position` was read already.
    pub fn from_position(position: u64) -> Self {
        Self { buffer: Vec::new(), start: 0, end: 0, searched: 0, position }
    }

    /// Where the first line that wasn't handed out begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// How far the file was read, the unfinished line included.
    pub fn read_to(&self) -> u64 {
        self.position + (self.end - self.start) as u64
    }

    /// Reads the next chunk. Zero: there is nothing more, for now.
    pub fn fill(&mut self, reader: &mut impl Read) -> io::Result<usize> {
        self.make_room();
        let count = reader.read(&mut self.buffer[self.end..])?;
        self.end += count;
        Ok(count)
    }

    /// The next finished line, if there is one in what was read.
    pub fn next_line(&mut self) -> Option<Line<'_>> {
        let unread = &self.buffer[self.start..self.end];
        let Some(at) = memchr2(b'\n', b'\r', &unread[self.searched..]).map(|at| self.searched + at) else {
            self.searched = unread.len();
            return None;
        };
        let len = match (unread[at], unread.get(at + 1)) {
            (b'\r', None) => {
                self.searched = at;
                return None;
            }
            (b'\r', Some(b'\n')) => at + 2,
            _ => at + 1,
        };
        let line = self.start..self.start + at;
        self.start += len;
        self.position += len as u64;
        self.searched = 0;
        Some(Line { text: &self.buffer[line], next: self.position })
    }

    /// Moves the unfinished line to the front, and makes the buffer larger if it fills it, or if the last chunk did.
    fn make_room(&mut self) {
        let filled = self.end == self.buffer.len() && self.buffer.len() < CHUNK;
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        if filled || self.end > self.buffer.len() / 2 {
            self.buffer.resize((self.buffer.len() * 2).max(FIRST_CHUNK), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All finished lines of `text`, read in pieces of `size` bytes, each with the position behind it.
    fn cut(text: &str, size: usize) -> Vec<(String, u64)> {
        let mut lines = Lines::from_position(0);
        let mut found = Vec::new();
        for mut piece in text.as_bytes().chunks(size) {
            while lines.fill(&mut piece).unwrap() > 0 {
                while let Some(line) = lines.next_line() {
                    found.push((String::from_utf8(line.text.to_vec()).unwrap(), line.next));
                }
            }
        }
        found
    }

    fn expected(lines: &[(&str, u64)]) -> Vec<(String, u64)> {
        lines.iter().map(|&(text, next)| (text.to_owned(), next)).collect()
    }

    #[test]
    fn lines_end_with_any_of_the_three_ends_wherever_the_chunks_are_cut() {
        for size in 1..20 {
            let lines = cut("one\ntwo\r\nthree\r\rfour\n", size);
            let wanted = expected(&[("one", 4), ("two", 9), ("three", 15), ("", 16), ("four", 21)]);
            assert_eq!(lines, wanted, "in pieces of {size}");
        }
    }

    #[test]
    fn a_line_without_an_end_is_kept() {
        assert_eq!(cut("one\ntw", 3), expected(&[("one", 4)]));
    }

    #[test]
    fn a_carriage_return_at_the_end_waits_for_what_follows() {
        assert_eq!(cut("one\r", 2), expected(&[]));
        assert_eq!(cut("one\r\n", 4), expected(&[("one", 5)]));
        assert_eq!(cut("one\rx", 4), expected(&[("one", 4)]));
    }

    #[test]
    fn a_line_may_be_longer_than_a_chunk() {
        let long = "x".repeat(3 * CHUNK + 5);
        let lines = cut(&format!("{long}\nshort\n"), CHUNK / 3);
        assert_eq!(lines, [(long.clone(), long.len() as u64 + 1), ("short".into(), long.len() as u64 + 7)]);
    }
}
