//! Items of a batch to JSON, without a tree of values.
//!
//! Whatever is not the ordinary case is [`Unusual`]: then the tree does it, or says what is wrong.

use super::encode_plan::{EncodePlan, Member, Plan, Shape};
use super::text::{write_boolean, write_bytes, write_f32, write_f64, write_integer, write_string};
use super::write::separate;
use crate::batch::{Encoding, Item};
use crate::cbor::{Malformed, Reader, Token};

/// Left to the tree of values.
#[derive(Debug)]
pub(super) struct Unusual;

impl From<Malformed> for Unusual {
    fn from(_: Malformed) -> Self {
        Self
    }
}

impl EncodePlan {
    /// Appends the document of an item. On [`Unusual`] the buffer holds part of one.
    pub(super) fn write(&self, item: Item<'_>, out: &mut Vec<u8>) -> Result<(), Unusual> {
        out.extend_from_slice(&self.before);
        match (item.encoding, &self.payload.shape) {
            (Encoding::Cbor, _) => {
                let mut reader = Reader::new(item.bytes);
                self.payload.write(&mut reader, out)?;
                reader.finish()?;
            }
            (Encoding::Text, Shape::Text | Shape::Any) => {
                write_string(std::str::from_utf8(item.bytes).map_err(|_| Unusual)?, out);
            }
            (Encoding::Bytes, Shape::Bytes | Shape::Any) => write_bytes(item.bytes, out),
            (Encoding::None, _) => self.payload.write_null(out)?,
            (Encoding::Text | Encoding::Bytes | Encoding::Json, _) => return Err(Unusual),
        }
        if !self.before.is_empty() {
            out.push(b'}');
        }
        Ok(())
    }
}

impl Plan {
    fn write(&self, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), Unusual> {
        let token = reader.token()?;
        if token == Token::Null {
            return self.write_null(out);
        }
        match (&self.shape, token) {
            (Shape::Any, token) => return write_any(token, reader, out),
            (Shape::Boolean, Token::Boolean(value)) => write_boolean(value, out),
            (Shape::Integer(least, most), Token::Integer(number)) if (*least..=*most).contains(&number) => {
                write_integer(number, out);
            }
            (Shape::Float32, Token::Float32(number)) => write_f32(number, out),
            (Shape::Float64, Token::Float64(number)) => write_f64(number, out),
            (Shape::Text, Token::Text(text)) => write_string(text, out),
            (Shape::Bytes, Token::Bytes(bytes)) => write_bytes(bytes, out),
            (Shape::Decimal, Token::Bytes(unscaled)) if is_shortest(unscaled) => write_bytes(unscaled, out),
            (Shape::Array(item), Token::Array(length)) => return write_items(length, reader, out, Some(item)),
            (Shape::Members(value), Token::Map(length)) => return write_members(length, reader, out, Some(value)),
            (Shape::Pairs(parts), Token::Array(length)) => return write_pairs(length, reader, out, parts),
            (Shape::Struct(members), Token::Array(length)) if length == members.len() => {
                return write_struct(members, reader, out);
            }
            _ => return Err(Unusual),
        }
        Ok(())
    }

    fn write_null(&self, out: &mut Vec<u8>) -> Result<(), Unusual> {
        out.extend_from_slice(self.null.as_ref().ok_or(Unusual)?);
        Ok(())
    }
}

/// Writes an item of any type, null included.
fn write_next(plan: Option<&Plan>, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), Unusual> {
    match plan {
        Some(plan) => plan.write(reader, out),
        None => {
            let token = reader.token()?;
            write_any(token, reader, out)
        }
    }
}

fn write_any(token: Token<'_>, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), Unusual> {
    match token {
        Token::Null => out.extend_from_slice(b"null"),
        Token::Boolean(value) => write_boolean(value, out),
        Token::Int8(number) => write_integer(number.into(), out),
        Token::Int16(number) => write_integer(number.into(), out),
        Token::Int32(number) => write_integer(number.into(), out),
        Token::Integer(number) => write_integer(number, out),
        Token::Float32(number) => write_f32(number, out),
        Token::Float64(number) => write_f64(number, out),
        Token::Bytes(bytes) => write_bytes(bytes, out),
        Token::Text(text) => write_string(text, out),
        Token::Array(length) => return write_items(length, reader, out, None),
        Token::Map(length) => return write_members(length, reader, out, None),
    }
    Ok(())
}

fn write_items(length: usize, reader: &mut Reader<'_>, out: &mut Vec<u8>, item: Option<&Plan>) -> Result<(), Unusual> {
    reader.enter()?;
    out.push(b'[');
    for index in 0..length {
        separate(index, out);
        write_next(item, reader, out)?;
    }
    out.push(b']');
    reader.leave();
    Ok(())
}

/// Only maps whose keys are all text are ordinary.
fn write_members(
    length: usize,
    reader: &mut Reader<'_>,
    out: &mut Vec<u8>,
    value: Option<&Plan>,
) -> Result<(), Unusual> {
    reader.enter()?;
    out.push(b'{');
    for index in 0..length {
        separate(index, out);
        let Token::Text(key) = reader.token()? else { return Err(Unusual) };
        write_string(key, out);
        out.push(b':');
        write_next(value, reader, out)?;
    }
    out.push(b'}');
    reader.leave();
    Ok(())
}

fn write_pairs(
    length: usize,
    reader: &mut Reader<'_>,
    out: &mut Vec<u8>,
    (key, value): &(Plan, Plan),
) -> Result<(), Unusual> {
    reader.enter()?;
    out.push(b'[');
    for index in 0..length {
        separate(index, out);
        let Token::Array(2) = reader.token()? else { return Err(Unusual) };
        reader.enter()?;
        out.push(b'[');
        key.write(reader, out)?;
        out.push(b',');
        value.write(reader, out)?;
        out.push(b']');
        reader.leave();
    }
    out.push(b']');
    reader.leave();
    Ok(())
}

fn write_struct(members: &[Member], reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<(), Unusual> {
    reader.enter()?;
    for member in members {
        out.extend_from_slice(&member.before);
        member.plan.write(reader, out)?;
    }
    if members.is_empty() {
        out.push(b'{');
    }
    out.push(b'}');
    reader.leave();
    Ok(())
}

/// Whether no byte of two's complement only repeats the sign.
pub(super) fn is_shortest(unscaled: &[u8]) -> bool {
    match unscaled {
        [] => false,
        [first, second, ..] => !matches!((first, second), (0, ..0x80) | (0xff, 0x80..)),
        [_] => true,
    }
}
