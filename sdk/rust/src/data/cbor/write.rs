use minicbor::Encoder;

use super::{INT8, INT16, INT32, MAX_DEPTH};
use crate::data::schema::type_name;
use crate::data::{Schema, SchemaType, Struct, Value};
use crate::{Error, Result};

/// Appends a value to `out`; `data` error if it doesn't fit the schema.
pub(crate) fn encode(schema: Option<&Schema>, value: &Value<'_>, out: &mut Vec<u8>) -> Result<()> {
    let mut writer = Writer { out: Encoder::new(out), depth: 0 };
    match schema {
        Some(schema) => writer.under(schema, value),
        None => writer.schemaless(value),
    }
}

struct Writer<'o> {
    out: Encoder<&'o mut Vec<u8>>,
    depth: u32,
}

/// Writing to memory doesn't fail, so there is nothing to hand on.
type Written<'e, 'o> = Result<&'e mut Encoder<&'o mut Vec<u8>>, minicbor::encode::Error<std::convert::Infallible>>;

impl<'o> Writer<'o> {
    fn under(&mut self, schema: &Schema, value: &Value<'_>) -> Result<()> {
        match (schema.kind(), value) {
            (_, Value::Null) if schema.accepts_null() => done(self.out.null()),
            (SchemaType::Int8, Value::Int8(value)) => done(self.out.i8(*value)),
            (SchemaType::Int16, Value::Int16(value)) => done(self.out.i16(*value)),
            (SchemaType::Int32, Value::Int32(value)) => done(self.out.i32(*value)),
            (SchemaType::Int64, Value::Int64(value)) => done(self.out.i64(*value)),
            (SchemaType::Float32, Value::Float32(value)) => done(self.out.f32(canonical32(*value))),
            (SchemaType::Float64, Value::Float64(value)) => done(self.out.f64(canonical64(*value))),
            (SchemaType::Boolean, Value::Boolean(value)) => done(self.out.bool(*value)),
            (SchemaType::Text, Value::Text(text)) => done(self.out.str(text)),
            (SchemaType::Bytes, Value::Bytes(bytes)) if schema.is_decimal() && bytes.is_empty() => {
                Err(Error::data("a Decimal has at least one byte"))
            }
            (SchemaType::Bytes, Value::Bytes(bytes)) => done(self.out.bytes(bytes)),
            (SchemaType::Array, Value::Array(elements)) => self.array_under(schema, elements),
            (SchemaType::MapOf, Value::Map(entries)) => self.map_under(schema, entries),
            (SchemaType::StructOf, Value::Struct(fields)) => self.fields_under(schema, fields),
            (expected, other) => {
                Err(Error::data(format!("{} where the schema says {}", other.kind(), type_name(expected))))
            }
        }
    }

    fn array_under(&mut self, schema: &Schema, elements: &[Value<'_>]) -> Result<()> {
        let element = schema.element().ok_or_else(|| Error::data("the schema of an array has no element"))?;
        self.nested(|writer| {
            done(writer.out.array(elements.len() as u64))?;
            elements.iter().try_for_each(|value| writer.under(element, value))
        })
    }

    fn map_under(&mut self, schema: &Schema, entries: &[(Value<'_>, Value<'_>)]) -> Result<()> {
        let Some((key, element)) = schema.key().zip(schema.element()) else {
            return Err(Error::data("the schema of a map has no key or no value"));
        };
        let named = key.kind() == SchemaType::Text;
        self.nested(|writer| {
            let entry = |writer: &mut Self, (name, value): &(Value<'_>, Value<'_>)| {
                writer.under(key, name)?;
                writer.under(element, value)
            };
            if named {
                done(writer.out.map(entries.len() as u64))?;
                return entries.iter().try_for_each(|each| entry(writer, each));
            }
            done(writer.out.array(entries.len() as u64))?;
            entries.iter().try_for_each(|each| {
                writer.nested(|writer| {
                    done(writer.out.array(2))?;
                    entry(writer, each)
                })
            })
        })
    }

    fn fields_under(&mut self, schema: &Schema, fields: &Struct<'_>) -> Result<()> {
        if schema.fields().len() != fields.values().len() {
            return Err(Error::data("the struct belongs to another schema"));
        }
        self.nested(|writer| {
            done(writer.out.array(fields.values().len() as u64))?;
            schema.fields().iter().zip(fields.values()).try_for_each(|((name, schema), value)| {
                writer.under(schema, value).map_err(|error| error.context(format!("field `{name}` doesn't fit")))
            })
        })
    }

    fn schemaless(&mut self, value: &Value<'_>) -> Result<()> {
        match value {
            Value::Null => done(self.out.null()),
            Value::Boolean(value) => done(self.out.bool(*value)),
            Value::Int8(value) => done(self.out.tag(INT8).and_then(|out| out.i8(*value))),
            Value::Int16(value) => done(self.out.tag(INT16).and_then(|out| out.i16(*value))),
            Value::Int32(value) => done(self.out.tag(INT32).and_then(|out| out.i32(*value))),
            Value::Int64(value) => done(self.out.i64(*value)),
            Value::Float32(value) => done(self.out.f32(canonical32(*value))),
            Value::Float64(value) => done(self.out.f64(canonical64(*value))),
            Value::Text(text) => done(self.out.str(text)),
            Value::Bytes(bytes) => done(self.out.bytes(bytes)),
            Value::Array(elements) => self.nested(|writer| {
                done(writer.out.array(elements.len() as u64))?;
                elements.iter().try_for_each(|element| writer.schemaless(element))
            }),
            Value::Map(entries) => self.nested(|writer| {
                done(writer.out.map(entries.len() as u64))?;
                entries.iter().try_for_each(|(key, value)| {
                    writer.schemaless(key)?;
                    writer.schemaless(value)
                })
            }),
            Value::Struct(_) => Err(Error::data("a struct can't be written without its schema")),
        }
    }

    fn nested(&mut self, write: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.depth == MAX_DEPTH {
            return Err(Error::data(format!("a value may be nested no more than {MAX_DEPTH} levels")));
        }
        self.depth += 1;
        write(self)?;
        self.depth -= 1;
        Ok(())
    }
}

fn done(written: Written<'_, '_>) -> Result<()> {
    written.map(|_| ()).map_err(Error::failed)
}

/// There are many NaNs, but only one is written.
fn canonical32(value: f32) -> f32 {
    if value.is_nan() { f32::from_bits(0x7fc0_0000) } else { value }
}

fn canonical64(value: f64) -> f64 {
    if value.is_nan() { f64::from_bits(0x7ff8_0000_0000_0000) } else { value }
}
