//! One CBOR item after the other, as far as the profile knows them.

use minicbor::Decoder;
use minicbor::data::Type;

use super::{MAX_DEPTH, tag};

/// The head of an item, with its content unless that is further items.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Token<'a> {
    Null,
    Boolean(bool),
    Int8(i8),
    Int16(i16),
    Int32(i32),
    /// An integer without tag: an INT64, or whatever integer the schema says.
    Integer(i64),
    Float32(f32),
    Float64(f64),
    Bytes(&'a [u8]),
    Text(&'a str),
    /// As many items follow.
    Array(usize),
    /// As many pairs of items follow.
    Map(usize),
}

/// Why bytes are no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    #[error("the CBOR item ends early or is damaged at byte {0}")]
    Damaged(usize),
    #[error("byte {0} begins a CBOR item that no Connect value has")]
    Unknown(usize),
    #[error("the integer at byte {0} is out of range")]
    OutOfRange(usize),
    #[error("the CBOR is nested in more than {MAX_DEPTH} levels")]
    TooDeep,
    #[error("bytes are left over behind the CBOR item, from byte {0} on")]
    LeftOver(usize),
}

/// Reads items from the start of a buffer to its end.
#[derive(Debug)]
pub struct Reader<'a> {
    decoder: Decoder<'a>,
    depth: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { decoder: Decoder::new(bytes), depth: 0 }
    }

    pub fn position(&self) -> usize {
        self.decoder.position()
    }

    /// The next item, or its head. A container's items are bracketed by [`Self::enter`] and
    /// [`Self::leave`].
    pub fn token(&mut self) -> Result<Token<'a>, Malformed> {
        let start = self.position();
        let damaged = |_| Malformed::Damaged(start);
        Ok(match self.decoder.datatype().map_err(damaged)? {
            Type::Null => {
                self.decoder.null().map_err(damaged)?;
                Token::Null
            }
            Type::Bool => Token::Boolean(self.decoder.bool().map_err(damaged)?),
            Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::I8 | Type::I16 | Type::I32 | Type::I64 => {
                Token::Integer(self.integer()?)
            }
            Type::Int => return Err(Malformed::OutOfRange(start)),
            Type::F32 => Token::Float32(self.decoder.f32().map_err(damaged)?),
            Type::F64 => Token::Float64(self.decoder.f64().map_err(damaged)?),
            Type::Bytes => Token::Bytes(self.decoder.bytes().map_err(damaged)?),
            Type::String => Token::Text(self.decoder.str().map_err(damaged)?),
            Type::Array => {
                let length = self.decoder.array().map_err(damaged)?;
                Token::Array(self.length(length, 1, start)?)
            }
            Type::Map => {
                let length = self.decoder.map().map_err(damaged)?;
                Token::Map(self.length(length, 2, start)?)
            }
            Type::Tag => self.narrow_integer(start)?,
            Type::F16
            | Type::Simple
            | Type::Undefined
            | Type::BytesIndef
            | Type::StringIndef
            | Type::ArrayIndef
            | Type::MapIndef
            | Type::Break
            | Type::Unknown(_) => return Err(Malformed::Unknown(start)),
        })
    }

    /// Goes one level down; to be called before the items of an array or map are read.
    pub fn enter(&mut self) -> Result<(), Malformed> {
        self.depth += 1;
        if self.depth > MAX_DEPTH { Err(Malformed::TooDeep) } else { Ok(()) }
    }

    pub fn leave(&mut self) {
        self.depth -= 1;
    }

    /// Reads whatever comes next, containers with all their items.
    pub fn skip(&mut self) -> Result<(), Malformed> {
        let items = match self.token()? {
            Token::Array(length) => length,
            Token::Map(length) => length * 2,
            _ => return Ok(()),
        };
        self.enter()?;
        for _ in 0..items {
            self.skip()?;
        }
        self.leave();
        Ok(())
    }

    /// Checks that everything was read.
    pub fn finish(&self) -> Result<(), Malformed> {
        if self.position() < self.decoder.input().len() {
            return Err(Malformed::LeftOver(self.position()));
        }
        Ok(())
    }

    fn integer(&mut self) -> Result<i64, Malformed> {
        let start = self.position();
        self.decoder.i64().map_err(|_| match self.position() < self.decoder.input().len() {
            true => Malformed::OutOfRange(start),
            false => Malformed::Damaged(start),
        })
    }

    /// Believes a length only if so many items, of a byte at least, can still come.
    fn length(&self, claimed: Option<u64>, bytes_each: usize, start: usize) -> Result<usize, Malformed> {
        let left = self.decoder.input().len() - self.position();
        claimed
            .and_then(|claimed| usize::try_from(claimed).ok())
            .filter(|length| *length <= left / bytes_each)
            .ok_or(Malformed::Damaged(start))
    }

    fn narrow_integer(&mut self, start: usize) -> Result<Token<'a>, Malformed> {
        let tag = self.decoder.tag().map_err(|_| Malformed::Damaged(start))?.as_u64();
        if !matches!(tag, tag::INT8 | tag::INT16 | tag::INT32) {
            return Err(Malformed::Unknown(start));
        }
        let number = match self.next_untagged()? {
            Token::Integer(number) => number,
            _ => return Err(Malformed::Unknown(start)),
        };
        let token = match tag {
            tag::INT8 => i8::try_from(number).map(Token::Int8),
            tag::INT16 => i16::try_from(number).map(Token::Int16),
            _ => i32::try_from(number).map(Token::Int32),
        };
        token.map_err(|_| Malformed::OutOfRange(start))
    }

    /// What a tag stands before; a tag there is refused, so that tags of tags don't recurse.
    fn next_untagged(&mut self) -> Result<Token<'a>, Malformed> {
        match self.decoder.datatype() {
            Ok(Type::Tag) => Err(Malformed::Unknown(self.position())),
            _ => self.token(),
        }
    }
}
