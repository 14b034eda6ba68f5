//! A schema registry, as a converter sees it: the part of Confluent's REST interface that it needs.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bulkhead_model::config::Password;
use bulkhead_model::security::Tls;

use super::{BoxFuture, ClientError};

/// Makes clients of registries.
pub trait SchemaRegistries: fmt::Debug + Send + Sync + 'static {
    /// Doesn't connect yet; fails only if the settings can't be right.
    fn client(&self, settings: RegistrySettings) -> Result<Arc<dyn SchemaRegistry>, ClientError>;
}

/// One registry. Every method is a request, with its retries.
pub trait SchemaRegistry: Send + Sync + 'static {
    /// Registers an Avro schema, unless it is there already, and answers with its id.
    fn register(&self, schema: SubjectSchema) -> BoxFuture<Result<u32, RegistryError>>;

    /// Id and version of a schema that is there.
    fn find(&self, schema: SubjectSchema) -> BoxFuture<Result<Registered, RegistryError>>;

    /// The newest schema of a subject.
    fn latest(&self, subject: Arc<str>) -> BoxFuture<Result<(Registered, SchemaText), RegistryError>>;

    /// The schema with this id. The subject says where to look first in registries that have several contexts.
    fn by_id(&self, id: u32, subject: Arc<str>) -> BoxFuture<Result<SchemaText, RegistryError>>;
}

/// A schema on its way to a subject.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SubjectSchema {
    pub subject: Arc<str>,
    /// JSON.
    pub schema: Arc<str>,
    /// Whether the registry compares schemas by what they mean, not by how they are written.
    pub normalize: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registered {
    pub id: u32,
    pub version: i32,
}

/// A schema as it was registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaText {
    /// JSON.
    pub schema: Arc<str>,
    /// The schemas that it refers to, and those that they refer to; whoever is referred to comes first.
    pub references: Vec<Arc<str>>,
}

/// A request has failed. The message names the registry, without credentials, and the subject or id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RegistryError {
    /// Another try may succeed: nobody answers, or the registry has a problem of its own.
    #[error("{0}")]
    Retriable(String),
    /// There is no such schema, subject or version.
    #[error("{0}")]
    NotFound(String),
    #[error("{0}")]
    Refused(String),
}

/// Where a registry is, and how to talk to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrySettings {
    /// Tried in this order. They may hold credentials.
    pub urls: Vec<Password>,
    pub login: RegistryLogin,
    /// Sent with every request.
    pub headers: Vec<(String, Password)>,
    pub connect_timeout: Duration,
    pub read_timeout: Duration,
    /// How often a request is tried again before it has failed.
    pub retries: u32,
    /// The wait before the first of these tries, doubled each time up to `retry_max_wait`.
    pub retry_wait: Duration,
    pub retry_max_wait: Duration,
    pub tls: Tls,
}

/// How a registry knows who is asking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistryLogin {
    /// As the URL says; not at all if it has no credentials.
    Url,
    /// `user:password`
    Basic(Password),
    Bearer(Password),
}
