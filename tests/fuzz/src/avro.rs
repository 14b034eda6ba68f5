//! AvroConverter, with a registry that says what the input says.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use arbitrary::{Result, Unstructured};
use bulkhead_model::RawConfig;
use bulkhead_pipeline::convert::{self, ConvertError, Converter, Role, SchemaAndValue};
use bulkhead_pipeline::ports::{
    BoxFuture, ClientError, Registered, RegistryError, RegistrySettings, SchemaRegistries, SchemaRegistry, SchemaText,
    SubjectSchema,
};

use crate::data;

const MAGIC_AND_ID: [u8; 5] = [0, 0, 0, 0, 1];

/// A byte of settings. If it is even: an Avro schema, a line feed and a value's bytes; else a Connect schema and a value.
pub fn avro(bytes: &[u8]) {
    let Some((flags, rest)) = bytes.split_first() else { return };
    if !flags.is_multiple_of(2) {
        // What is too short for a schema or a value is no case.
        let _ = any_value(*flags, &mut Unstructured::new(rest));
        return;
    }
    let Some(end) = rest.iter().position(|byte| *byte == b'\n') else { return };
    let Ok(schema) = std::str::from_utf8(&rest[..end]) else { return };
    let converter = converter(*flags, Some(schema));
    let value = [&MAGIC_AND_ID, &rest[end + 1..]].concat();
    let Ok(read) = answered(&*converter, || converter.to_connect("t", Some(&value))) else { return };
    // The second time, plans come from a memory.
    let again = converter.to_connect("t", Some(&value));
    assert_eq!(format!("{again:?}"), format!("{:?}", Ok::<_, ConvertError>(&read)));
    write(&*converter, &read);
}

fn any_value(flags: u8, from: &mut Unstructured<'_>) -> Result<()> {
    let data = data::schema_and_value(from)?;
    write(&*converter(flags, None), &data);
    Ok(())
}

/// What is written can be read.
fn write(converter: &dyn Converter, SchemaAndValue { schema, value }: &SchemaAndValue) {
    let written = answered(converter, || converter.from_connect("t", schema.as_ref(), value));
    if let Ok(Some(written)) = written {
        let _ = answered(converter, || converter.to_connect("t", Some(&written)));
    }
}

/// Looks up what is missing, and tries again.
fn answered<T>(
    converter: &dyn Converter,
    convert: impl Fn() -> std::result::Result<T, ConvertError>,
) -> std::result::Result<T, ConvertError> {
    for _ in 0..4 {
        match convert() {
            Err(ConvertError::Missing(lookup)) => {
                let lookups = converter.lookups().expect("this converter looks up");
                at_once(lookups.look_up(lookup))?;
            }
            outcome => return outcome,
        }
    }
    panic!("what was looked up is missing again");
}

fn at_once<T>(future: BoxFuture<T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the registry answers at once"),
    }
}

fn converter(flags: u8, schema: Option<&str>) -> Arc<dyn Converter> {
    let word = |bit: u8| (flags & bit != 0).to_string();
    let config = RawConfig::from([
        ("schema.registry.url", "http://registry".to_owned()),
        ("enhanced.avro.schema.support", word(2)),
        ("scrub.invalid.names", word(4)),
        ("connect.meta.data", word(8)),
        ("flatten.singleton.unions", word(16)),
        ("allow.optional.map.keys", word(32)),
        ("ignore.default.for.nullables", word(64)),
        ("use.latest.version", (flags & 0x80 != 0 && schema.is_some()).to_string()),
        ("auto.register.schemas", (flags & 0x80 == 0 || schema.is_none()).to_string()),
    ]);
    let registry = Registry(schema.map(Arc::from), std::sync::Mutex::default());
    let registries = Registries(Arc::new(registry));
    convert::create_with("io.confluent.connect.avro.AvroConverter", &config, Role::Value, Some(&registries))
        .expect("the settings are right")
}

#[derive(Debug)]
struct Registries(Arc<Registry>);

impl SchemaRegistries for Registries {
    fn client(&self, _: RegistrySettings) -> std::result::Result<Arc<dyn SchemaRegistry>, ClientError> {
        Ok(self.0.clone())
    }
}

/// The schema with the id 1 is the input's, or the last that was registered; that with 2 the last registered.
#[derive(Debug)]
struct Registry(Option<Arc<str>>, std::sync::Mutex<Option<Arc<str>>>);

impl Registry {
    fn text(&self, id: u32) -> std::result::Result<SchemaText, RegistryError> {
        let registered = self.1.lock().ok().and_then(|last| last.clone());
        let schema = if id == 1 { self.0.clone() } else { registered };
        let schema = schema.ok_or_else(|| RegistryError::NotFound("no such schema".to_owned()))?;
        Ok(SchemaText { schema, references: Vec::new() })
    }
}

impl SchemaRegistry for Registry {
    fn register(&self, schema: SubjectSchema) -> BoxFuture<std::result::Result<u32, RegistryError>> {
        if let Ok(mut last) = self.1.lock() {
            *last = Some(schema.schema);
        }
        Box::pin(async { Ok(2) })
    }

    fn find(&self, _: SubjectSchema) -> BoxFuture<std::result::Result<Registered, RegistryError>> {
        Box::pin(async { Err(RegistryError::NotFound("no such schema".to_owned())) })
    }

    fn latest(&self, _: Arc<str>) -> BoxFuture<std::result::Result<(Registered, SchemaText), RegistryError>> {
        let text = self.text(1);
        Box::pin(async { Ok((Registered { id: 1, version: 1 }, text?)) })
    }

    fn by_id(&self, id: u32, _: Arc<str>) -> BoxFuture<std::result::Result<SchemaText, RegistryError>> {
        let text = self.text(id);
        Box::pin(async { text })
    }
}
