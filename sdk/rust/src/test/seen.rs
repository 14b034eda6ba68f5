use crate::bindings::base::bulkhead::connect::types::SchemaDef;
use crate::bindings::source::exports::bulkhead::connect::source_task::SourceBatch;
use crate::data::{Schema, Value};
use crate::sink::{SinkBatch, SinkRecord};
use crate::{Result, host};

/// A record as the worker saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// Where it goes.
    pub topic: String,
    /// The Kafka partition, if the source chose one.
    pub partition: Option<i32>,
    /// In milliseconds since 1970.
    pub timestamp: Option<i64>,
    /// The key; null if there is none.
    pub key: Value<'static>,
    /// The value. What was given as JSON is seen as its text.
    pub value: Value<'static>,
    /// The value's schema.
    pub schema: Option<Schema>,
    /// Names and values.
    pub headers: Vec<(String, Value<'static>)>,
    /// Source partition and source offset as JSON, if it has an offset.
    pub offset: Option<(String, String)>,
}

/// Records taken from a source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Taken(pub Vec<Seen>);

impl Taken {
    /// The values as text.
    pub fn texts(&self) -> Vec<String> {
        self.0.iter().map(|record| record.value.to_string()).collect()
    }

    /// The source offsets as JSON.
    pub fn offsets(&self) -> Vec<String> {
        self.0.iter().filter_map(|record| Some(record.offset.as_ref()?.1.clone())).collect()
    }

    /// Number of records.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Seen {
    /// Takes a source's batch apart.
    pub(super) fn all(batch: SourceBatch) -> Result<Vec<Self>> {
        let offsets = offsets(&batch);
        let batch = SinkBatch::of_records(batch.records, Vec::new(), registered_schemas()?);
        batch.iter().zip(offsets).map(|(record, offset)| Self::of(&record, offset)).collect()
    }

    pub(super) fn of(record: &SinkRecord<'_>, offset: Option<(String, String)>) -> Result<Self> {
        let headers = record.headers().map(|(name, value)| Ok((name.to_owned(), value.decode()?.into_owned())));
        Ok(Self {
            topic: record.topic().to_owned(),
            partition: Some(record.partition()).filter(|&partition| partition >= 0),
            timestamp: record.timestamp(),
            key: record.key().decode_or_json()?.into_owned(),
            value: record.value().decode_or_json()?.into_owned(),
            schema: record.value().schema().cloned(),
            headers: headers.collect::<Result<_>>()?,
            offset,
        })
    }
}

/// Each record's source partition and offset.
fn offsets(batch: &SourceBatch) -> Vec<Option<(String, String)>> {
    let mut start = 0;
    let mut last = None;
    let each = |row: usize| {
        let len = batch.offset_len.get(row).copied().unwrap_or(0) as usize;
        if len > 0 {
            let place = batch.source_partition.get(row).copied().unwrap_or(0) as usize;
            let offset = String::from_utf8_lossy(&batch.offsets[start..start + len]).into_owned();
            last = Some((batch.source_partitions[place].clone(), offset));
            start += len;
        }
        last.clone()
    };
    (0..batch.records.count as usize).map(each).collect()
}

/// The definitions of all schemas that were registered so far.
pub(super) fn schema_definitions() -> Vec<SchemaDef> {
    let schemas = host::native::with(|host| host.schemas.clone());
    (1..).zip(schemas).map(|(id, nodes)| SchemaDef { id, nodes }).collect()
}

/// All schemas that the task registered, by number.
pub(super) fn registered_schemas() -> Result<std::collections::BTreeMap<u32, Schema>> {
    let read = |SchemaDef { id, nodes }| Ok((id, Schema::from_nodes(nodes)?));
    schema_definitions().into_iter().map(read).collect()
}
