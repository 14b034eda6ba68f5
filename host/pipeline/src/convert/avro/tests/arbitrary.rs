//! Any schema, any value, and the library as a second opinion on the bytes.

use apache_avro::Schema as Parsed;
use apache_avro::reader::datum::GenericDatumReader;
use apache_avro::writer::datum::GenericDatumWriter;
use bulkhead_model::value::{Decimal, Field, Logical, Struct, logical};

use super::*;

/// Numbers that look random and are the same for the same seed.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.next() >> 11) % limit
    }

    fn text(&mut self) -> String {
        (0..self.below(6)).map(|_| ['a', 'Z', '0', 'ß', '€', '\0', '"'][self.below(7) as usize]).collect()
    }

    fn bytes(&mut self) -> Vec<u8> {
        (0..self.below(6)).map(|_| self.next() as u8).collect()
    }
}

/// Names of structs are numbered, since none may be used twice.
struct Schemas {
    random: Random,
    structs: usize,
}

impl Schemas {
    fn any(&mut self, depth: usize) -> Arc<Schema> {
        let most = if depth == 0 { 13 } else { 17 };
        let mut schema = match self.random.below(most) {
            0 => Schema::required(SchemaType::Int8),
            1 => Schema::required(SchemaType::Int16),
            2 => Schema::required(SchemaType::Int32),
            3 => Schema::required(SchemaType::Int64),
            4 => Schema::required(SchemaType::Float32),
            5 => Schema::required(SchemaType::Float64),
            6 => Schema::required(SchemaType::Boolean),
            7 => Schema::required(SchemaType::String),
            8 => Schema::required(SchemaType::Bytes),
            9 => {
                let scale = self.random.below(5).to_string();
                let parameters = Some(vec![("scale".into(), scale.as_str().into())]);
                let decimal = Schema::required(SchemaType::Bytes).named(logical::DECIMAL);
                Schema { version: Some(1), parameters, ..decimal }
            }
            10 => Schema { version: Some(1), ..Schema::required(SchemaType::Int32).named(logical::DATE) },
            11 => Schema { version: Some(1), ..Schema::required(SchemaType::Int32).named(logical::TIME) },
            12 => Schema { version: Some(1), ..Schema::required(SchemaType::Int64).named(logical::TIMESTAMP) },
            13 => Schema::required(SchemaType::Array(Some(self.any(depth - 1)))),
            14 => {
                let key = Arc::new(Schema::required(SchemaType::String));
                Schema::required(SchemaType::Map(Some(key), Some(self.any(depth - 1))))
            }
            15 => {
                self.structs += 1;
                let name = format!("pairs.P{}", self.structs);
                let map = SchemaType::Map(Some(self.any(depth - 1)), Some(self.any(depth - 1)));
                Schema::required(map).named(&name)
            }
            _ => {
                self.structs += 1;
                let name = format!("structs.of.S{}", self.structs);
                let fields = (0..self.random.below(5))
                    .map(|number| Field { name: format!("f{number}").into(), schema: self.any(depth - 1) });
                Schema::required(SchemaType::Struct(fields.collect())).named(&name)
            }
        };
        schema.optional = self.random.below(3) == 0;
        Arc::new(schema)
    }

    fn value(&mut self, schema: &Arc<Schema>) -> Value {
        if schema.optional && self.random.below(3) == 0 {
            return Value::Null;
        }
        let random = &mut self.random;
        match (&schema.kind, Logical::of(schema)) {
            (_, Some(Logical::Decimal)) => {
                let scale = schema.decimal_scale().unwrap();
                let unscaled = [random.bytes(), vec![7]].concat();
                Value::Decimal(Decimal::from_unscaled(&unscaled, scale).unwrap())
            }
            (_, Some(Logical::Date)) => Value::Instant(i64::from(random.next() as i32) * 86_400_000),
            (_, Some(Logical::Time)) => Value::Instant(random.below(86_400_001) as i64),
            (_, Some(Logical::Timestamp)) => Value::Instant(random.next() as i64),
            (SchemaType::Int8, _) => Value::Int8(random.next() as i8),
            (SchemaType::Int16, _) => Value::Int16(random.next() as i16),
            (SchemaType::Int32, _) => Value::Int32(random.next() as i32),
            (SchemaType::Int64, _) => Value::Int64(random.next() as i64),
            (SchemaType::Float32, _) => Value::Float32(random.below(1 << 20) as f32 / 7.0),
            (SchemaType::Float64, _) => Value::Float64(random.below(1 << 40) as f64 / -7.0),
            (SchemaType::Boolean, _) => Value::Boolean(random.below(2) == 0),
            (SchemaType::String, _) => Value::string(random.text()),
            (SchemaType::Bytes, _) => Value::Bytes(random.bytes().into()),
            (SchemaType::Array(item), _) => {
                let item = item.as_ref().unwrap();
                Value::Array((0..self.random.below(4)).map(|_| self.value(item)).collect())
            }
            (SchemaType::Map(key, value), _) => {
                let (key, value) = (key.as_ref().unwrap(), value.as_ref().unwrap());
                let mut entries: Vec<(Value, Value)> = Vec::new();
                for _ in 0..self.random.below(4) {
                    let entry = (self.value(key), self.value(value));
                    if entries.iter().all(|(known, _)| *known != entry.0) {
                        entries.push(entry);
                    }
                }
                Value::Map(entries)
            }
            (SchemaType::Struct(fields), _) => {
                let values = fields.iter().map(|field| self.value(&field.schema)).collect();
                Value::Struct(Struct { schema: schema.clone(), values })
            }
        }
    }
}

#[test]
fn every_value_is_the_same_after_avro_and_the_library_reads_the_same_bytes() {
    for seed in 1..=1_000 {
        let mut schemas = Schemas { random: Random(seed << 40 | 0x5bd1_e995), structs: 0 };
        let schema = schemas.any(3);
        let value = schemas.value(&schema);
        if value.is_null() {
            continue;
        }
        let (avro, bytes) = encode(Some(&schema), &value, &MAPPING).unwrap_or_else(|error| panic!("{seed}: {error}"));
        let read = decode_as(&avro, &bytes, &MAPPING).unwrap_or_else(|error| panic!("{seed}: {error}: {avro}"));
        assert_eq!(read.schema.as_ref(), Some(&schema), "seed {seed}: {avro}");
        assert_eq!(read.value, value, "seed {seed}: {avro}");
        if matches!(schema.kind, SchemaType::Bytes) && !schema.optional {
            continue;
        }
        let library = Parsed::parse_str(&avro).unwrap();
        let mut rest = &*bytes;
        let reader = GenericDatumReader::builder(&library).build().unwrap();
        let tree = reader.read_value(&mut rest).unwrap_or_else(|error| panic!("{seed}: {error}: {avro}"));
        assert!(rest.is_empty(), "seed {seed}");
        let mut again = Vec::new();
        let writer = GenericDatumWriter::builder(&library).build().unwrap();
        writer.write_value(&mut again, tree).unwrap_or_else(|error| panic!("{seed}: {error}: {avro}"));
        let again = decode_as(&avro, &again, &MAPPING).unwrap().value;
        assert_eq!(in_order(again), in_order(value), "seed {seed}: {avro}");
    }
}

/// The library doesn't keep the order of a map.
fn in_order(value: Value) -> Value {
    match value {
        Value::Map(entries) => {
            let mut entries: Vec<_> =
                entries.into_iter().map(|(key, value)| (in_order(key), in_order(value))).collect();
            entries.sort_by_key(|(key, _)| format!("{key:?}"));
            Value::Map(entries)
        }
        Value::Array(items) => Value::Array(items.into_iter().map(in_order).collect()),
        Value::Struct(Struct { schema, values }) => {
            Value::Struct(Struct { schema, values: values.into_iter().map(in_order).collect() })
        }
        other => other,
    }
}
