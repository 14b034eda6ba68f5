//! The plans that a converter remembers: by the schema's address for writing, by its text for reading.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulkhead_model::value::Schema;

use super::decode_plan::DecodePlan;
use super::encode::Unusual;
use super::encode_plan::EncodePlan;
use super::lexer::Lexer;
use super::node::Node;
use super::read_schema::read_schema;
use super::settings::Settings;
use crate::convert::ConvertError;
use crate::convert::cache::Cache;

/// Plans for writing. Schemas of a batch are shared, so that the address tells them apart.
#[derive(Debug)]
pub(super) struct EncodePlans {
    plans: Mutex<Cache<usize, Arc<EncodePlan>>>,
}

impl EncodePlans {
    pub(super) fn new(settings: &Settings) -> Self {
        // One more than asked for: that of values without schema.
        Self { plans: Mutex::new(Cache::new(settings.cache_size.saturating_add(1))) }
    }

    pub(super) fn of(
        &self,
        schema: Option<&Arc<Schema>>,
        settings: &Settings,
    ) -> Result<Arc<EncodePlan>, ConvertError> {
        let address = schema.map_or(0, |schema| Arc::as_ptr(schema) as usize);
        let mut plans = lock(&self.plans);
        if let Some(plan) = plans.get(&address) {
            return Ok(plan);
        }
        let plan = Arc::new(EncodePlan::new(schema, settings)?);
        plans.insert(address, plan.clone());
        Ok(plan)
    }
}

/// Plans for reading.
#[derive(Debug)]
pub(super) struct DecodePlans {
    /// The plan of all documents, where these are no envelopes.
    of_all: Option<Arc<DecodePlan>>,
    seen: Mutex<Seen>,
}

#[derive(Debug)]
struct Seen {
    /// The plan of the document before: most documents of a topic have one schema.
    last: Option<Arc<DecodePlan>>,
    plans: Cache<Box<[u8]>, Arc<DecodePlan>>,
}

impl DecodePlans {
    /// `content` is the JSON of the schema that all documents have.
    pub(super) fn new(settings: &Settings, content: Option<&str>) -> Result<Self, ConvertError> {
        let schema = match content {
            Some(content) => read_schema(&Node::parse(content.as_bytes())?, settings)?,
            None => None,
        };
        let of_all = match (settings.schemas_enabled, schema) {
            (false, _) => Some(DecodePlan::new(None, b"", settings)),
            (true, Some(schema)) => Some(DecodePlan::new(Some(schema), b"", settings)),
            (true, None) => None,
        };
        let seen = Seen { last: None, plans: Cache::new(settings.cache_size) };
        Ok(Self { of_all: of_all.map(Arc::new), seen: Mutex::new(seen) })
    }

    pub(super) fn of_all(&self) -> Option<&Arc<DecodePlan>> {
        self.of_all.as_ref()
    }

    /// The plan of the schema that comes next.
    pub(super) fn next(&self, lexer: &mut Lexer<'_>, settings: &Settings) -> Result<Arc<DecodePlan>, Unusual> {
        lexer.kind()?;
        let last = lock(&self.seen).last.clone();
        if let Some(last) = last.filter(|last| lexer.advance_past(&last.text)) {
            return Ok(last);
        }
        let start = lexer.position();
        lexer.skip()?;
        let text = lexer.slice(start, lexer.position());
        self.of_text(text, settings).map_err(|_| Unusual)
    }

    /// The plan of a schema's text.
    pub(super) fn of_text(&self, text: &[u8], settings: &Settings) -> Result<Arc<DecodePlan>, ConvertError> {
        let mut seen = lock(&self.seen);
        let plan = match seen.plans.get(text) {
            Some(plan) => plan,
            None => {
                let schema = read_schema(&Node::parse(text)?, settings)?;
                let plan = Arc::new(DecodePlan::new(schema, text, settings));
                seen.plans.insert(text.into(), plan.clone());
                plan
            }
        };
        seen.last = Some(plan.clone());
        Ok(plan)
    }
}

/// A plan is put in whole or not at all, so that a panic elsewhere does no harm.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
