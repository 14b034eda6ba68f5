//! JSON to items of a batch, without a tree of values.
//!
//! Whatever is not the ordinary case is [`Unusual`]: then the tree does it, or says what is wrong.

use std::borrow::Cow;

use super::decode_plan::{Member, Plan, Shape};
use super::encode::{Unusual, is_shortest};
use super::lexer::{Kind, Lexer, Numeral, Syntax};
use super::text::read_bytes;
use crate::batch::Encoding;
use crate::cbor::{MAX_DEPTH, Writer};

impl From<Syntax> for Unusual {
    fn from(_: Syntax) -> Self {
        Self
    }
}

impl Plan {
    /// Reads the value that comes next and appends it in the plainest encoding. On [`Unusual`] the
    /// buffer holds part of it.
    pub(super) fn read_top(&self, lexer: &mut Lexer<'_>, out: &mut Vec<u8>) -> Result<Encoding, Unusual> {
        match (lexer.kind()?, &self.shape) {
            (Kind::Null | Kind::End, _) => Err(Unusual),
            (Kind::String, Shape::Text | Shape::Any) => {
                out.extend_from_slice(lexer.string()?.as_bytes());
                Ok(Encoding::Text)
            }
            (Kind::String, Shape::Bytes) => {
                out.extend(read_bytes(&lexer.string()?).ok_or(Unusual)?);
                Ok(Encoding::Bytes)
            }
            _ => {
                self.read(lexer, &mut Writer::new(out), 0)?;
                Ok(Encoding::Cbor)
            }
        }
    }

    fn read(&self, lexer: &mut Lexer<'_>, out: &mut Writer<'_>, depth: usize) -> Result<(), Unusual> {
        let kind = lexer.kind()?;
        match (&self.shape, kind) {
            (_, Kind::Null) => {
                lexer.literal("null")?;
                return self.write_null(out);
            }
            (Shape::Any, kind) => return read_any(kind, lexer, out, depth),
            (Shape::Boolean, Kind::True | Kind::False) => out.boolean(boolean(kind, lexer)?),
            (Shape::Integer(least, most), Kind::Number) => {
                let number = integer(lexer.number()?)?;
                if !(*least..=*most).contains(&number) {
                    return Err(Unusual);
                }
                out.integer(number);
            }
            (Shape::Float32, Kind::Number) => out.float32(lexer.number()?.to_f32().map_err(|_| Unusual)?),
            (Shape::Float64, Kind::Number) => out.float64(lexer.number()?.to_f64().map_err(|_| Unusual)?),
            (Shape::Text, Kind::String) => out.text(&lexer.string()?),
            (Shape::Bytes, Kind::String) => out.bytes(&read_bytes(&lexer.string()?).ok_or(Unusual)?),
            (Shape::Decimal, Kind::String) => {
                let unscaled = read_bytes(&lexer.string()?).filter(|unscaled| is_shortest(unscaled));
                out.bytes(&unscaled.ok_or(Unusual)?);
            }
            (Shape::Array(item), Kind::Array) => return read_items(Some(item), lexer, out, depth),
            (Shape::Members(value), Kind::Object) => return read_members(Some(value), lexer, out, depth),
            (Shape::Struct(members), Kind::Object) => return read_struct(members, lexer, out, depth),
            _ => return Err(Unusual),
        }
        Ok(())
    }

    fn write_null(&self, out: &mut Writer<'_>) -> Result<(), Unusual> {
        out.item(self.null.as_ref().ok_or(Unusual)?);
        Ok(())
    }
}

fn read_any(kind: Kind, lexer: &mut Lexer<'_>, out: &mut Writer<'_>, depth: usize) -> Result<(), Unusual> {
    match kind {
        Kind::Null => {
            lexer.literal("null")?;
            out.null();
        }
        Kind::True | Kind::False => out.boolean(boolean(kind, lexer)?),
        Kind::Number => {
            let numeral = lexer.number()?;
            match numeral.integral {
                true => out.integer(integer(numeral)?),
                false => out.float64(numeral.to_f64().map_err(|_| Unusual)?),
            }
        }
        Kind::String => out.text(&lexer.string()?),
        Kind::Array => return read_items(None, lexer, out, depth),
        Kind::Object => return read_members(None, lexer, out, depth),
        Kind::End => return Err(Unusual),
    }
    Ok(())
}

fn read_next(plan: Option<&Plan>, lexer: &mut Lexer<'_>, out: &mut Writer<'_>, depth: usize) -> Result<(), Unusual> {
    match plan {
        Some(plan) => plan.read(lexer, out, depth),
        None => {
            let kind = lexer.kind()?;
            read_any(kind, lexer, out, depth)
        }
    }
}

fn read_items(item: Option<&Plan>, lexer: &mut Lexer<'_>, out: &mut Writer<'_>, depth: usize) -> Result<(), Unusual> {
    let depth = descend(depth)?;
    lexer.begin_array()?;
    let start = out.begin();
    let (mut length, mut first) = (0, true);
    while lexer.next_item(&mut first)? {
        read_next(item, lexer, out, depth)?;
        length += 1;
    }
    out.end_array(start, length);
    Ok(())
}

/// A key that is there twice is left to the tree.
fn read_members(
    value: Option<&Plan>,
    lexer: &mut Lexer<'_>,
    out: &mut Writer<'_>,
    depth: usize,
) -> Result<(), Unusual> {
    let depth = descend(depth)?;
    lexer.begin_object()?;
    let start = out.begin();
    let (mut keys, mut first) = (Vec::new(), true);
    while let Some(key) = lexer.next_key(&mut first)? {
        out.text(&key);
        keys.push(key);
        read_next(value, lexer, out, depth)?;
    }
    out.end_map(start, keys.len());
    if has_duplicates(keys) { Err(Unusual) } else { Ok(()) }
}

fn has_duplicates(mut keys: Vec<Cow<'_, str>>) -> bool {
    /// Up to so many keys, comparing each with each is faster than sorting.
    const FEW: usize = 12;
    if keys.len() <= FEW {
        return (1..keys.len()).any(|index| keys[..index].contains(&keys[index]));
    }
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

/// Members in the order of the fields, some of them perhaps missing. Others are skipped.
fn read_struct(members: &[Member], lexer: &mut Lexer<'_>, out: &mut Writer<'_>, depth: usize) -> Result<(), Unusual> {
    let depth = descend(depth)?;
    lexer.begin_object()?;
    out.array(members.len());
    let (mut rest, mut first) = (members, true);
    while let Some(key) = lexer.next_key(&mut first)? {
        match rest.iter().position(|member| *member.name == *key) {
            Some(missing) => {
                rest[..missing].iter().try_for_each(|member| member.plan.write_null(out))?;
                rest[missing].plan.read(lexer, out, depth)?;
                rest = &rest[missing + 1..];
            }
            None if members.iter().any(|member| *member.name == *key) => return Err(Unusual),
            None => lexer.skip()?,
        }
    }
    rest.iter().try_for_each(|member| member.plan.write_null(out))
}

fn descend(depth: usize) -> Result<usize, Unusual> {
    if depth == MAX_DEPTH { Err(Unusual) } else { Ok(depth + 1) }
}

fn boolean(kind: Kind, lexer: &mut Lexer<'_>) -> Result<bool, Unusual> {
    let value = kind == Kind::True;
    lexer.literal(if value { "true" } else { "false" })?;
    Ok(value)
}

/// A whole number of at most 64 bits.
fn integer(numeral: Numeral<'_>) -> Result<i64, Unusual> {
    if !numeral.integral {
        return Err(Unusual);
    }
    numeral.text.parse().map_err(|_| Unusual)
}
