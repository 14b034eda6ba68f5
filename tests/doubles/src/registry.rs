//! A schema registry.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulkhead_pipeline::ports::{
    BoxFuture, ClientError, Registered, RegistryError, RegistrySettings, SchemaRegistries, SchemaRegistry, SchemaText,
    SubjectSchema,
};
use tokio::sync::watch;

/// Keeps schemas, each with one id for all subjects. Handles share what they keep.
#[derive(Clone)]
pub struct MemoryRegistry {
    kept: Arc<Mutex<Kept>>,
    answering: Arc<watch::Sender<bool>>,
}

#[derive(Default)]
struct Kept {
    /// Ids count from 1.
    schemas: Vec<SchemaText>,
    subjects: HashMap<Arc<str>, Vec<u32>>,
    asked: Vec<String>,
    failures: Vec<RegistryError>,
}

impl Default for MemoryRegistry {
    fn default() -> Self {
        Self { kept: Arc::default(), answering: Arc::new(watch::Sender::new(true)) }
    }
}

impl MemoryRegistry {
    /// Registers a schema for a subject, as somebody else does.
    pub fn put(&self, subject: &str, schema: &str) -> u32 {
        self.kept().put(subject.into(), SchemaText { schema: schema.into(), references: Vec::new() })
    }

    /// The schemas of a subject, oldest first.
    pub fn schemas(&self, subject: &str) -> Vec<String> {
        let kept = self.kept();
        let ids = kept.subjects.get(subject).cloned().unwrap_or_default();
        ids.iter().map(|id| kept.schemas[*id as usize - 1].schema.to_string()).collect()
    }

    /// Every request so far.
    pub fn asked(&self) -> Vec<String> {
        self.kept().asked.clone()
    }

    /// The next requests fail, one with each of these.
    pub fn fail(&self, failures: impl IntoIterator<Item = RegistryError>) {
        self.kept().failures = failures.into_iter().collect();
    }

    /// From now on requests wait until [`Self::answer`].
    pub fn hang(&self) {
        self.answering.send_replace(false);
    }

    pub fn answer(&self) {
        self.answering.send_replace(true);
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer_to<T: Send + 'static>(
        &self,
        question: String,
        answer: impl FnOnce(&mut Kept) -> Result<T, RegistryError> + Send + 'static,
    ) -> BoxFuture<Result<T, RegistryError>> {
        let registry = self.clone();
        Box::pin(async move {
            registry.kept().asked.push(question);
            let _ = registry.answering.subscribe().wait_for(|answering| *answering).await;
            let kept = &mut *registry.kept();
            if kept.failures.is_empty() { answer(kept) } else { Err(kept.failures.remove(0)) }
        })
    }
}

impl Kept {
    fn put(&mut self, subject: Arc<str>, text: SchemaText) -> u32 {
        let known = self.schemas.iter().position(|known| *known == text);
        let index = known.unwrap_or_else(|| {
            self.schemas.push(text);
            self.schemas.len() - 1
        });
        let id = index as u32 + 1;
        let versions = self.subjects.entry(subject).or_default();
        if !versions.contains(&id) {
            versions.push(id);
        }
        id
    }

    fn version(&self, subject: &str, id: u32) -> Option<Registered> {
        let place = self.subjects.get(subject)?.iter().position(|known| *known == id)?;
        Some(Registered { id, version: place as i32 + 1 })
    }
}

impl SchemaRegistry for MemoryRegistry {
    fn register(&self, SubjectSchema { subject, schema, .. }: SubjectSchema) -> BoxFuture<Result<u32, RegistryError>> {
        self.answer_to(format!("register {subject}"), move |kept| {
            Ok(kept.put(subject, SchemaText { schema, references: Vec::new() }))
        })
    }

    fn find(
        &self,
        SubjectSchema { subject, schema, .. }: SubjectSchema,
    ) -> BoxFuture<Result<Registered, RegistryError>> {
        self.answer_to(format!("find {subject}"), move |kept| {
            let place = kept.schemas.iter().position(|known| known.schema == schema);
            let found = place.and_then(|place| kept.version(&subject, place as u32 + 1));
            found.ok_or_else(|| RegistryError::NotFound(format!("subject `{subject}`: Schema not found")))
        })
    }

    fn latest(&self, subject: Arc<str>) -> BoxFuture<Result<(Registered, SchemaText), RegistryError>> {
        self.answer_to(format!("latest {subject}"), move |kept| {
            let id = kept.subjects.get(&subject).and_then(|ids| ids.last().copied());
            let latest = id.and_then(|id| Some((kept.version(&subject, id)?, kept.schemas[id as usize - 1].clone())));
            latest.ok_or_else(|| RegistryError::NotFound(format!("subject `{subject}`: Subject not found")))
        })
    }

    fn by_id(&self, id: u32, _subject: Arc<str>) -> BoxFuture<Result<SchemaText, RegistryError>> {
        self.answer_to(format!("id {id}"), move |kept| {
            let schema = (id as usize).checked_sub(1).and_then(|place| kept.schemas.get(place)).cloned();
            schema.ok_or_else(|| RegistryError::NotFound(format!("schema with id {id}: Schema not found")))
        })
    }
}

impl SchemaRegistries for MemoryRegistry {
    fn client(&self, _settings: RegistrySettings) -> Result<Arc<dyn SchemaRegistry>, ClientError> {
        Ok(Arc::new(self.clone()))
    }
}

impl fmt::Debug for MemoryRegistry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryRegistry")
    }
}
