//! Binary Avro to CBOR, without a tree of values.

use super::decode_plan::{Member, Plan, Shape};
use super::encode::shortest;
use super::input::{Damaged, Input};
use crate::batch::Encoding;
use crate::cbor::{MAX_DEPTH, Writer};

type Result<T> = std::result::Result<T, Damaged>;

/// A value may take so much more room in CBOR than in Avro: with its unset fields, a union is larger.
const MAX_GROWTH: usize = 32;
const MAX_SMALL: usize = 1 << 20;

/// Reads the whole of a value and appends it in the plainest encoding. On an error the buffer holds part of it.
pub(super) fn decode(plan: &Plan, bytes: &[u8], out: &mut Vec<u8>) -> Result<Encoding> {
    if plan.members.is_empty() {
        match &plan.shape {
            // As a whole value bytes stand for themselves.
            Shape::Bytes => {
                out.extend_from_slice(bytes);
                return Ok(Encoding::Bytes);
            }
            Shape::Text => {
                out.extend_from_slice(Input::new(bytes).text()?.as_bytes());
                return Ok(Encoding::Text);
            }
            Shape::Decimal(None) => {
                write_decimal(bytes, &mut Writer::new(out))?;
                return Ok(Encoding::Cbor);
            }
            _ => {}
        }
    }
    let most = out.len() + MAX_SMALL + bytes.len().saturating_mul(MAX_GROWTH);
    let mut decoder = Decoder { input: Input::new(bytes), most, depth: 0 };
    let start = out.len();
    match decoder.value(plan, out)? {
        Found::Null => {
            out.truncate(start);
            Ok(Encoding::None)
        }
        Found::Value => Ok(Encoding::Cbor),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Null,
    Value,
}

struct Decoder<'a> {
    input: Input<'a>,
    /// What the buffer may grow to.
    most: usize,
    depth: usize,
}

impl Decoder<'_> {
    fn value(&mut self, plan: &Plan, out: &mut Vec<u8>) -> Result<Found> {
        if out.len() > self.most {
            return Err(Damaged::TooLarge);
        }
        if plan.members.is_empty() {
            return self.shape(&plan.shape, 0, out);
        }
        let number = self.input.long()?;
        let member = usize::try_from(number).ok().and_then(|number| plan.members.get(number));
        match member {
            Some(Member::Value(index)) => self.shape(&plan.shape, *index, out),
            Some(Member::Null) => {
                Writer::new(out).null();
                Ok(Found::Null)
            }
            None => Err(Damaged::UnknownMember(number)),
        }
    }

    /// `member` is which field of a union's struct is set.
    fn shape(&mut self, shape: &Shape, member: usize, out: &mut Vec<u8>) -> Result<Found> {
        let mut writer = Writer::new(out);
        let input = &mut self.input;
        match shape {
            Shape::Boolean => writer.boolean(input.boolean()?),
            Shape::Int8 => writer.integer((input.int()? as i8).into()),
            Shape::Int16 => writer.integer((input.int()? as i16).into()),
            Shape::Int32 => writer.integer(input.int()?.into()),
            Shape::Time => match input.int()? {
                time @ 0..=86_400_000 => writer.integer(time.into()),
                other => return Err(Damaged::NotTime(other)),
            },
            Shape::Long => writer.integer(input.long()?),
            Shape::Float32 => writer.float32(input.float()?),
            Shape::Float64 => writer.float64(input.double()?),
            Shape::Text => writer.text(input.text()?),
            Shape::Bytes => writer.bytes(input.bytes()?),
            Shape::Fixed(size) => writer.bytes(input.take(*size)?),
            Shape::Decimal(None) => write_decimal(input.bytes()?, &mut writer)?,
            Shape::Decimal(Some(size)) => write_decimal(input.take(*size)?, &mut writer)?,
            Shape::Enum(symbols) => {
                let number = input.int()?;
                let symbol = usize::try_from(number).ok().and_then(|number| symbols.symbols.get(number));
                let symbol = symbol.ok_or_else(|| Damaged::UnknownSymbol(symbols.name.to_string(), number))?;
                writer.text(symbol);
            }
            Shape::Anything => return self.anything(out),
            Shape::Array(item) => self.nested(|decoder| decoder.items(item, out))?,
            Shape::Map(value) => self.nested(|decoder| decoder.map(value, out))?,
            Shape::Pairs { plans, key_comes_first, text_keys } => {
                self.nested(|decoder| decoder.pairs(plans, *key_comes_first, *text_keys, out))?;
            }
            Shape::Struct(fields) => self.nested(|decoder| {
                Writer::new(out).array(fields.len());
                fields.iter().try_for_each(|field| decoder.value(field, out).map(|_| ()))
            })?,
            Shape::Union(members) => self.nested(|decoder| {
                Writer::new(out).array(members.len());
                members.iter().enumerate().try_for_each(|(index, plan)| match index == member {
                    true => decoder.value(plan, out).map(|_| ()),
                    false => {
                        Writer::new(out).null();
                        Ok(())
                    }
                })
            })?,
        }
        Ok(Found::Value)
    }

    fn nested(&mut self, content: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(Damaged::TooDeep);
        }
        content(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn items(&mut self, item: &Plan, out: &mut Vec<u8>) -> Result<()> {
        let start = Writer::new(out).begin();
        let count = self.each(|decoder| decoder.value(item, out).map(|_| ()))?;
        Writer::new(out).end_array(start, count);
        Ok(())
    }

    fn map(&mut self, value: &Plan, out: &mut Vec<u8>) -> Result<()> {
        let start = Writer::new(out).begin();
        let mut keys = Vec::new();
        let count = self.each(|decoder| {
            let key = decoder.input.text()?;
            Writer::new(out).text(key);
            keys.push(key);
            decoder.value(value, out).map(|_| ())
        })?;
        Writer::new(out).end_map(start, count);
        match double(keys) {
            Some(key) => Err(Damaged::DoubleKey(key.to_owned())),
            None => Ok(()),
        }
    }

    /// A CBOR map if the keys are texts, else an array of pairs.
    fn pairs(&mut self, plans: &(Plan, Plan), key_first: bool, text_keys: bool, out: &mut Vec<u8>) -> Result<()> {
        let start = Writer::new(out).begin();
        let count = self.nested_each(|decoder| {
            if !text_keys {
                Writer::new(out).array(2);
            }
            let entry = out.len();
            let (first, second) = if key_first { (&plans.0, &plans.1) } else { (&plans.1, &plans.0) };
            decoder.value(first, out)?;
            let middle = out.len() - entry;
            decoder.value(second, out)?;
            if !key_first {
                out[entry..].rotate_left(middle);
            }
            Ok(())
        })?;
        match text_keys {
            true => Writer::new(out).end_map(start, count),
            false => Writer::new(out).end_array(start, count),
        }
        Ok(())
    }

    /// As [`Self::each`], for items that are one level further down.
    fn nested_each(&mut self, item: impl FnMut(&mut Self) -> Result<()>) -> Result<usize> {
        let mut count = 0;
        self.nested(|decoder| {
            count = decoder.each(item)?;
            Ok(())
        })?;
        Ok(count)
    }

    /// Goes through the blocks of an array or map and counts its items.
    fn each(&mut self, mut item: impl FnMut(&mut Self) -> Result<()>) -> Result<usize> {
        let mut total = 0;
        loop {
            let count = self.input.block()?;
            if count == 0 {
                return Ok(total);
            }
            for _ in 0..count {
                item(self)?;
            }
            total += count;
        }
    }

    /// The first field that is set is the value, and without one it is null.
    fn anything(&mut self, out: &mut Vec<u8>) -> Result<Found> {
        if out.len() > self.most {
            return Err(Damaged::TooLarge);
        }
        let start = out.len();
        let mut end = None;
        for field in 0..9 {
            match self.input.long()? {
                0 => continue,
                1 => self.field_of_anything(field, out)?,
                other => return Err(Damaged::UnknownMember(other)),
            }
            out.truncate(*end.get_or_insert(out.len()));
        }
        if end.is_none() {
            out.truncate(start);
            Writer::new(out).null();
            return Ok(Found::Null);
        }
        Ok(Found::Value)
    }

    fn field_of_anything(&mut self, field: usize, out: &mut Vec<u8>) -> Result<()> {
        let mut writer = Writer::new(out);
        let input = &mut self.input;
        match field {
            0 => writer.boolean(input.boolean()?),
            1 => writer.bytes(input.bytes()?),
            2 => writer.float64(input.double()?),
            3 => writer.float32(input.float()?),
            4 => writer.tagged_int32(input.int()?),
            5 => writer.integer(input.long()?),
            6 => writer.text(input.text()?),
            7 => self.nested(|decoder| {
                let start = Writer::new(out).begin();
                let count = decoder.each(|decoder| decoder.anything(out).map(|_| ()))?;
                Writer::new(out).end_array(start, count);
                Ok(())
            })?,
            _ => self.nested(|decoder| {
                let start = Writer::new(out).begin();
                let count = decoder.each(|decoder| {
                    decoder.anything(out)?;
                    decoder.anything(out).map(|_| ())
                })?;
                Writer::new(out).end_map(start, count);
                Ok(())
            })?,
        }
        Ok(())
    }
}

/// Without bytes that only repeat the sign.
fn write_decimal(unscaled: &[u8], out: &mut Writer<'_>) -> Result<()> {
    out.bytes(shortest(unscaled).map_err(|_| Damaged::EmptyDecimal)?);
    Ok(())
}

/// A key that is there twice.
fn double(mut keys: Vec<&str>) -> Option<&str> {
    keys.sort_unstable();
    keys.windows(2).find(|pair| pair[0] == pair[1]).map(|pair| pair[0])
}
