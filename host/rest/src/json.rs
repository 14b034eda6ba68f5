//! JSON as Connect writes it.

use std::io;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

/// An answer with a JSON body.
pub(crate) struct Json<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match write(&self.0) {
            Ok(text) => ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], text).into_response(),
            Err(error) => {
                tracing::error!(%error, "An answer could not be written as JSON.");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

fn write(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(256);
    value.serialize(&mut Serializer::with_formatter(&mut text, EscapeBeyondBmp))?;
    Ok(text)
}

/// Compact, with characters outside the Basic Multilingual Plane as a pair of `\u` escapes.
struct EscapeBeyondBmp;

impl Formatter for EscapeBeyondBmp {
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((start, wide)) = rest.char_indices().find(|(_, character)| *character > '\u{FFFF}') {
            writer.write_all(&rest.as_bytes()[..start])?;
            for unit in wide.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04X}")?;
            }
            rest = &rest[start + wide.len_utf8()..];
        }
        writer.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, expected: &str) {
        assert_eq!(String::from_utf8(write(&value).unwrap()).unwrap(), expected);
    }

    #[test]
    fn characters_outside_the_bmp_are_escaped_and_no_others() {
        check("a 😀 b 😀", r#""a \uD83D\uDE00 b \uD83D\uDE00""#);
        check("üñí-日本", "\"üñí-日本\"");
        check("q\"\n", r#""q\"\n""#);
        check("", "\"\"");
    }
}
