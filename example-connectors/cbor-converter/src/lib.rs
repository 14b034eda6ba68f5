//! Keys, values and header values as CBOR (RFC 8949): what JSON says, in fewer bytes, and with bytes among its types.
//!
//! To Kafka a struct is a map of its fields, and logical types are what they are stored as. To Connect values are schemaless;
//! tags are passed over. Null is Kafka's null.

mod read;
mod write;

use bulkhead_sdk::prelude::*;

bulkhead_sdk::export! {
    converter "io.bulkhead.converters.CborConverter" => Cbor,
    header_converter "io.bulkhead.converters.CborConverter" => Cbor,
}

/// Converts between Connect's values and CBOR.
#[derive(Config)]
pub struct Settings {
    /// Leave fields of structs out that are null.
    #[config(default = false, importance = "low")]
    omit_nulls: bool,
}

/// The converter.
#[derive(Debug)]
pub struct Cbor {
    omit_nulls: bool,
}

impl Converter for Cbor {
    type Config = Settings;

    async fn start(Settings { omit_nulls }: Settings, _: Role) -> Result<Self> {
        Ok(Self { omit_nulls })
    }

    async fn from_connect(&mut self, item: &ConverterItem<'_>, kafka: &mut KafkaBytes<'_>) -> Result<()> {
        match item.payload().decode()? {
            Value::Null => Ok(()),
            value => write::append(&value, self.omit_nulls, kafka.buffer()).map_err(Error::data),
        }
    }

    async fn to_connect(&mut self, item: &ConverterItem<'_>, connect: &mut ConnectValue<'_>) -> Result<()> {
        match item.bytes() {
            None => Ok(()),
            Some(bytes) => connect.set(None, read::value(bytes).map_err(Error::data)?),
        }
    }
}

#[cfg(test)]
mod tests {
    use bulkhead_sdk::ErrorKind;
    use bulkhead_sdk::test::ConverterRun;

    use super::*;

    fn plain() -> ConverterRun<Cbor> {
        ConverterRun::start([("omit.nulls", "false")], Role::Value)
    }

    #[test]
    fn a_schemaless_value_comes_back_as_it_was() {
        let entries = vec![
            ("text".into(), "ä".into()),
            (Value::Int64(-1), Value::Array(vec![Value::Null, true.into(), 1.5_f64.into(), 0.1_f32.into()])),
            ("bytes".into(), Value::from(&[0_u8, 255][..])),
        ];
        let mut run = plain();
        for value in [Value::Map(entries), "".into(), i64::MIN.into(), Value::Array(Vec::new())] {
            let bytes = run.from_connect(None, value.clone()).unwrap();
            assert_eq!(run.to_connect(bytes.as_deref()).unwrap().value, value);
        }
    }

    #[test]
    fn a_struct_becomes_a_map() {
        let schema = Schema::record("P").field("id", Schema::int8()).field("note", Schema::text().optional());
        let point = Struct::new(&schema).with("id", 7_i8).unwrap();
        let whole = plain().from_connect(&schema, point.clone()).unwrap();
        assert_eq!(whole.as_deref(), Some(&b"\xa2\x62id\x07\x64note\xf6"[..]));
        let mut omitting = ConverterRun::<Cbor>::start([("omit.nulls", "true")], Role::Key);
        assert_eq!(omitting.from_connect(&schema, point).unwrap().as_deref(), Some(&b"\xa1\x62id\x07"[..]));
    }

    #[test]
    fn null_is_kafkas_null_and_that_of_cbor_is_read_as_well() {
        let mut run = plain();
        assert_eq!(run.from_connect(None, Value::Null).unwrap(), None);
        assert_eq!(run.to_connect(None).unwrap().value, Value::Null);
        assert_eq!(run.to_connect(Some(b"\xf6")).unwrap().value, Value::Null);
    }

    #[test]
    fn what_others_write_is_read() {
        let mut run = plain();
        let mut read = |bytes: &[u8]| run.to_connect(Some(bytes)).unwrap().value;
        let list = Value::Array(vec![Value::Int64(1), Value::Array(vec![])]);
        assert_eq!(read(b"\x9f\x01\x80\xff"), list, "an array without a length");
        assert_eq!(read(b"\xbf\x61a\x01\xff"), Value::Map(vec![("a".into(), Value::Int64(1))]));
        assert_eq!((read(b"\x7f\x61a\x61b\xff"), read(b"\x5f\x41a\x41b\xff")), ("ab".into(), Value::from(&b"ab"[..])));
        assert_eq!(read(b"\xf9\x3c\x00"), Value::Float32(1.0), "a float of 16 bits");
        assert_eq!(read(b"\xc1\xc1\x1a\x51\x4b\x67\xb0"), Value::Int64(1_363_896_240), "a tagged time");
    }

    #[test]
    fn what_is_no_value_fails_alone() {
        let deep = [0x81; 100_000];
        let bad = [
            &b""[..],
            b"\x01\x02",
            b"\x9b\xff\xff\xff\xff\xff\xff\xff\xff\x01",
            b"\x1b\xff\xff\xff\xff\xff\xff\xff\xff",
            b"\x61\xff",
            b"\x9f\x01",
            b"\xff",
            b"\xf0",
            &deep,
        ];
        let made = plain().all_to_connect(bad.into_iter().chain([&b"\x01"[..]]).map(Some)).unwrap();
        let (good, bad) = made.split_last().unwrap();
        assert_eq!(good.as_ref().unwrap().value, Value::Int64(1));
        assert!(bad.iter().all(|item| item.as_ref().is_err_and(|error| error.kind() == &ErrorKind::Data)), "{bad:?}");
    }
}
