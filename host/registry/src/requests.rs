//! The requests.

use std::collections::HashSet;
use std::sync::Arc;

use bulkhead_pipeline::ports::{
    BoxFuture, ClientError, Registered, RegistryError, RegistrySettings, SchemaRegistry, SchemaText, SubjectSchema,
};
use bytes::Bytes;
use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Deserialize;
use serde_json::json;

use crate::client::{Client, Question};

/// What stands for itself in a part of a path.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Most schemas that one schema may refer to, those that these refer to included.
const MAX_REFERENCES: usize = 200;

/// One registry.
#[derive(Clone)]
pub struct Registry(Arc<Client>);

/// An answer with an id.
#[derive(Deserialize)]
struct Id {
    id: u32,
}

/// An answer that tells of a version of a subject.
#[derive(Deserialize)]
struct Version {
    id: u32,
    version: i32,
    #[serde(flatten)]
    schema: Stored,
}

/// A schema as registries keep it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    schema: Arc<str>,
    /// Absent for Avro.
    schema_type: Option<String>,
    #[serde(default)]
    references: Vec<Reference>,
}

#[derive(Deserialize)]
struct Reference {
    subject: String,
    version: i32,
}

impl Registry {
    /// Doesn't connect yet.
    pub fn new(settings: RegistrySettings) -> Result<Self, ClientError> {
        Ok(Self(Arc::new(Client::new(settings)?)))
    }

    /// The schema with all that it refers to.
    async fn complete(&self, stored: Stored, about: &str) -> Result<SchemaText, RegistryError> {
        enum Step {
            Fetch(Reference),
            Keep(Arc<str>),
        }
        check_type(&stored, about)?;
        let (mut references, mut seen) = (Vec::new(), HashSet::new());
        let mut steps: Vec<_> = stored.references.into_iter().rev().map(Step::Fetch).collect();
        while let Some(step) = steps.pop() {
            match step {
                Step::Keep(schema) => references.push(schema),
                Step::Fetch(Reference { subject, version }) => {
                    if !seen.insert((subject.clone(), version)) {
                        continue;
                    }
                    if seen.len() > MAX_REFERENCES {
                        return Err(RegistryError::Refused(format!("{about} refers to too many others")));
                    }
                    let about = format!("subject `{subject}`, version {version}");
                    let path = format!("/subjects/{}/versions/{version}", encoded(&subject));
                    let referred: Stored = self.0.ask(&get(path, &about)).await?;
                    check_type(&referred, &about)?;
                    steps.push(Step::Keep(referred.schema));
                    steps.extend(referred.references.into_iter().rev().map(Step::Fetch));
                }
            }
        }
        Ok(SchemaText { schema: stored.schema, references })
    }
}

impl SchemaRegistry for Registry {
    fn register(&self, schema: SubjectSchema) -> BoxFuture<Result<u32, RegistryError>> {
        let client = self.0.clone();
        Box::pin(async move {
            let Id { id } = client.ask(&post("/versions", &schema)).await?;
            Ok(id)
        })
    }

    fn find(&self, schema: SubjectSchema) -> BoxFuture<Result<Registered, RegistryError>> {
        let client = self.0.clone();
        Box::pin(async move {
            let Version { id, version, .. } = client.ask(&post("", &schema)).await?;
            Ok(Registered { id, version })
        })
    }

    fn latest(&self, subject: Arc<str>) -> BoxFuture<Result<(Registered, SchemaText), RegistryError>> {
        let registry = self.clone();
        Box::pin(async move {
            let about = format!("subject `{subject}`");
            let path = format!("/subjects/{}/versions/latest", encoded(&subject));
            let Version { id, version, schema } = registry.0.ask(&get(path, &about)).await?;
            Ok((Registered { id, version }, registry.complete(schema, &about).await?))
        })
    }

    fn by_id(&self, id: u32, subject: Arc<str>) -> BoxFuture<Result<SchemaText, RegistryError>> {
        let registry = self.clone();
        Box::pin(async move {
            let about = format!("schema with id {id} (subject `{subject}`)");
            let path = format!("/schemas/ids/{id}?fetchMaxId=false&subject={}", encoded(&subject));
            let stored = registry.0.ask(&get(path, &about)).await?;
            registry.complete(stored, &about).await
        })
    }
}

fn get(path: String, about: &str) -> Question {
    Question { method: Method::GET, path, body: Bytes::new(), about: about.to_owned() }
}

/// `to` is the path below the subject's.
fn post(to: &str, SubjectSchema { subject, schema, normalize }: &SubjectSchema) -> Question {
    let query = if *normalize { "?normalize=true" } else { "" };
    Question {
        method: Method::POST,
        path: format!("/subjects/{}{to}{query}", encoded(subject)),
        body: json!({ "schema": schema }).to_string().into(),
        about: format!("subject `{subject}`"),
    }
}

fn check_type(stored: &Stored, about: &str) -> Result<(), RegistryError> {
    match stored.schema_type.as_deref() {
        None | Some("AVRO") => Ok(()),
        Some(other) => Err(RegistryError::Refused(format!("{about} is of type {other}, not AVRO"))),
    }
}

fn encoded(part: &str) -> String {
    utf8_percent_encode(part, PART).to_string()
}
