//! In which encoding of Unicode a document is, as RFC 4627 has it told by the first bytes.

use std::borrow::Cow;

/// The document in UTF-8. Bytes that are no UTF-8 are left for the parser to find.
pub(super) fn to_utf8(document: &[u8]) -> Cow<'_, [u8]> {
    match document {
        [0x00, 0x00, 0xfe, 0xff, rest @ ..] => utf32(rest, u32::from_be_bytes),
        [0xff, 0xfe, 0x00, 0x00, rest @ ..] => utf32(rest, u32::from_le_bytes),
        [0xfe, 0xff, rest @ ..] if document.len() >= 4 => utf16(rest, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] if document.len() >= 4 => utf16(rest, u16::from_le_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] if document.len() >= 4 => Cow::Borrowed(rest),
        [0, 0, 0, _, ..] => utf32(document, u32::from_be_bytes),
        [_, 0, 0, 0, ..] => utf32(document, u32::from_le_bytes),
        [0, _, ..] => utf16(document, u16::from_be_bytes),
        [_, 0, ..] => utf16(document, u16::from_le_bytes),
        _ => Cow::Borrowed(document),
    }
}

fn utf16(bytes: &[u8], order: fn([u8; 2]) -> u16) -> Cow<'static, [u8]> {
    let (units, _) = bytes.as_chunks();
    let text: String = char::decode_utf16(units.iter().map(|unit| order(*unit)))
        .map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    Cow::Owned(text.into_bytes())
}

fn utf32(bytes: &[u8], order: fn([u8; 4]) -> u32) -> Cow<'static, [u8]> {
    let (units, _) = bytes.as_chunks();
    let chars = units.iter().map(|unit| char::from_u32(order(*unit)).unwrap_or(char::REPLACEMENT_CHARACTER));
    Cow::Owned(chars.collect::<String>().into_bytes())
}
