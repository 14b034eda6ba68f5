//! Items of a batch to binary Avro, without a tree of values.

use super::encode_plan::{Plan, Shape, Slot, StructPlan, Target};
use crate::cbor::{Reader, Token};
use crate::convert::ConvertError;

type Result<T> = std::result::Result<T, ConvertError>;

/// Seven bits of a byte after the other, sign last.
pub(super) fn write_long(number: i64, out: &mut Vec<u8>) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_long(bytes.len() as i64, out);
    out.extend_from_slice(bytes);
}

impl Plan {
    /// Writes a whole value, which is one CBOR item.
    pub(super) fn write_whole(&self, item: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut reader = Reader::new(item);
        let token = reader.token()?;
        match token {
            Token::Bytes(bytes) if self.is_bare() => self.write_bare(bytes, out)?,
            token => self.write_token(token, &mut reader, item, out)?,
        }
        Ok(reader.finish()?)
    }

    pub(super) fn write_text(&self, text: &str, out: &mut Vec<u8>) -> Result<()> {
        self.write_token(Token::Text(text), &mut Reader::new(&[]), &[], out)
    }

    pub(super) fn write_bytes(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if self.is_bare() {
            return self.write_bare(bytes, out);
        }
        self.write_token(Token::Bytes(bytes), &mut Reader::new(&[]), &[], out)
    }

    /// Writes a part of a value.
    pub(super) fn write_item(&self, item: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut reader = Reader::new(item);
        self.write(&mut reader, item, out)?;
        Ok(reader.finish()?)
    }

    /// As a whole value bytes stand for themselves, without their length.
    fn is_bare(&self) -> bool {
        self.before.is_empty() && matches!(self.shape, Shape::Bytes | Shape::Decimal(None))
    }

    fn write_bare(&self, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let bytes = if matches!(self.shape, Shape::Decimal(_)) { shortest(bytes)? } else { bytes };
        out.extend_from_slice(bytes);
        Ok(())
    }

    /// `bytes` is what the reader reads.
    fn write(&self, reader: &mut Reader<'_>, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let token = reader.token()?;
        self.write_token(token, reader, bytes, out)
    }

    fn write_token(&self, token: Token<'_>, reader: &mut Reader<'_>, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if token == Token::Null && !matches!(self.shape, Shape::Anything) {
            let null = self.null.as_ref();
            out.extend_from_slice(null.ok_or_else(|| data("Found null value for non-optional schema"))?);
            return Ok(());
        }
        out.extend_from_slice(&self.before);
        match (&self.shape, token) {
            (Shape::Boolean, Token::Boolean(value)) => out.push(value.into()),
            (Shape::Integer(least, most, target), Token::Integer(number)) if (*least..=*most).contains(&number) => {
                write_integer(number, *target, out);
            }
            (Shape::Float32(Target::Double), Token::Float32(number)) => write_double(number.into(), out),
            (Shape::Float32(_), Token::Float32(number)) => out.extend_from_slice(&number.to_le_bytes()),
            (Shape::Float64, Token::Float64(number)) => write_double(number, out),
            (Shape::Text, Token::Text(text)) => write_bytes(text.as_bytes(), out),
            (Shape::Enum(symbols), Token::Text(text)) => {
                let symbol = symbols.symbols.iter().position(|symbol| **symbol == *text);
                let missing = || data(&format!("Enum `{}` has no symbol `{text}`", symbols.name));
                write_long(symbol.ok_or_else(missing)? as i64, out);
            }
            (Shape::Bytes, Token::Bytes(bytes)) => write_bytes(bytes, out),
            (Shape::Fixed(size), Token::Bytes(bytes)) if bytes.len() == *size => out.extend_from_slice(bytes),
            (Shape::Fixed(size), Token::Bytes(bytes)) => {
                return Err(data(&format!("{} bytes were found where a fixed of {size} is expected", bytes.len())));
            }
            (Shape::Decimal(None), Token::Bytes(unscaled)) => write_bytes(shortest(unscaled)?, out),
            (Shape::Decimal(Some(size)), Token::Bytes(unscaled)) => write_padded(shortest(unscaled)?, *size, out)?,
            (Shape::Array(item), Token::Array(length)) => {
                return write_block(length, reader, out, |reader, out| item.write(reader, bytes, out));
            }
            (Shape::Map(value), Token::Map(length)) => {
                return write_block(length, reader, out, |reader, out| {
                    let Token::Text(key) = reader.token()? else { return Err(data("A key of a map is no text")) };
                    write_bytes(key.as_bytes(), out);
                    value.write(reader, bytes, out)
                });
            }
            (Shape::Pairs { plans, key_comes_first, text_keys: true }, Token::Map(length)) => {
                return write_block(length, reader, out, |reader, out| {
                    write_pair(plans, *key_comes_first, reader, bytes, out)
                });
            }
            (Shape::Pairs { plans, key_comes_first, text_keys: false }, Token::Array(length)) => {
                return write_block(length, reader, out, |reader, out| {
                    let Token::Array(2) = reader.token()? else { return Err(data("An entry of a map is no pair")) };
                    reader.enter()?;
                    write_pair(plans, *key_comes_first, reader, bytes, out)?;
                    reader.leave();
                    Ok(())
                });
            }
            (Shape::Struct(plan), Token::Array(length)) if length == plan.names.len() => {
                reader.enter()?;
                plan.write(reader, bytes, out)?;
                reader.leave();
            }
            (Shape::Union(members), Token::Array(length)) if length == members.len() => {
                reader.enter()?;
                self.write_union(members, reader, bytes, out)?;
                reader.leave();
            }
            (Shape::Anything, token) => return write_anything(token, reader, out),
            (_, token) => return Err(data(&format!("{} was found where the schema has something else", name(token)))),
        }
        Ok(())
    }

    fn write_union(&self, members: &[Self], reader: &mut Reader<'_>, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let mut is_set = false;
        for member in members {
            let token = reader.token()?;
            match (token, is_set) {
                (Token::Null, _) => {}
                (token, false) => {
                    member.write_token(token, reader, bytes, out)?;
                    is_set = true;
                }
                (_, true) => return Err(data("More than one field of a union is set")),
            }
        }
        match (&self.null, is_set) {
            (_, true) => Ok(()),
            (Some(null), false) => {
                out.extend_from_slice(null);
                Ok(())
            }
            (None, false) => Err(data("No field of a union is set")),
        }
    }
}

impl StructPlan {
    fn write(&self, reader: &mut Reader<'_>, bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        if self.is_straight {
            for (slot, name) in self.slots.iter().zip(&self.names) {
                if let Slot::Field(_, plan) = slot {
                    plan.write(reader, bytes, out).map_err(|error| in_field(error, name))?;
                }
            }
            return Ok(());
        }
        let places = self.names.iter().map(|_| {
            let start = reader.position();
            reader.skip()?;
            Ok(start..reader.position())
        });
        let places = places.collect::<Result<Vec<_>>>()?;
        for slot in &self.slots {
            match slot {
                Slot::Constant(constant) => out.extend_from_slice(constant),
                Slot::Field(index, plan) => plan
                    .write_item(&bytes[places[*index].clone()], out)
                    .map_err(|error| in_field(error, &self.names[*index]))?,
            }
        }
        Ok(())
    }
}

fn in_field(error: ConvertError, name: &str) -> ConvertError {
    error.at(&format!("field `{name}`"))
}

fn write_integer(number: i64, target: Target, out: &mut Vec<u8>) {
    match target {
        Target::Integer => write_long(number, out),
        Target::Float => out.extend_from_slice(&(number as f32).to_le_bytes()),
        Target::Double => write_double(number as f64, out),
    }
}

fn write_double(number: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(&number.to_le_bytes());
}

/// All items in one block, and the block of none that ends them.
fn write_block(
    length: usize,
    reader: &mut Reader<'_>,
    out: &mut Vec<u8>,
    mut item: impl FnMut(&mut Reader<'_>, &mut Vec<u8>) -> Result<()>,
) -> Result<()> {
    reader.enter()?;
    if length > 0 {
        write_long(length as i64, out);
    }
    for _ in 0..length {
        item(reader, out)?;
    }
    out.push(0);
    reader.leave();
    Ok(())
}

fn write_pair(
    (key, value): &(Plan, Plan),
    key_comes_first: bool,
    reader: &mut Reader<'_>,
    bytes: &[u8],
    out: &mut Vec<u8>,
) -> Result<()> {
    let start = out.len();
    key.write(reader, bytes, out)?;
    let middle = out.len() - start;
    value.write(reader, bytes, out)?;
    if !key_comes_first {
        out[start..].rotate_left(middle);
    }
    Ok(())
}

/// The record of nine optional fields, of which the one for the value's type is set.
fn write_anything(token: Token<'_>, reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
    const FIELDS: usize = 9;
    let field = match token {
        Token::Null => FIELDS,
        Token::Boolean(_) => 0,
        Token::Bytes(_) => 1,
        Token::Float64(_) => 2,
        Token::Float32(_) => 3,
        Token::Int8(_) | Token::Int16(_) | Token::Int32(_) => 4,
        Token::Integer(_) => 5,
        Token::Text(_) => 6,
        Token::Array(_) => 7,
        Token::Map(_) => 8,
    };
    out.extend(std::iter::repeat_n(0, field));
    if field == FIELDS {
        return Ok(());
    }
    write_long(1, out);
    match token {
        Token::Null => {}
        Token::Boolean(value) => out.push(value.into()),
        Token::Int8(number) => write_long(number.into(), out),
        Token::Int16(number) => write_long(number.into(), out),
        Token::Int32(number) => write_long(number.into(), out),
        Token::Integer(number) => write_long(number, out),
        Token::Float32(number) => out.extend_from_slice(&number.to_le_bytes()),
        Token::Float64(number) => write_double(number, out),
        Token::Bytes(bytes) => write_bytes(bytes, out),
        Token::Text(text) => write_bytes(text.as_bytes(), out),
        Token::Array(length) => write_block(length, reader, out, next_anything)?,
        Token::Map(length) => write_block(length, reader, out, |reader, out| {
            next_anything(reader, out)?;
            next_anything(reader, out)
        })?,
    }
    out.extend(std::iter::repeat_n(0, FIELDS - 1 - field));
    Ok(())
}

fn next_anything(reader: &mut Reader<'_>, out: &mut Vec<u8>) -> Result<()> {
    let token = reader.token()?;
    write_anything(token, reader, out)
}

/// Two's complement, filled up with the sign.
fn write_padded(unscaled: &[u8], size: usize, out: &mut Vec<u8>) -> Result<()> {
    let Some(missing) = size.checked_sub(unscaled.len()) else {
        return Err(data(&format!("A Decimal of {} bytes doesn't fit a fixed of {size}", unscaled.len())));
    };
    let sign = if unscaled[0] < 0x80 { 0 } else { 0xff };
    out.extend(std::iter::repeat_n(sign, missing));
    out.extend_from_slice(unscaled);
    Ok(())
}

/// Two's complement without bytes that only repeat the sign, at least one byte.
pub(super) fn shortest(unscaled: &[u8]) -> Result<&[u8]> {
    if unscaled.is_empty() {
        return Err(data("A Decimal needs at least one byte"));
    }
    let repeats = |pair: &&[u8]| matches!((pair[0], pair[1]), (0, ..0x80) | (0xff, 0x80..));
    Ok(&unscaled[unscaled.windows(2).take_while(repeats).count()..])
}

fn name(token: Token<'_>) -> &'static str {
    match token {
        Token::Null => "null",
        Token::Boolean(_) => "a boolean",
        Token::Int8(_) | Token::Int16(_) | Token::Int32(_) | Token::Integer(_) => "an integer (perhaps out of range)",
        Token::Float32(_) | Token::Float64(_) => "a floating point number",
        Token::Bytes(_) => "a sequence of bytes",
        Token::Text(_) => "a text",
        Token::Array(_) => "an array",
        Token::Map(_) => "a map",
    }
}

fn data(message: &str) -> ConvertError {
    ConvertError::Data(message.to_owned())
}
