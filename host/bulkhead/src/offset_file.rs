//! Source offsets of a standalone worker: a file of JSON lines (`offset.storage.file.filename`).
//!
//! Every line is `["connector",{partition},{offset}]`, with null for a forgotten partition; the last line
//! of a partition counts. A commit appends its lines with one write and syncs. A line that a crash cut
//! short is the last one and is dropped when the file is read. When most lines are outdated the file is
//! written anew beside the old one and renamed over it.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bulkhead_model::ConnectorName;
use bulkhead_model::offset::{SourceOffset, SourcePartition};
use bulkhead_pipeline::ports::{BoxFuture, OffsetStore, OffsetStoreError, OffsetWrite};
use serde_json::value::RawValue;

/// Below this many lines a file is never worth being written anew.
const MIN_LINES_TO_COMPACT: usize = 1_000;

/// How the first bytes of a file in Java's serialisation look.
const JAVA_MAGIC: &[u8] = &[0xac, 0xed];

/// The store. Clones share the file.
#[derive(Clone, Debug)]
pub struct OffsetFile {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    file: File,
    /// Lines in the file, outdated ones included.
    lines: usize,
    offsets: HashMap<(ConnectorName, String), (SourcePartition, SourceOffset)>,
}

/// The file can't be used.
#[derive(Debug, thiserror::Error)]
pub enum OffsetFileError {
    #[error("offset.storage.file.filename: {} can't be opened for reading and writing", .path.display())]
    Unusable { path: PathBuf, source: io::Error },
    #[error(
        "offset.storage.file.filename: {} was written by Apache Kafka Connect; name another file, and carry the \
         offsets over with GET and PATCH /connectors/{{name}}/offsets", .path.display()
    )]
    Java { path: PathBuf },
    #[error("offset.storage.file.filename: line {line} of {} is not [\"connector\",{{partition}},{{offset}}]", .path.display())]
    Malformed { path: PathBuf, line: usize },
}

type Line<'a> = (&'a str, &'a RawValue, Option<&'a RawValue>);

impl OffsetFile {
    /// Reads the file, or makes an empty one.
    pub fn open(path: &Path) -> Result<Self, OffsetFileError> {
        let unusable = |source| OffsetFileError::Unusable { path: path.to_owned(), source };
        let bytes = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(unusable(error)),
        };
        if bytes.starts_with(JAVA_MAGIC) {
            return Err(OffsetFileError::Java { path: path.to_owned() });
        }
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let (offsets, lines) = parse(path, &bytes[..whole])?;
        let file = OpenOptions::new().create(true).append(true).open(path).map_err(unusable)?;
        if whole < bytes.len() {
            tracing::warn!(path = %path.display(), "The last line was cut short by a crash and is dropped.");
            file.set_len(whole as u64).map_err(unusable)?;
        }
        let inner = Inner { path: path.to_owned(), file, lines, offsets };
        Ok(Self { inner: Arc::new(Mutex::new(inner)) })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type Offsets = HashMap<(ConnectorName, String), (SourcePartition, SourceOffset)>;

fn parse(path: &Path, bytes: &[u8]) -> Result<(Offsets, usize), OffsetFileError> {
    let mut offsets = HashMap::new();
    let mut lines = 0;
    for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        lines += 1;
        let malformed = |_| OffsetFileError::Malformed { path: path.to_owned(), line: lines };
        let (connector, partition, offset): Line<'_> = serde_json::from_slice(line).map_err(malformed)?;
        let offset = offset.map(|offset| SourceOffset(offset.get().into()));
        apply(&mut offsets, &ConnectorName::new(connector), SourcePartition(partition.get().into()), offset);
    }
    Ok((offsets, lines))
}

fn apply(offsets: &mut Offsets, connector: &ConnectorName, partition: SourcePartition, offset: Option<SourceOffset>) {
    let key = (connector.clone(), partition.canonical());
    match offset {
        Some(offset) => offsets.insert(key, (partition, offset)),
        None => offsets.remove(&key),
    };
}

impl Inner {
    fn write(&mut self, connector: &ConnectorName, writes: Vec<OffsetWrite>) -> Result<(), OffsetStoreError> {
        let mut text = Vec::new();
        for (partition, offset) in &writes {
            push_line(&mut text, connector, partition, offset.as_ref())?;
        }
        self.append(&text).map_err(|error| self.failed(&error))?;
        self.lines += writes.len();
        for (partition, offset) in writes {
            apply(&mut self.offsets, connector, partition, offset);
        }
        if self.lines >= MIN_LINES_TO_COMPACT && self.lines > 2 * self.offsets.len() {
            self.compact()?;
        }
        Ok(())
    }

    /// All lines or none: what a failed write left behind is cut off again.
    fn append(&mut self, text: &[u8]) -> io::Result<()> {
        let before = self.file.metadata()?.len();
        let written = self.file.write_all(text).and_then(|()| self.file.sync_data());
        if written.is_err() {
            self.file.set_len(before)?;
        }
        written
    }

    fn compact(&mut self) -> Result<(), OffsetStoreError> {
        let mut text = Vec::new();
        for ((connector, _), (partition, offset)) in &self.offsets {
            push_line(&mut text, connector, partition, Some(offset))?;
        }
        self.file = self.replace(&text).map_err(|error| self.failed(&error))?;
        self.lines = self.offsets.len();
        Ok(())
    }

    fn replace(&self, text: &[u8]) -> io::Result<File> {
        let beside = self.path.with_extension("new");
        let mut file = File::create(&beside)?;
        file.write_all(text)?;
        file.sync_all()?;
        fs::rename(&beside, &self.path)?;
        OpenOptions::new().append(true).open(&self.path)
    }

    fn failed(&self, error: &io::Error) -> OffsetStoreError {
        OffsetStoreError(format!("{} can't be written: {error}", self.path.display()))
    }
}

fn push_line(
    text: &mut Vec<u8>,
    connector: &ConnectorName,
    partition: &SourcePartition,
    offset: Option<&SourceOffset>,
) -> Result<(), OffsetStoreError> {
    let object = |what: &str, text: &str| {
        let parsed: Result<serde_json::Map<String, serde_json::Value>, _> = serde_json::from_str(text);
        match parsed {
            // Written anew rather than copied: a line must not contain line ends.
            Ok(members) => Ok(serde_json::Value::Object(members)),
            Err(error) => Err(OffsetStoreError(format!("the source {what} `{text}` is not a JSON object: {error}"))),
        }
    };
    let partition = object("partition", &partition.0)?;
    let offset = offset.map(|offset| object("offset", &offset.0)).transpose()?;
    let line = serde_json::json!([connector.as_str(), partition, offset]);
    text.extend_from_slice(line.to_string().as_bytes());
    text.push(b'\n');
    Ok(())
}

impl OffsetStore for OffsetFile {
    fn read(
        &self,
        connector: &ConnectorName,
        partitions: Vec<SourcePartition>,
    ) -> BoxFuture<Result<Vec<Option<SourceOffset>>, OffsetStoreError>> {
        let inner = self.lock();
        let of = |partition: &SourcePartition| inner.offsets.get(&(connector.clone(), partition.canonical()));
        let found = partitions.iter().map(|partition| of(partition).map(|(_, offset)| offset.clone())).collect();
        Box::pin(std::future::ready(Ok(found)))
    }

    fn all(
        &self,
        connector: &ConnectorName,
    ) -> BoxFuture<Result<Vec<(SourcePartition, SourceOffset)>, OffsetStoreError>> {
        let inner = self.lock();
        let mine = inner.offsets.iter().filter(|((owner, _), _)| owner == connector);
        let mut mine: Vec<_> = mine.map(|((_, key), entry)| (key.clone(), entry.clone())).collect();
        mine.sort_by(|(a, _), (b, _)| a.cmp(b));
        Box::pin(std::future::ready(Ok(mine.into_iter().map(|(_, entry)| entry).collect())))
    }

    fn write(&self, connector: &ConnectorName, offsets: Vec<OffsetWrite>) -> BoxFuture<Result<(), OffsetStoreError>> {
        let (store, connector) = (self.clone(), connector.clone());
        Box::pin(async move {
            let written = tokio::task::spawn_blocking(move || store.lock().write(&connector, offsets)).await;
            written.unwrap_or_else(|error| Err(OffsetStoreError(error.to_string())))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> ConnectorName {
        ConnectorName::new("c")
    }

    fn commit(store: &OffsetFile, partition: &str, offset: Option<&str>) -> Result<(), OffsetStoreError> {
        let offset = offset.map(|offset| SourceOffset(offset.into()));
        store.lock().write(&name(), vec![(SourcePartition(partition.into()), offset)])
    }

    fn get(store: &OffsetFile, partition: &str) -> Option<String> {
        let key = (name(), SourcePartition(partition.into()).canonical());
        store.lock().offsets.get(&key).map(|(_, offset)| offset.0.to_string())
    }

    #[test]
    fn offsets_survive_the_process_and_the_last_commit_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("offsets");
        let store = OffsetFile::open(&path).unwrap();
        commit(&store, r#"{"f":"a"}"#, Some(r#"{"at":1}"#)).unwrap();
        commit(&store, r#"{"f":"b"}"#, Some("{\n\"at\": 9}")).unwrap();
        commit(&store, r#"{ "f": "a" }"#, Some(r#"{"at":2}"#)).unwrap();
        commit(&store, r#"{"f":"b"}"#, None).unwrap();
        let store = OffsetFile::open(&path).unwrap();
        assert_eq!(get(&store, r#"{"f":"a"}"#).as_deref(), Some(r#"{"at":2}"#));
        assert_eq!(get(&store, r#"{"f":"b"}"#), None);
    }

    #[test]
    fn a_line_that_was_cut_short_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("offsets");
        fs::write(&path, "[\"c\",{\"f\":\"a\"},{\"at\":1}]\n[\"c\",{\"f\":\"a\"},{\"a").unwrap();
        let store = OffsetFile::open(&path).unwrap();
        assert_eq!(get(&store, r#"{"f":"a"}"#).as_deref(), Some(r#"{"at":1}"#));
        commit(&store, r#"{"f":"a"}"#, Some(r#"{"at":2}"#)).unwrap();
        let store = OffsetFile::open(&path).unwrap();
        assert_eq!(get(&store, r#"{"f":"a"}"#).as_deref(), Some(r#"{"at":2}"#));
    }

    #[test]
    fn outdated_lines_are_written_away() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("offsets");
        let store = OffsetFile::open(&path).unwrap();
        let writes = |at: usize| {
            let offset = SourceOffset(format!(r#"{{"at":{at}}}"#).into());
            vec![(SourcePartition(r#"{"f":"a"}"#.into()), Some(offset))]
        };
        let mut inner = store.lock();
        inner.lines = MIN_LINES_TO_COMPACT;
        inner.write(&name(), writes(1)).unwrap();
        inner.write(&name(), writes(2)).unwrap();
        drop(inner);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 2);
        assert_eq!(get(&OffsetFile::open(&path).unwrap(), r#"{"f":"a"}"#).as_deref(), Some(r#"{"at":2}"#));
    }

    #[test]
    fn an_offset_that_is_no_object_is_refused_and_nothing_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("offsets");
        let store = OffsetFile::open(&path).unwrap();
        let error = commit(&store, r#"{"f":"a"}"#, Some("[1]")).unwrap_err();
        assert!(error.0.starts_with("the source offset `[1]` is not a JSON object"), "{error}");
        assert_eq!(fs::read(&path).unwrap(), b"");
    }

    #[test]
    fn files_of_another_form_are_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("offsets");
        fs::write(&path, [0xac, 0xed, 0, 5]).unwrap();
        assert!(matches!(OffsetFile::open(&path), Err(OffsetFileError::Java { .. })));
        fs::write(&path, "what\n").unwrap();
        assert!(matches!(OffsetFile::open(&path), Err(OffsetFileError::Malformed { line: 1, .. })));
        let folder_as_file = OffsetFile::open(folder.path());
        assert!(matches!(folder_as_file, Err(OffsetFileError::Unusable { .. })));
    }
}
