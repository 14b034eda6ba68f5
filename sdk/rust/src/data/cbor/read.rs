use minicbor::Decoder;
use minicbor::data::Type;

use super::{INT8, INT16, INT32, MAX_DEPTH};
use crate::data::{Schema, SchemaType, Struct, Value};
use crate::{Error, Result};

/// Reads the one value that `bytes` must be; texts and bytes in it stay borrowed.
pub(crate) fn decode<'a>(schema: Option<&Schema>, bytes: &'a [u8]) -> Result<Value<'a>> {
    let mut reader = Reader { input: Decoder::new(bytes), depth: 0 };
    let value = match schema {
        Some(schema) => reader.under(schema),
        None => reader.schemaless(),
    }?;
    if reader.input.position() != bytes.len() {
        return Err(Error::data("bytes are left over after the value"));
    }
    Ok(value)
}

struct Reader<'b> {
    input: Decoder<'b>,
    depth: u32,
}

impl<'b> Reader<'b> {
    fn under(&mut self, schema: &Schema) -> Result<Value<'b>> {
        if self.next()? == Type::Null {
            if !schema.accepts_null() {
                return Err(Error::data("null where the schema is neither optional nor has a default"));
            }
            self.input.null().map_err(unreadable)?;
            return Ok(Value::Null);
        }
        match schema.kind() {
            SchemaType::Int8 => self.input.i8().map(Value::Int8).map_err(unreadable),
            SchemaType::Int16 => self.input.i16().map(Value::Int16).map_err(unreadable),
            SchemaType::Int32 => self.input.i32().map(Value::Int32).map_err(unreadable),
            SchemaType::Int64 => self.input.i64().map(Value::Int64).map_err(unreadable),
            SchemaType::Float32 => self.float32(),
            SchemaType::Float64 => self.float64(),
            SchemaType::Boolean => self.input.bool().map(Value::Boolean).map_err(unreadable),
            SchemaType::Text => self.text(),
            SchemaType::Bytes => self.bytes_under(schema),
            SchemaType::Array => self.array_under(schema),
            SchemaType::MapOf => self.map_under(schema),
            SchemaType::StructOf => self.struct_under(schema),
        }
    }

    fn bytes_under(&mut self, schema: &Schema) -> Result<Value<'b>> {
        match self.bytes()? {
            Value::Bytes(bytes) if schema.is_decimal() && bytes.is_empty() => {
                Err(Error::data("a Decimal has at least one byte"))
            }
            value => Ok(value),
        }
    }

    fn array_under(&mut self, schema: &Schema) -> Result<Value<'b>> {
        let element = schema.element().ok_or_else(|| Error::data("the schema of an array has no element"))?;
        self.array(|reader| reader.under(element)).map(Value::Array)
    }

    fn map_under(&mut self, schema: &Schema) -> Result<Value<'b>> {
        let Some((key, element)) = schema.key().zip(schema.element()) else {
            return Err(Error::data("the schema of a map has no key or no value"));
        };
        if key.kind() == SchemaType::Text {
            return self.map(|reader| Ok((reader.under(key)?, reader.under(element)?)));
        }
        let pair = |reader: &mut Self| {
            reader.nested(|reader| {
                reader.expect_array(2)?;
                Ok((reader.under(key)?, reader.under(element)?))
            })
        };
        self.array(pair).map(Value::Map)
    }

    fn struct_under(&mut self, schema: &Schema) -> Result<Value<'b>> {
        self.nested(|reader| {
            reader.expect_array(schema.fields().len())?;
            let field = |(name, schema): &(String, Schema)| {
                reader.under(schema).map_err(|error| error.context(format!("field `{name}` is bad")))
            };
            let values = schema.fields().iter().map(field).collect::<Result<_>>()?;
            Ok(Value::Struct(Struct::from_values(schema, values)))
        })
    }

    fn schemaless(&mut self) -> Result<Value<'b>> {
        match self.next()? {
            Type::Null => self.input.null().map(|()| Value::Null).map_err(unreadable),
            Type::Bool => self.input.bool().map(Value::Boolean).map_err(unreadable),
            Type::U8 | Type::U16 | Type::U32 | Type::U64 | Type::I8 | Type::I16 | Type::I32 | Type::I64 | Type::Int => {
                self.input.i64().map(Value::Int64).map_err(unreadable)
            }
            Type::Tag => self.narrow_integer(),
            Type::F32 => self.float32(),
            Type::F64 => self.float64(),
            Type::String => self.text(),
            Type::Bytes => self.bytes(),
            Type::Array => self.array(Self::schemaless).map(Value::Array),
            Type::Map => self.map(|reader| Ok((reader.schemaless()?, reader.schemaless()?))),
            other => Err(Error::data(format!("{other} is no Connect value"))),
        }
    }

    fn narrow_integer(&mut self) -> Result<Value<'b>> {
        match self.input.tag().map_err(unreadable)? {
            INT8 => self.input.i8().map(Value::Int8).map_err(unreadable),
            INT16 => self.input.i16().map(Value::Int16).map_err(unreadable),
            INT32 => self.input.i32().map(Value::Int32).map_err(unreadable),
            other => Err(Error::data(format!("unknown tag {}", other.as_u64()))),
        }
    }

    fn float32(&mut self) -> Result<Value<'b>> {
        self.expect(Type::F32)?;
        self.input.f32().map(Value::Float32).map_err(unreadable)
    }

    fn float64(&mut self) -> Result<Value<'b>> {
        self.expect(Type::F64)?;
        self.input.f64().map(Value::Float64).map_err(unreadable)
    }

    fn text(&mut self) -> Result<Value<'b>> {
        self.expect(Type::String)?;
        self.input.str().map(Value::from).map_err(unreadable)
    }

    fn bytes(&mut self) -> Result<Value<'b>> {
        self.expect(Type::Bytes)?;
        self.input.bytes().map(Value::from).map_err(unreadable)
    }

    fn map(&mut self, entry: impl FnMut(&mut Self) -> Result<(Value<'b>, Value<'b>)>) -> Result<Value<'b>> {
        self.expect(Type::Map)?;
        self.nested(|reader| {
            let count = reader.input.map().map_err(unreadable)?;
            reader.times(count, entry).map(Value::Map)
        })
    }

    fn array<T>(&mut self, element: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        self.expect(Type::Array)?;
        self.nested(|reader| {
            let count = reader.input.array().map_err(unreadable)?;
            reader.times(count, element)
        })
    }

    /// Reads `count` items. A count isn't believed before its items are there: each takes at least a byte.
    fn times<T>(&mut self, count: Option<u64>, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let left = self.input.input().len() - self.input.position();
        match count.map(usize::try_from) {
            Some(Ok(count)) if count <= left => (0..count).map(|_| read(self)).collect(),
            _ => Err(Error::data("the value ends early")),
        }
    }

    fn expect_array(&mut self, length: usize) -> Result<()> {
        self.expect(Type::Array)?;
        let found = self.input.array().map_err(unreadable)?;
        if found != Some(length as u64) {
            return Err(Error::data(format!("an array of {length} is expected")));
        }
        Ok(())
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == MAX_DEPTH {
            return Err(Error::data(format!("a value may be nested no more than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        let value = read(self)?;
        self.depth -= 1;
        Ok(value)
    }

    fn expect(&self, expected: Type) -> Result<()> {
        let found = self.next()?;
        if found == expected { Ok(()) } else { Err(Error::data(format!("{found} where {expected} is expected"))) }
    }

    fn next(&self) -> Result<Type> {
        self.input.datatype().map_err(unreadable)
    }
}

fn unreadable(error: minicbor::decode::Error) -> Error {
    Error::data(error.to_string()).context("the CBOR can't be read")
}
