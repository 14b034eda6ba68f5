//! A client of schema registries: the few requests of Confluent's REST interface that AvroConverter makes.
//!
//! Start at [`Registries`], which implements the port of `bulkhead-pipeline`. It knows nothing of Avro: schemas are
//! texts. **Invariant:** what comes from a registry is bounded in size before it is read, and no message holds
//! credentials.

mod client;
mod requests;
mod tls;
mod url;

use std::sync::Arc;

use bulkhead_pipeline::ports::{ClientError, RegistrySettings, SchemaRegistries, SchemaRegistry};

pub use self::requests::Registry;

/// Makes a [`Registry`] for each converter.
#[derive(Clone, Copy, Debug, Default)]
pub struct Registries;

impl SchemaRegistries for Registries {
    fn client(&self, settings: RegistrySettings) -> Result<Arc<dyn SchemaRegistry>, ClientError> {
        Ok(Arc::new(Registry::new(settings)?))
    }
}
