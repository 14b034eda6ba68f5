//! What is asked of the registry, and what is kept of its answers.

use std::sync::Arc;

use apache_avro::Schema as Parsed;
use apache_avro::schema_compatibility::{Compatibility, SchemaCompatibility};

use super::read_schema::read_schema;
use super::schema::Type;
use super::settings::WriterSchema as Choice;
use super::subject::Strategy;
use super::{Read, Shared};
use crate::convert::{CAUSED_BY, ConvertError, Lookup};
use crate::ports::{RegistryError, SchemaText, SubjectSchema};

/// The schema that values are written with.
#[derive(Clone)]
pub(super) struct WriterSchema {
    pub(super) id: u32,
    /// None if it is the one that was made from the value's.
    pub(super) of: Option<Arc<Type>>,
}

impl Shared {
    /// Afterwards the same value can be converted, unless that fails for another reason.
    pub(super) async fn ask(&self, lookup: Lookup) -> Result<(), ConvertError> {
        match lookup {
            Lookup::Writer(writer) => {
                let schema = self.writer(&writer).await?;
                self.known().writers.insert(writer, schema);
            }
            Lookup::Reader { topic, id } => {
                let read = Arc::new(self.reader(topic.clone(), id).await?);
                let known = &mut *self.known();
                known.fetched.entry(id).or_default().push(read.clone());
                known.readers.insert((topic, id), read);
            }
        }
        Ok(())
    }

    async fn writer(&self, writer: &SubjectSchema) -> Result<WriterSchema, ConvertError> {
        let own = |id| WriterSchema { id, of: None };
        match self.settings.writer_schema {
            Choice::Registered => {
                let id = self.registry.register(writer.clone()).await;
                id.map(own).map_err(|error| failed("Error registering Avro schema", error))
            }
            Choice::Found => {
                let found = self.registry.find(writer.clone()).await;
                found.map(|found| own(found.id)).map_err(|error| failed("Error retrieving Avro schema", error))
            }
            Choice::Latest { strict } => {
                let (latest, text) = self
                    .registry
                    .latest(writer.subject.clone())
                    .await
                    .map_err(|error| failed("Error retrieving latest version of Avro schema", error))?;
                if strict {
                    check_compatible(&writer.schema, &text)?;
                }
                Ok(WriterSchema { id: latest.id, of: Some(Arc::new(Type::parse(&text)?)) })
            }
        }
    }

    async fn reader(&self, topic: Arc<str>, id: u32) -> Result<Read, ConvertError> {
        let subject = Strategy::of_topic(&topic, self.is_key);
        let retrieving = |error| failed(&format!("Error retrieving Avro schema for id {id}"), error);
        let text = self.registry.by_id(id, subject).await.map_err(retrieving)?;
        let of = Type::parse(&text)?;
        let version = self.version(&topic, &of, text.schema).await?;
        let readable = read_schema(&of, version, &self.settings.mapping)?;
        Ok(Read { topic, id, readable })
    }

    /// None if the schema isn't the subject's: then the topic was filled under another name, which is no reason not to
    /// read it.
    async fn version(&self, topic: &str, of: &Type, schema: Arc<str>) -> Result<Option<i32>, ConvertError> {
        let Ok(subject) = self.settings.strategy.subject(topic, self.is_key, of) else { return Ok(None) };
        match self.registry.find(SubjectSchema { subject, schema, normalize: false }).await {
            Ok(found) => Ok(Some(found.version)),
            Err(RegistryError::NotFound(_)) => Ok(None),
            Err(error) => Err(failed("Error retrieving the version of an Avro schema", error)),
        }
    }
}

/// Refuses a latest schema that couldn't read what has the value's own.
fn check_compatible(own: &str, latest: &SchemaText) -> Result<(), ConvertError> {
    let refused = |cause: &dyn std::fmt::Display| {
        ConvertError::Data(format!(
            "Incompatible schema of type 'AVRO'. Set latest.compatibility.strict=false to disable this check.{CAUSED_BY}{cause}"
        ))
    };
    let own = Parsed::parse_str(own).map_err(|error| refused(&error))?;
    let (latest, _) = Parsed::parse_str_with_list(&latest.schema, latest.references.iter().map(|text| &**text))
        .map_err(|error| refused(&error))?;
    match SchemaCompatibility::can_read(&own, &latest) {
        Ok(Compatibility::Full) => Ok(()),
        Ok(Compatibility::Partial) => Err(refused(&"it can read some values only")),
        Err(error) => Err(refused(&error)),
    }
}

fn failed(what: &str, error: RegistryError) -> ConvertError {
    let message = format!("{what}{CAUSED_BY}{error}");
    match error {
        RegistryError::Retriable(_) => ConvertError::Retriable(message),
        RegistryError::NotFound(_) | RegistryError::Refused(_) => ConvertError::Data(message),
    }
}
