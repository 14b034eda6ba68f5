//! Pieces of JSON text, as Connect writes them.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};
use bulkhead_model::value::FloatText;

/// Standard base64, padded; bits that the last character has too many of are not looked at.
pub(super) const BASE64: GeneralPurpose =
    GeneralPurpose::new(&STANDARD, GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true));

pub(super) fn write_integer(number: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// A number, or a string for what JSON has no numbers for.
pub(super) fn write_f64(number: f64, out: &mut Vec<u8>) {
    write_float(FloatText::of_f64(number), number.is_finite(), out);
}

pub(super) fn write_f32(number: f32, out: &mut Vec<u8>) {
    write_float(FloatText::of_f32(number), number.is_finite(), out);
}

fn write_float(text: FloatText, finite: bool, out: &mut Vec<u8>) {
    if finite {
        out.extend_from_slice(text.as_bytes());
    } else {
        write_string(&text, out);
    }
}

pub(super) fn write_boolean(value: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

/// Bytes as a string of base64.
pub(super) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let start = out.len();
    out.resize(start + bytes.len().div_ceil(3) * 4, 0);
    // The room is exactly what is needed.
    let written = BASE64.encode_slice(bytes, &mut out[start..]).unwrap_or(0);
    out.truncate(start + written);
    out.push(b'"');
}

/// The bytes that a string stands for; white space in it is skipped.
pub(super) fn read_bytes(text: &str) -> Option<Vec<u8>> {
    match BASE64.decode(text) {
        Ok(bytes) => Some(bytes),
        Err(_) if text.bytes().any(|byte| byte <= b' ') => {
            BASE64.decode(text.bytes().filter(|byte| *byte > b' ').collect::<Vec<_>>()).ok()
        }
        Err(_) => None,
    }
}

/// A string with its quotes. Characters beyond the basic plane become pairs of escapes, as the library
/// does that Connect writes with.
pub(super) fn write_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut start = 0;
    while let Some(plain) = find_first(&bytes[start..], needs_escape) {
        let at = start + plain;
        out.extend_from_slice(&bytes[start..at]);
        start = at + write_escape(text, at, out);
    }
    out.extend_from_slice(&bytes[start..]);
    out.push(b'"');
}

/// Writes the character at `at` and tells how many bytes it has.
fn write_escape(text: &str, at: usize, out: &mut Vec<u8>) -> usize {
    match text.as_bytes()[at] {
        b'"' => out.extend_from_slice(b"\\\""),
        b'\\' => out.extend_from_slice(b"\\\\"),
        b'\x08' => out.extend_from_slice(b"\\b"),
        b'\t' => out.extend_from_slice(b"\\t"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\x0c' => out.extend_from_slice(b"\\f"),
        b'\r' => out.extend_from_slice(b"\\r"),
        control @ ..0x20 => write_unit(control.into(), out),
        _ => {
            let char = text[at..].chars().next().unwrap_or(char::REPLACEMENT_CHARACTER);
            char.encode_utf16(&mut [0; 2]).iter().for_each(|unit| write_unit(*unit, out));
            return char.len_utf8();
        }
    }
    1
}

fn write_unit(unit: u16, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend_from_slice(b"\\u");
    out.extend([12, 8, 4, 0].map(|shift| DIGITS[usize::from(unit >> shift & 0xf)]));
}

/// Quote, backslash, control characters, and the first byte of a character of four.
fn needs_escape(byte: u8) -> bool {
    is_special(byte) | (byte >= 0xf0)
}

/// Quote, backslash and what must not stand in a string.
pub(super) fn is_special(byte: u8) -> bool {
    (byte < 0x20) | (byte == b'"') | (byte == b'\\')
}

/// Where the first such byte is. Most texts have none, so that whole chunks are looked at together.
pub(super) fn find_first(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> Option<usize> {
    const CHUNK: usize = 32;
    let (chunks, _) = bytes.as_chunks::<CHUNK>();
    let has_none = |chunk: &&[u8; CHUNK]| !chunk.iter().fold(false, |found, byte| found | wanted(*byte));
    let start = chunks.iter().take_while(has_none).count() * CHUNK;
    let found = bytes[start..].iter().position(|byte| wanted(*byte))?;
    Some(start + found)
}
