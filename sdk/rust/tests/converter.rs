//! A converter as authors write them.

#![allow(clippy::unwrap_used)]

use bulkhead_sdk::ErrorKind;
use bulkhead_sdk::prelude::*;
use bulkhead_sdk::test::ConverterRun;

/// Lines of two fields.
#[derive(Config)]
struct Settings {
    /// What is between them.
    #[config(default = ",")]
    separator: String,
}

struct Fields {
    separator: String,
    schema: Schema,
}

impl Converter for Fields {
    type Config = Settings;

    async fn start(Settings { separator }: Settings, role: Role) -> Result<Self> {
        if separator == "=" && role == Role::Header {
            return Err(Error::config("separator")("not in headers"));
        }
        let schema = Schema::record("Fields").field("first", Schema::text()).field("rest", Schema::text().optional());
        Ok(Self { separator, schema })
    }

    async fn from_connect(&mut self, item: &ConverterItem<'_>, kafka: &mut KafkaBytes<'_>) -> Result<()> {
        match item.payload().decode()? {
            Value::Null => {}
            Value::Struct(fields) => {
                let line = kafka.buffer();
                for (place, field) in fields.values().iter().filter(|field| **field != Value::Null).enumerate() {
                    let separator = if place > 0 { self.separator.as_str() } else { "" };
                    line.extend_from_slice(format!("{separator}{field}").as_bytes());
                }
            }
            Value::Text(text) if text == "end" => return Err(Error::failed("enough")),
            Value::Text(text) => {
                kafka.set("set twice, and the last counts");
                kafka.set(format!("{}{}{text}", item.header_key().unwrap_or(item.topic()), self.separator));
            }
            other => {
                kafka.set("not sent");
                return Err(Error::data(format!("{other} has no fields")));
            }
        }
        Ok(())
    }

    async fn to_connect(&mut self, item: &ConverterItem<'_>, connect: &mut ConnectValue<'_>) -> Result<()> {
        let Some(line) = item.bytes() else { return connect.set(&self.schema.clone().optional(), Value::Null) };
        let line = str::from_utf8(line).map_err(Error::data)?;
        match line.split_once(&self.separator) {
            Some(("json", rest)) => connect.json(&[rest]),
            Some(("bytes", rest)) => {
                connect.bytes(rest);
                Ok(())
            }
            Some((first, rest)) => {
                connect.set(&self.schema, Struct::new(&self.schema).with("first", first)?.with("rest", rest)?)
            }
            None if line.is_empty() => connect.set(&self.schema, Struct::new(&self.schema)),
            None => {
                connect.text(line);
                Ok(())
            }
        }
    }
}

bulkhead_sdk::export! {
    converter "org.example.Fields" => Fields aliases ["com.other.Fields"],
    header_converter "org.example.Fields" => Fields,
}

fn fields(role: Role) -> ConverterRun<Fields> {
    ConverterRun::start([("separator", ";")], role)
}

#[test]
fn each_item_becomes_bytes_or_null_or_fails_alone() {
    let schema = Schema::record("Any").field("a", Schema::text()).field("b", Schema::int32().optional());
    let both = Struct::new(&schema).with("a", "x").unwrap().with("b", 7).unwrap();
    let made = fields(Role::Value).all_from_connect([
        (None, "text".into()),
        (None, Value::Null),
        (None, true.into()),
        (Some(&schema), both.into()),
        (None, "".into()),
    ]);
    let made: Vec<_> = made.unwrap().into_iter().map(|item| item.map_err(|error| error.to_string())).collect();
    let bytes = |text: &str| Ok(Some(text.as_bytes().to_vec()));
    let expected = [bytes("topic;text"), Ok(None), Err("true has no fields".to_owned()), bytes("x;7"), bytes("topic;")];
    assert_eq!(made, expected);
}

#[test]
fn an_item_knows_what_it_belongs_to() {
    let mut values = fields(Role::Value);
    values.set_topic("orders");
    assert_eq!(values.from_connect(None, "a").unwrap().unwrap(), b"orders;a");
    let mut headers = fields(Role::Header);
    assert_eq!(headers.from_connect(None, "a").unwrap().unwrap(), b"header;a");
    headers.set_header_key("colour");
    assert_eq!(headers.from_connect(None, "a").unwrap().unwrap(), b"colour;a");
}

#[test]
fn what_comes_from_kafka_may_be_any_value() {
    let mut run = fields(Role::Key);
    let made = run.all_to_connect([&b"a;b"[..], b"plain", b"bytes;b", b"json;b", b"\xff", b"c;d"].map(Some)).unwrap();
    let [structured, text, bytes, json, bad, again] = &made[..] else { panic!("{made:?}") };
    let Value::Struct(value) = &structured.as_ref().unwrap().value else { panic!("{structured:?}") };
    assert_eq!((value.get("first"), value.get("rest")), (Some(&"a".into()), Some(&"b".into())));
    let schema = structured.as_ref().unwrap().schema.as_ref();
    assert_eq!(schema.unwrap().get_name(), Some("Fields"));
    assert_eq!(again.as_ref().unwrap().schema.as_ref(), schema);
    let plain = [text, bytes, json].map(|made| made.as_ref().unwrap().clone());
    assert_eq!(plain.clone().map(|made| made.value), ["plain".into(), Value::from(&b"b"[..]), r#"["b"]"#.into()]);
    assert_eq!(plain.map(|made| made.schema), [const { None }; 3]);
    assert_eq!(bad.as_ref().unwrap_err().kind(), &ErrorKind::Data);
    let null = run.to_connect(None).unwrap();
    assert_eq!((null.value, null.schema.unwrap().is_optional()), (Value::Null, true));
}

#[test]
fn a_value_that_does_not_fit_its_schema_fails_alone() {
    let made = fields(Role::Value).all_to_connect([&b""[..], b"a;b"].map(Some)).unwrap();
    assert!(made[0].as_ref().unwrap_err().to_string().starts_with("field `first` doesn't fit"), "{made:?}");
    assert!(made[1].is_ok());
}

#[test]
fn an_error_that_is_not_about_data_ends_the_converter() {
    let error = fields(Role::Value).all_from_connect([(None, "a".into()), (None, "end".into())]).unwrap_err();
    assert_eq!(error.to_string(), "item 1 of the batch: enough");
    let refused = ConverterRun::<Fields>::try_start([("separator", "=")], Role::Header).unwrap_err();
    assert_eq!(refused.kind(), &ErrorKind::Config(Some("separator".to_owned())));
}
