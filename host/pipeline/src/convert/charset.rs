//! The character sets that StringConverter can be told to use.

use std::borrow::Cow;

/// Every Java platform has these six; of the many that it may have besides, none is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Charset {
    Utf8,
    Ascii,
    Latin1,
    /// Writes a big-endian byte order mark; reads whichever order the mark says.
    Utf16,
    Utf16Be,
    Utf16Le,
}

impl Charset {
    /// By Java's name or one of its aliases, in any case.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" | "unicode-1-1-utf-8" => Self::Utf8,
            "us-ascii" | "ascii" | "iso646-us" | "646" | "ansi_x3.4-1968" | "cp367" | "us" => Self::Ascii,
            "iso-8859-1" | "iso8859_1" | "iso8859-1" | "iso_8859-1" | "latin1" | "l1" | "8859_1" | "cp819" => {
                Self::Latin1
            }
            "utf-16" | "utf16" | "utf_16" | "unicode" | "unicodebig" => Self::Utf16,
            "utf-16be" | "utf_16be" | "x-utf-16be" | "unicodebigunmarked" => Self::Utf16Be,
            "utf-16le" | "utf_16le" | "x-utf-16le" | "unicodelittleunmarked" => Self::Utf16Le,
            _ => return None,
        })
    }

    /// The bytes of a text; `?` in place of what the set doesn't have.
    pub(super) fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Self::Utf8 => text.as_bytes().to_vec(),
            Self::Ascii => single_bytes(text, 0x7f),
            Self::Latin1 => single_bytes(text, 0xff),
            Self::Utf16 => [0xfe, 0xff].into_iter().chain(big_endian(text)).collect(),
            Self::Utf16Be => big_endian(text).collect(),
            Self::Utf16Le => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
        }
    }

    /// The text of bytes; U+FFFD in place of what is malformed.
    pub(super) fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            // The lossy way alone looks at every byte by itself.
            Self::Utf8 => std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed),
            Self::Ascii => bytes.iter().map(|byte| if *byte < 0x80 { char::from(*byte) } else { '\u{fffd}' }).collect(),
            Self::Latin1 => bytes.iter().map(|byte| char::from(*byte)).collect(),
            Self::Utf16 => match bytes {
                [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes),
                [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes),
                _ => utf16(bytes, u16::from_be_bytes),
            },
            Self::Utf16Be => utf16(bytes, u16::from_be_bytes),
            Self::Utf16Le => utf16(bytes, u16::from_le_bytes),
        }
    }
}

fn single_bytes(text: &str, last: u32) -> Vec<u8> {
    text.chars()
        .map(|char| u8::try_from(u32::from(char)).ok().filter(|byte| u32::from(*byte) <= last).unwrap_or(b'?'))
        .collect()
}

fn big_endian(text: &str) -> impl Iterator<Item = u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes)
}

fn utf16(bytes: &[u8], order: fn([u8; 2]) -> u16) -> Cow<'static, str> {
    let (units, rest) = bytes.as_chunks();
    let mut text: String = char::decode_utf16(units.iter().map(|unit| order(*unit)))
        .map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    if !rest.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text.into()
}
