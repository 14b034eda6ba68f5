//! Output: tables and lines for people, or what the worker answered for programs.

use std::error::Error as _;
use std::io::Write;

use crate::client::Answer;
use crate::error::Error;

/// Blanks between the columns of a table.
const GAP: &str = "  ";

pub struct Terminal<'a> {
    json: bool,
    out: &'a mut dyn Write,
    notes: &'a mut dyn Write,
}

/// Rows of the same number of cells, the first of which are the titles.
pub struct Table(Vec<Vec<String>>);

impl<'a> Terminal<'a> {
    pub fn new(json: bool, out: &'a mut dyn Write, notes: &'a mut dyn Write) -> Self {
        Self { json, out, notes }
    }

    /// Shows an answer: as it is, or in the form for people.
    pub fn show(&mut self, answer: &Answer, form: impl FnOnce() -> Result<String, Error>) -> Result<(), Error> {
        match (self.json, answer.text()) {
            (true, "") => Ok(()),
            (true, text) => self.document(text),
            (false, _) => self.print(&form()?),
        }
    }

    /// Says that something was done. Programs know it from the exit code.
    pub fn say(&mut self, text: &str) -> Result<(), Error> {
        if self.json { Ok(()) } else { self.print(text) }
    }

    /// A document that is meant for a file or for another program. JSON may have some control characters as they are;
    /// they are escaped as JSON does it.
    pub fn document(&mut self, text: &str) -> Result<(), Error> {
        let kept = |character: char| matches!(character, '\n' | '\r' | '\t') || !character.is_control();
        let escaped = |character: char| match kept(character) {
            true => character.to_string(),
            false => format!("\\u{:04x}", u32::from(character)),
        };
        let text: String = text.trim_end().chars().map(escaped).collect();
        self.out.write_all((text + "\n").as_bytes()).and_then(|()| self.out.flush()).map_err(Error::Output)
    }

    /// Something that matters beside what was asked for.
    pub fn note(&mut self, text: &str) {
        // Whoever closed standard error doesn't want to know.
        let _ = writeln!(self.notes, "{}", line(text));
    }

    /// An error with all of its causes, on one line.
    pub fn fail(&mut self, error: &Error) {
        let mut text = error.to_string();
        let mut cause = error.source();
        while let Some(source) = cause {
            text += &format!(": {source}");
            cause = source.source();
        }
        self.note(&format!("error: {text}"));
    }

    fn print(&mut self, text: &str) -> Result<(), Error> {
        let lines: Vec<_> = text.lines().map(|line| escape(line.trim_end())).collect();
        if lines.is_empty() { Ok(()) } else { self.document(&lines.join("\n")) }
    }
}

impl Table {
    pub fn new<const N: usize>(titles: [&str; N]) -> Self {
        Self(vec![titles.map(str::to_owned).into()])
    }

    pub fn row<const N: usize>(&mut self, cells: [String; N]) {
        self.0.push(cells.map(|cell| escape(&cell)).into());
    }

    /// Only titles, if there are no rows.
    pub fn text(&self) -> String {
        let columns = self.0.iter().map(Vec::len).max().unwrap_or_default();
        let width =
            |column: usize| self.0.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        let widths: Vec<_> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
            cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned() + "\n"
        };
        self.0.iter().map(line).collect()
    }
}

/// What comes from a worker, or from its plugins, must not steer the terminal.
fn escape(text: &str) -> String {
    let escaped = |character: char| match character {
        '\t' => "    ".to_owned(),
        _ if character.is_control() => character.escape_default().to_string(),
        _ => character.to_string(),
    };
    text.chars().map(escaped).collect()
}

/// Lines and what is around them, as one line.
fn line(text: &str) -> String {
    escape(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_nothing_ends_with_blanks() {
        let mut table = Table::new(["NAME", "STATE"]);
        table.row(["a".to_owned(), String::new()]);
        table.row(["größer".to_owned(), "RUNNING".to_owned()]);
        assert_eq!(table.text(), "NAME    STATE\na\ngrößer  RUNNING\n");
    }

    #[test]
    fn control_characters_do_not_reach_the_terminal() {
        let (mut out, mut notes) = (Vec::new(), Vec::new());
        let mut terminal = Terminal::new(false, &mut out, &mut notes);
        terminal.say("a\u{1b}[2Jb\tc\u{9b}\n").unwrap();
        terminal.note("two\nlines\u{7}");
        let mut table = Table::new(["A"]);
        table.row(["x\ny".to_owned()]);
        assert_eq!(String::from_utf8(out).unwrap(), "a\\u{1b}[2Jb    c\\u{9b}\n");
        assert_eq!(String::from_utf8(notes).unwrap(), "two lines\\u{7}\n");
        assert_eq!(table.text(), "A\nx\\ny\n");
    }
}
