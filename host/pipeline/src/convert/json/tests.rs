//! The fast way and the plain one give the same, whatever the schema, the value and the damage.

use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_model::value::{Decimal, Field, Number, Schema, SchemaType, Struct, Value, logical};

use super::JsonConverter;
use crate::batch::Item;
use crate::convert::{ConvertError, Converter, Decoded, Encoded, item};

/// A generator that gives the same for the same seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }

    fn number(&mut self) -> i64 {
        self.0 = self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15).max(1);
        (self.0 as i64) >> self.below(64)
    }

    fn text(&mut self) -> String {
        let alphabet = ['a', 'b', '"', '\\', '\n', '\u{1}', 'é', '漢', '😀', '/', ' '];
        (0..self.below(6)).map(|_| alphabet[self.below(11) as usize]).collect()
    }

    fn schema(&mut self, depth: u32) -> Arc<Schema> {
        let kind = self.kind(depth);
        let mut schema = Schema::required(kind);
        schema.optional = self.one_in(2);
        self.name(&mut schema);
        if self.one_in(8) && !matches!(schema.kind, SchemaType::Struct(_)) {
            let place = Arc::new(Schema { optional: false, ..schema.clone() });
            schema.default = Some(self.value(Some(&place)));
        }
        Arc::new(schema)
    }

    fn kind(&mut self, depth: u32) -> SchemaType {
        match self.below(if depth == 0 { 9 } else { 13 }) {
            0 => SchemaType::Int8,
            1 => SchemaType::Int16,
            2 => SchemaType::Int32,
            3 => SchemaType::Int64,
            4 => SchemaType::Float32,
            5 => SchemaType::Float64,
            6 => SchemaType::Boolean,
            7 => SchemaType::String,
            8 => SchemaType::Bytes,
            9 => SchemaType::Array(Some(self.schema(depth - 1))),
            10 => {
                let key = if self.one_in(2) { Arc::new(Schema::required(SchemaType::String)) } else { self.schema(0) };
                SchemaType::Map(Some(key), Some(self.schema(depth - 1)))
            }
            _ => SchemaType::Struct((0..self.below(5)).map(|index| self.field(index, depth - 1)).collect()),
        }
    }

    fn field(&mut self, index: u64, depth: u32) -> Field {
        Field { name: format!("f{index}{}", self.text()).into(), schema: self.schema(depth) }
    }

    fn name(&mut self, schema: &mut Schema) {
        if self.one_in(2) {
            return;
        }
        let name = match schema.kind {
            SchemaType::Bytes => logical::DECIMAL,
            SchemaType::Int32 if self.one_in(2) => logical::DATE,
            SchemaType::Int32 => logical::TIME,
            SchemaType::Int64 => logical::TIMESTAMP,
            _ => "org.example.Named",
        };
        schema.name = Some(name.into());
        if schema.kind == SchemaType::Bytes {
            schema.parameters = Some(vec![("scale".into(), "2".into())]);
        }
    }

    fn value(&mut self, schema: Option<&Arc<Schema>>) -> Value {
        let Some(schema) = schema else { return self.schemaless(2) };
        if (schema.optional || schema.default.is_some()) && self.one_in(4) {
            return Value::Null;
        }
        match (schema.name.as_deref(), &schema.kind) {
            (Some(logical::DECIMAL), _) => {
                let number = Number::parse(&self.number().to_string()).unwrap().to_decimal();
                Value::Decimal(Decimal { scale: 2, ..number })
            }
            (Some(logical::DATE), _) => Value::Instant(i64::from(self.number() as i16) * 86_400_000),
            (Some(logical::TIME), _) => Value::Instant(self.below(86_400_001) as i64),
            (Some(logical::TIMESTAMP), _) => Value::Instant(self.number()),
            (_, SchemaType::Int8) => Value::Int8(self.number() as i8),
            (_, SchemaType::Int16) => Value::Int16(self.number() as i16),
            (_, SchemaType::Int32) => Value::Int32(self.number() as i32),
            (_, SchemaType::Int64) => Value::Int64(self.number()),
            (_, SchemaType::Float32) => Value::Float32(f32::from_bits(self.number() as u32)),
            (_, SchemaType::Float64) => Value::Float64(f64::from_bits(self.number() as u64)),
            (_, SchemaType::Boolean) => Value::Boolean(self.one_in(2)),
            (_, SchemaType::String) => Value::string(self.text()),
            (_, SchemaType::Bytes) => Value::Bytes(self.text().into_bytes().into()),
            (_, SchemaType::Array(item)) => {
                Value::Array((0..self.below(30)).map(|_| self.value(item.as_ref())).collect())
            }
            (_, SchemaType::Map(key, value)) => {
                Value::Map((0..self.below(4)).map(|_| (self.value(key.as_ref()), self.value(value.as_ref()))).collect())
            }
            (_, SchemaType::Struct(fields)) => {
                let values = fields.iter().map(|field| self.value(Some(&field.schema))).collect();
                Value::Struct(Struct { schema: schema.clone(), values })
            }
        }
    }

    fn schemaless(&mut self, depth: u32) -> Value {
        match self.below(if depth == 0 { 8 } else { 11 }) {
            0 => Value::Null,
            1 => Value::Boolean(self.one_in(2)),
            2 => Value::Int8(self.number() as i8),
            3 => Value::Int64(self.number()),
            4 => Value::Float32(self.number() as f32 / 8.0),
            5 => Value::Float64(self.number() as f64 / 3.0),
            6 => Value::Bytes(self.text().into_bytes().into()),
            7 => Value::string(self.text()),
            8 => Value::Array((0..self.below(30)).map(|_| self.schemaless(depth - 1)).collect()),
            9 => Value::Map((0..self.below(4)).map(|_| (self.schemaless(0), self.schemaless(depth - 1))).collect()),
            _ => {
                let entry = |random: &mut Self| (Value::string(random.text()), random.schemaless(depth - 1));
                Value::Map((0..self.below(4)).map(|_| entry(self)).collect())
            }
        }
    }

    /// Cuts something out, doubles it, or overwrites a byte.
    fn damage(&mut self, text: &[u8]) -> Vec<u8> {
        let start = self.below(text.len() as u64 + 1) as usize;
        let end = (start + self.below(12) as usize).min(text.len());
        let mut damaged = text.to_vec();
        match self.below(3) {
            0 => drop(damaged.drain(start..end)),
            1 => drop(damaged.splice(start..start, text[start..end].to_vec())),
            _ if start < text.len() => damaged[start] = b"09-.eE\"{}[],: nt\\"[self.below(17) as usize],
            _ => {}
        }
        damaged
    }
}

fn converter(random: &mut Random) -> JsonConverter {
    let mut text = |words: [&str; 2]| words[random.one_in(2) as usize].to_owned();
    let config: RawConfig = [
        ("converter.type", "value".to_owned()),
        ("schemas.enable", text(["true", "false"])),
        ("replace.null.with.default", text(["true", "false"])),
        ("decimal.format", text(["BASE64", "NUMERIC"])),
        ("schemas.cache.size", text(["1000", "0"])),
    ]
    .into();
    JsonConverter::new(&JsonConverter::config_def().parse(&config).unwrap()).unwrap()
}

/// By the tree alone, as the trait does it on its own.
fn encode_plainly(converter: &JsonConverter, item: Item<'_>) -> Result<Option<Vec<u8>>, ConvertError> {
    let read = item::read(item)?;
    converter.from_connect("t", read.schema.as_ref(), &read.value)
}

fn encode(converter: &JsonConverter, item: Item<'_>) -> Result<Option<Vec<u8>>, ConvertError> {
    let mut out = Vec::new();
    Ok(match converter.encode("t", item, &mut out)? {
        Encoded::Null => None,
        Encoded::Same => Some(item.bytes.to_vec()),
        Encoded::Appended => Some(out),
    })
}

fn decode_plainly(converter: &JsonConverter, text: &[u8]) -> Result<(Decoded, Vec<u8>), ConvertError> {
    let read = converter.to_connect("t", Some(text))?;
    let mut out = Vec::new();
    Ok((item::write(read.schema, &read.value, &mut out)?, out))
}

fn decode(converter: &JsonConverter, text: &[u8]) -> Result<(Decoded, Vec<u8>), ConvertError> {
    let mut out = Vec::new();
    Ok((converter.decode("t", Some(text), &mut out)?, out))
}

#[test]
fn the_fast_way_gives_what_the_tree_gives() {
    let mut usual = 0;
    for seed in 1..=3000 {
        let mut random = Random(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed));
        let converter = converter(&mut random);
        let schema = if random.one_in(4) { None } else { Some(random.schema(3)) };
        let value = random.value(schema.as_ref());
        let mut data = Vec::new();
        let Ok(written) = item::write(schema.clone(), &value, &mut data) else { continue };
        let item = Item { encoding: written.encoding, schema: schema.as_ref(), bytes: &data };
        let plainly = encode_plainly(&converter, item);
        assert_eq!(encode(&converter, item), plainly, "seed {seed}: {value:?} of {schema:?}");
        let Ok(Some(text)) = plainly else { continue };
        usual += u32::from(converter.decode_usual(&text, &mut Vec::new()).is_ok());
        assert_eq!(decode(&converter, &text), decode_plainly(&converter, &text), "seed {seed}");
        for _ in 0..20 {
            let damaged = random.damage(&text);
            let expected = decode_plainly(&converter, &damaged);
            let shown = String::from_utf8_lossy(&damaged);
            assert_eq!(decode(&converter, &damaged), expected, "seed {seed}: {shown}");
        }
    }
    assert!(usual > 1000, "the fast way is taken only {usual} times");
}

#[test]
fn deep_documents_are_refused() {
    let mut random = Random(1);
    let converter = converter(&mut random);
    for text in ["[".repeat(100_000), "{\"schema\":".repeat(100_000), "[".repeat(900) + &"]".repeat(900)] {
        assert!(decode(&converter, text.as_bytes()).is_err());
    }
    let schema = "{\"schema\":".to_owned() + &"{\"type\":\"array\",\"items\":".repeat(100_000);
    assert!(decode(&converter, schema.as_bytes()).is_err());
}

#[test]
fn equal_schema_texts_give_the_same_schema() {
    let config = [("converter.type", "value")].into();
    let converter = JsonConverter::new(&JsonConverter::config_def().parse(&config).unwrap()).unwrap();
    let texts = [
        r#"{"schema":{"type":"int8"},"payload":1}"#,
        r#"{"schema":{"type":"string"},"payload":"x"}"#,
        r#"{"payload":2,"schema":{"type":"int8"}}"#,
    ];
    let [a, b, c] = texts.map(|text| decode(&converter, text.as_bytes()).unwrap().0.schema.unwrap());
    assert!(Arc::ptr_eq(&a, &c));
    assert!(!Arc::ptr_eq(&a, &b));
}

#[test]
fn what_is_no_json_is_told_so_and_not_that_it_lacks_an_envelope() {
    let config = [("converter.type", "value")].into();
    let converter = JsonConverter::new(&JsonConverter::config_def().parse(&config).unwrap()).unwrap();
    let lacks_an_envelope = |text: &str| {
        let ConvertError::Data(message) = converter.to_connect("t", Some(text.as_bytes())).unwrap_err() else {
            panic!("{text} is a fault of the data")
        };
        message.contains("requires \"schema\" and \"payload\"")
    };
    assert_eq!(["not json", "tru", "[1", "\"x", "-"].map(lacks_an_envelope), [false; 5]);
    assert_eq!(["", "null", "[1]", "\"x\"", "1", "{}"].map(lacks_an_envelope), [true; 6]);
}
