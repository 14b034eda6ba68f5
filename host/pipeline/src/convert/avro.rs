//! AvroConverter: binary Avro behind the id of its schema in a registry, as Confluent's converter of that name writes
//! and reads it.
//!
//! What a registry has to be asked first is an error, [`ConvertError::Missing`], and the answer is kept: converting
//! never waits ([`Lookups`]). [`write_schema`] and [`read_schema`] translate schemas; values go between CBOR and Avro directly
//! ([`encode`], [`decode`]) by plans that are made once for each schema.

mod decode;
mod decode_plan;
mod defaults;
mod encode;
mod encode_plan;
mod input;
mod names;
mod read_schema;
mod registry;
mod schema;
mod settings;
mod subject;
#[cfg(test)]
mod tests;
mod write_schema;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulkhead_model::RawConfig;
use bulkhead_model::config::{ConfigDef, TypedConfig};
use bulkhead_model::value::{Schema, Value};

use self::encode_plan::Plan;
use self::read_schema::Readable;
use self::registry::WriterSchema;
use self::schema::Type;
use self::settings::Settings;
use super::cache::Cache;
use super::{CAUSED_BY, ConvertError, Converter, Decoded, Encoded, Lookup, Lookups, SchemaAndValue, item};
use crate::batch::{Encoding, Item};
use crate::cbor;
use crate::ports::{BoxFuture, SchemaRegistries, SchemaRegistry, SchemaText, SubjectSchema};

pub(super) const CLASS: &str = "io.confluent.connect.avro.AvroConverter";

/// What every value begins with, before its schema's id.
const MAGIC: u8 = 0;
const HEADER: usize = 5;

/// See the module.
#[derive(Clone)]
pub struct AvroConverter(Arc<Shared>);

struct Shared {
    settings: Settings,
    is_key: bool,
    registry: Arc<dyn SchemaRegistry>,
    known: Mutex<Known>,
}

/// What needn't be worked out or asked again.
struct Known {
    /// What the value before was written with: mostly that goes for the next one, too.
    last: Option<Arc<Writable>>,
    /// By the Connect schema's address.
    derived: Cache<usize, Arc<Derived>>,
    /// How values of a Connect schema are written under a schema that wasn't made from it.
    plans: Cache<(usize, u32), Arc<Foreign>>,
    /// What the registry said of schemas to write with.
    writers: Cache<SubjectSchema, WriterSchema>,
    last_read: Option<Arc<Read>>,
    /// By id: what this fetch needs, however many schemas are remembered otherwise.
    fetched: HashMap<u32, Vec<Arc<Read>>>,
    readers: Cache<(Arc<str>, u32), Arc<Read>>,
    /// What could not be had for this batch or fetch.
    given_up: HashMap<Lookup, ConvertError>,
}

/// What a Connect schema is in Avro.
struct Derived {
    /// As long as it is held here, its address belongs to no other.
    schema: Option<Arc<Schema>>,
    text: Arc<str>,
    of: Type,
    plan: Arc<Plan>,
}

struct Foreign {
    _schema: Option<Arc<Schema>>,
    plan: Arc<Plan>,
}

/// All that is needed to write values of one schema to one topic.
struct Writable {
    topic: Arc<str>,
    derived: Arc<Derived>,
    header: [u8; HEADER],
    plan: Arc<Plan>,
}

/// All that is needed to read values of one schema from one topic.
struct Read {
    topic: Arc<str>,
    id: u32,
    readable: Readable,
}

impl AvroConverter {
    pub fn config_def() -> ConfigDef {
        settings::config_def()
    }

    /// `raw` is the configuration that `config` was made from.
    pub fn new(
        config: &TypedConfig,
        raw: &RawConfig,
        is_key: bool,
        registries: Option<&dyn SchemaRegistries>,
    ) -> Result<Self, ConvertError> {
        let settings = Settings::new(config, settings::strategy_key(is_key));
        let registry = settings::registry(config, raw)?;
        let registries =
            registries.ok_or_else(|| ConvertError::Config("there is no client for schema registries".to_owned()))?;
        let registry = registries.client(registry).map_err(|error| ConvertError::Config(error.to_string()))?;
        Ok(Self(Arc::new(Shared { known: Mutex::new(Known::new(&settings)), settings, is_key, registry })))
    }
}

impl Converter for AvroConverter {
    fn class(&self) -> &'static str {
        CLASS
    }

    fn from_connect(
        &self,
        topic: &str,
        schema: Option<&Arc<Schema>>,
        value: &Value,
    ) -> Result<Option<Vec<u8>>, ConvertError> {
        if value.is_null() {
            return null(schema).map(|()| None);
        }
        let mut bytes = Vec::new();
        cbor::write(value, schema.map(|schema| &**schema), &mut bytes)?;
        let mut out = Vec::new();
        self.encode(topic, Item { encoding: Encoding::Cbor, schema, bytes: &bytes }, &mut out)?;
        Ok(Some(out))
    }

    fn to_connect(&self, topic: &str, bytes: Option<&[u8]>) -> Result<SchemaAndValue, ConvertError> {
        let mut out = Vec::new();
        let Decoded { encoding, schema, .. } = self.decode(topic, bytes, &mut out)?;
        item::read(Item { encoding, schema: schema.as_ref(), bytes: &out })
    }

    fn encode(&self, topic: &str, item: Item<'_>, out: &mut Vec<u8>) -> Result<Encoded, ConvertError> {
        const CBOR_NULL: &[u8] = &[0xf6];
        match item.encoding {
            Encoding::None => return null(item.schema).map(|()| Encoded::Null),
            Encoding::Cbor if item.bytes == CBOR_NULL => return null(item.schema).map(|()| Encoded::Null),
            // Another way to write a schemaless value, and a rare one.
            Encoding::Json => return super::encode_by_tree(self, topic, item, out),
            Encoding::Cbor | Encoding::Text | Encoding::Bytes => {}
        }
        let writable = self.0.writable(topic, item.schema)?;
        out.extend_from_slice(&writable.header);
        match item.encoding {
            Encoding::Text => writable.plan.write_text(item::text(item.bytes)?, out)?,
            Encoding::Bytes => writable.plan.write_bytes(item.bytes, out)?,
            Encoding::Cbor | Encoding::None | Encoding::Json => writable.plan.write_whole(item.bytes, out)?,
        }
        Ok(Encoded::Appended)
    }

    fn decode(&self, topic: &str, bytes: Option<&[u8]>, out: &mut Vec<u8>) -> Result<Decoded, ConvertError> {
        let failed = |cause: &dyn std::fmt::Display| {
            ConvertError::Data(format!("Failed to deserialize data for topic {topic} to Avro:{CAUSED_BY}{cause}"))
        };
        let Some(bytes) = bytes else {
            return Ok(Decoded { encoding: Encoding::None, schema: None, bytes: Encoded::Null });
        };
        let foreign = || failed(&"Unknown magic byte, or less than a schema's id: not written by an AvroConverter");
        let (id, value) = id(bytes).ok_or_else(foreign)?;
        let read = self.0.read(topic, id)?;
        let encoding = decode::decode(&read.readable.plan, value, out).map_err(|damaged| failed(&damaged))?;
        let bytes = if encoding == Encoding::None { Encoded::Null } else { Encoded::Appended };
        Ok(Decoded { encoding, schema: read.readable.schema.clone(), bytes })
    }

    fn lookups(&self) -> Option<&dyn Lookups> {
        Some(self)
    }
}

impl Lookups for AvroConverter {
    fn begin(&self) {
        let known = &mut *self.0.known();
        known.given_up.clear();
        known.fetched.clear();
    }

    fn missing(&self, topic: &str, bytes: &[u8]) -> Option<Lookup> {
        match self.0.read(topic, id(bytes)?.0) {
            Err(ConvertError::Missing(lookup)) => Some(lookup),
            Ok(_) | Err(_) => None,
        }
    }

    fn look_up(&self, lookup: Lookup) -> BoxFuture<Result<(), ConvertError>> {
        let shared = self.0.clone();
        Box::pin(async move { shared.ask(lookup).await })
    }

    fn give_up(&self, lookup: Lookup, error: ConvertError) {
        self.0.known().given_up.insert(lookup, error);
    }
}

/// The id of a value's schema, and the value.
fn id(bytes: &[u8]) -> Option<(u32, &[u8])> {
    let [MAGIC, a, b, c, d, value @ ..] = bytes else { return None };
    Some((u32::from_be_bytes([*a, *b, *c, *d]), value))
}

/// A null is a null in Kafka as well, where it is allowed.
fn null(schema: Option<&Arc<Schema>>) -> Result<(), ConvertError> {
    match schema {
        Some(schema) if !schema.optional => {
            Err(ConvertError::Data("Found null value for non-optional schema".to_owned()))
        }
        Some(_) | None => Ok(()),
    }
}

impl Known {
    fn new(settings: &Settings) -> Self {
        // One at least, or a lookup would never be enough.
        let (schemas, ids) = (settings.cache_size.max(1), settings.ids_size.max(1));
        Self {
            last: None,
            derived: Cache::new(schemas),
            plans: Cache::new(schemas),
            writers: Cache::new(ids),
            last_read: None,
            fetched: HashMap::new(),
            readers: Cache::new(schemas),
            given_up: HashMap::new(),
        }
    }

    /// The error of whoever needs this.
    fn without(&self, lookup: Lookup) -> ConvertError {
        self.given_up.get(&lookup).cloned().unwrap_or(ConvertError::Missing(lookup))
    }
}

impl Shared {
    fn known(&self) -> MutexGuard<'_, Known> {
        // Entries are put in whole or not at all, so that a panic elsewhere does no harm.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn writable(&self, topic: &str, schema: Option<&Arc<Schema>>) -> Result<Arc<Writable>, ConvertError> {
        let address = schema.map_or(0, |schema| Arc::as_ptr(schema) as usize);
        let known = &mut *self.known();
        let is_it = |last: &&Arc<Writable>| last.derived.address() == address && *last.topic == *topic;
        if let Some(last) = known.last.as_ref().filter(is_it) {
            return Ok(last.clone());
        }
        let derived = match known.derived.get(&address) {
            Some(derived) => derived,
            None => {
                let derived = Arc::new(Derived::new(schema, &self.settings)?);
                known.derived.insert(address, derived.clone());
                derived
            }
        };
        let writer = SubjectSchema {
            subject: self.settings.strategy.subject(topic, self.is_key, &derived.of)?,
            schema: derived.text.clone(),
            normalize: self.settings.normalize,
        };
        let Some(written) = known.writers.get(&writer) else {
            return Err(known.without(Lookup::Writer(writer)));
        };
        let plan = match &written.of {
            None => derived.plan.clone(),
            Some(of) => self.foreign(known, &derived, written.id, of)?,
        };
        let [a, b, c, d] = written.id.to_be_bytes();
        let writable = Arc::new(Writable { topic: topic.into(), derived, header: [MAGIC, a, b, c, d], plan });
        known.last = Some(writable.clone());
        Ok(writable)
    }

    fn foreign(&self, known: &mut Known, derived: &Derived, id: u32, of: &Type) -> Result<Arc<Plan>, ConvertError> {
        let place = (derived.address(), id);
        if let Some(foreign) = known.plans.get(&place) {
            return Ok(foreign.plan.clone());
        }
        let plan = Arc::new(Plan::new(derived.schema.as_deref(), of, &self.settings.mapping)?);
        known.plans.insert(place, Arc::new(Foreign { _schema: derived.schema.clone(), plan: plan.clone() }));
        Ok(plan)
    }

    fn read(&self, topic: &str, id: u32) -> Result<Arc<Read>, ConvertError> {
        let known = &mut *self.known();
        if let Some(last) = known.last_read.as_ref().filter(|last| last.id == id && *last.topic == *topic) {
            return Ok(last.clone());
        }
        let fetched = known.fetched.get(&id).and_then(|reads| reads.iter().find(|read| *read.topic == *topic));
        let read = match fetched {
            Some(read) => read.clone(),
            None => {
                let place: (Arc<str>, u32) = (topic.into(), id);
                let Some(read) = known.readers.get(&place) else {
                    return Err(known.without(Lookup::Reader { topic: place.0, id }));
                };
                known.fetched.entry(id).or_default().push(read.clone());
                read
            }
        };
        known.last_read = Some(read.clone());
        Ok(read)
    }
}

impl Derived {
    fn new(schema: Option<&Arc<Schema>>, settings: &Settings) -> Result<Self, ConvertError> {
        let schema = schema.cloned();
        let text: Arc<str> = write_schema::write_schema(schema.as_deref(), &settings.mapping)?.into();
        let of = Type::parse(&SchemaText { schema: text.clone(), references: Vec::new() })?;
        let plan = Arc::new(Plan::new(schema.as_deref(), &of, &settings.mapping)?);
        Ok(Self { schema, text, of, plan })
    }

    fn address(&self) -> usize {
        self.schema.as_ref().map_or(0, |schema| Arc::as_ptr(schema) as usize)
    }
}
