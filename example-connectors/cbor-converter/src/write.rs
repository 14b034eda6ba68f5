use std::convert::Infallible;

use bulkhead_sdk::Value;
use minicbor::Encoder;
use minicbor::encode::Error;

type Written = Result<(), Error<Infallible>>;

/// Appends a value as CBOR.
pub(crate) fn append(value: &Value<'_>, omit_nulls: bool, out: &mut Vec<u8>) -> Written {
    Writer { out: Encoder::new(out), omit_nulls }.value(value)
}

struct Writer<'o> {
    out: Encoder<&'o mut Vec<u8>>,
    omit_nulls: bool,
}

impl Writer<'_> {
    fn value(&mut self, value: &Value<'_>) -> Written {
        match value {
            Value::Null => self.out.null()?.ok(),
            Value::Boolean(value) => self.out.bool(*value)?.ok(),
            Value::Int8(value) => self.out.i8(*value)?.ok(),
            Value::Int16(value) => self.out.i16(*value)?.ok(),
            Value::Int32(value) => self.out.i32(*value)?.ok(),
            Value::Int64(value) => self.out.i64(*value)?.ok(),
            Value::Float32(value) => self.out.f32(*value)?.ok(),
            Value::Float64(value) => self.out.f64(*value)?.ok(),
            Value::Text(text) => self.out.str(text)?.ok(),
            Value::Bytes(bytes) => self.out.bytes(bytes)?.ok(),
            Value::Array(elements) => {
                self.out.array(elements.len() as u64)?;
                elements.iter().try_for_each(|element| self.value(element))
            }
            Value::Map(entries) => {
                self.out.map(entries.len() as u64)?;
                entries.iter().try_for_each(|(key, value)| {
                    self.value(key)?;
                    self.value(value)
                })
            }
            Value::Struct(fields) => {
                let names = fields.schema().fields().iter().map(|(name, _)| name);
                let all = names.zip(fields.values());
                let written: Vec<_> = all.filter(|(_, value)| !self.omit_nulls || **value != Value::Null).collect();
                self.out.map(written.len() as u64)?;
                written.into_iter().try_for_each(|(name, value)| {
                    self.out.str(name)?;
                    self.value(value)
                })
            }
        }
    }
}
