//! A JSON document as a tree.

use std::borrow::Cow;

use indexmap::IndexMap;

use super::lexer::{Kind, Lexer, Numeral, Syntax};

/// Texts are slices of the document wherever they stand in it unescaped.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node<'a> {
    /// Of an empty document. Not a null.
    Missing,
    Null,
    Boolean(bool),
    Number(Numeral<'a>),
    Text(Cow<'a, str>),
    Array(Vec<Node<'a>>),
    /// Of a key that is there twice the last one counts.
    Object(IndexMap<Cow<'a, str>, Node<'a>>),
}

impl<'a> Node<'a> {
    /// The first document of a text; anything behind it is ignored.
    pub(super) fn parse(text: &'a [u8]) -> Result<Self, Syntax> {
        let mut lexer = Lexer::new(text);
        let kind = lexer.kind()?;
        let node = Self::read(&mut lexer)?;
        lexer.end_of_scalar(kind)?;
        Ok(node)
    }

    /// The only document of a text.
    pub(super) fn parse_all(text: &'a [u8]) -> Result<Self, Syntax> {
        let mut lexer = Lexer::new(text);
        let node = Self::read(&mut lexer)?;
        match lexer.kind()? {
            Kind::End if node != Self::Missing => Ok(node),
            _ => Err(lexer.syntax()),
        }
    }

    /// The value that comes next.
    pub(super) fn read(lexer: &mut Lexer<'a>) -> Result<Self, Syntax> {
        Ok(match lexer.kind()? {
            Kind::Object => Self::Object(read_object(lexer)?),
            Kind::Array => Self::Array(read_array(lexer)?),
            Kind::String => Self::Text(lexer.string()?),
            Kind::Number => Self::Number(lexer.number()?),
            Kind::True => lexer.literal("true").map(|()| Self::Boolean(true))?,
            Kind::False => lexer.literal("false").map(|()| Self::Boolean(false))?,
            Kind::Null => lexer.literal("null").map(|()| Self::Null)?,
            Kind::End => Self::Missing,
        })
    }

    /// A member of an object; none of anything else.
    pub(super) fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.get(key),
            _ => None,
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// For messages.
    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Missing => "nothing",
            Self::Null => "null",
            Self::Boolean(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "an object",
        }
    }
}

fn read_object<'a>(lexer: &mut Lexer<'a>) -> Result<IndexMap<Cow<'a, str>, Node<'a>>, Syntax> {
    lexer.begin_object()?;
    let (mut members, mut first) = (IndexMap::new(), true);
    while let Some(key) = lexer.next_key(&mut first)? {
        members.insert(key, read_part(lexer)?);
    }
    Ok(members)
}

fn read_array<'a>(lexer: &mut Lexer<'a>) -> Result<Vec<Node<'a>>, Syntax> {
    lexer.begin_array()?;
    let (mut items, mut first) = (Vec::new(), true);
    while lexer.next_item(&mut first)? {
        items.push(read_part(lexer)?);
    }
    Ok(items)
}

/// Inside a container something has to come.
fn read_part<'a>(lexer: &mut Lexer<'a>) -> Result<Node<'a>, Syntax> {
    match Node::read(lexer)? {
        Node::Missing => Err(lexer.syntax()),
        node => Ok(node),
    }
}
