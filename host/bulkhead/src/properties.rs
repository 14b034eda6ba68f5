//! `.properties` files, as Java reads them, but in the order of the file.

use std::fs;
use std::path::{Path, PathBuf};

use bulkhead_model::RawConfig;
use bulkhead_worker::properties;

/// A file of properties that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum PropertiesFileError {
    #[error("{} can't be read", .path.display())]
    Unreadable { path: PathBuf, source: std::io::Error },
    #[error("{} is not a properties file: {message}", .path.display())]
    Malformed { path: PathBuf, message: String },
}

/// Reads a whole file.
pub fn read(path: &Path) -> Result<RawConfig, PropertiesFileError> {
    let bytes = fs::read(path).map_err(|source| PropertiesFileError::Unreadable { path: path.to_owned(), source })?;
    parse(&bytes).map_err(|message| PropertiesFileError::Malformed { path: path.to_owned(), message })
}

/// Parses the text of a file. Java takes the bytes for ISO-8859-1; files in UTF-8 are so common, and
/// mean something so different under that reading, that text which is valid UTF-8 is taken as such.
pub fn parse(bytes: &[u8]) -> Result<RawConfig, String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => properties::parse(text),
        Err(_) => properties::parse(&bytes.iter().copied().map(char::from).collect::<String>()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text.as_bytes()).unwrap().into_iter().collect()
    }

    #[test]
    fn escapes_continuation_lines_and_separators_are_javas() {
        let text = "# comment\n! comment\na=1\nb : 2\nc 3\nlong=x,\\\n    y\nu=\\u00e4\\t|\nspace\\ key=v \nempty\n";
        let expected =
            [("a", "1"), ("b", "2"), ("c", "3"), ("long", "x,y"), ("u", "ä\t|"), ("space key", "v "), ("empty", "")];
        let expected: Vec<_> = expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        assert_eq!(pairs(text), expected);
    }

    #[test]
    fn utf_8_and_latin_1_are_both_understood() {
        assert_eq!(parse("k=ä".as_bytes()).unwrap().get("k"), Some("ä"));
        assert_eq!(parse(b"k=\xe4").unwrap().get("k"), Some("ä"));
    }

    #[test]
    fn a_broken_escape_is_an_error_with_its_line() {
        let error = parse(b"a=1\nb=\\u12").unwrap_err();
        assert!(error.starts_with("line 2: "), "{error}");
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read(Path::new("/nowhere/worker.properties")).unwrap_err();
        assert_eq!(error.to_string(), "/nowhere/worker.properties can't be read");
    }
}
