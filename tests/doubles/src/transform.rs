//! A transform and predicate that works on texts.

use std::sync::Arc;

use bulkhead_model::RawConfig;
use bulkhead_pipeline::batch::{Batch, Encoding, Item, RecordRef, Values};
use bulkhead_pipeline::ports::{BoxFuture, Crash, Fate, PluginError, PredicateTask, TransformTask, Transformed};

/// As a transform it puts `mark` before the text of every value, drops the values that are `drop`, fails on those that
/// are `bad`, and crashes on `crash`. As a predicate it says yes to values with `word` in them, and doesn't know what
/// to say of `unclear`.
pub struct ScriptedTransform {
    mark: String,
    word: String,
    /// Puts this topic in place of a record's own.
    topic: Option<Arc<str>>,
}

impl ScriptedTransform {
    /// Its keys are `mark`, `word` and `topic`.
    pub fn new(config: &RawConfig) -> Self {
        let text = |key| config.get(key).unwrap_or_default().to_owned();
        Self { mark: text("mark"), word: text("word"), topic: config.get("topic").map(Arc::from) }
    }

    fn transform(&self, batch: &Batch) -> Result<Transformed, PluginError> {
        let (mut fates, mut kept) = (Vec::new(), Vec::new());
        for record in batch.records() {
            let value = text(&record.value);
            match value {
                "crash" => return Err(crash()),
                "drop" => fates.push(Fate::Dropped),
                "bad" => fates.push(Fate::Failed("a bad value".to_owned())),
                value => {
                    fates.push(Fate::Kept);
                    kept.push((record, format!("{}{value}", self.mark)));
                }
            }
        }
        Ok(Transformed { fates, records: self.batch(&kept) })
    }

    fn batch(&self, kept: &[(RecordRef<'_>, String)]) -> Batch {
        let topic = |record: &RecordRef<'_>| self.topic.clone().unwrap_or_else(|| Arc::clone(record.topic()));
        Batch {
            count: kept.len(),
            topics: kept.iter().map(|(record, _)| topic(record)).collect(),
            topic: (0..kept.len() as u32).collect(),
            partition: kept.iter().map(|(record, _)| record.partition().unwrap_or(-1)).collect(),
            timestamp: kept.iter().map(|(record, _)| record.timestamp().unwrap_or(i64::MIN)).collect(),
            keys: Values { encoding: vec![Encoding::None; kept.len()], ..Values::default() },
            values: Values {
                encoding: vec![Encoding::Text; kept.len()],
                len: kept.iter().map(|(_, value)| value.len() as u32).collect(),
                ..Values::default()
            },
            data: kept.iter().map(|(_, value)| value.as_str()).collect::<String>().into(),
            ..Batch::default()
        }
    }

    fn answer(&self, record: &RecordRef<'_>) -> Result<bool, String> {
        match text(&record.value) {
            "unclear" => Err("no way to tell".to_owned()),
            value => Ok(value.contains(&self.word)),
        }
    }
}

impl TransformTask for ScriptedTransform {
    fn apply(&self, batch: Arc<Batch>, _offset: Vec<i64>) -> BoxFuture<Result<Transformed, PluginError>> {
        let transformed = self.transform(&batch);
        Box::pin(async { transformed })
    }
}

impl PredicateTask for ScriptedTransform {
    fn test(&self, batch: Arc<Batch>, _offset: Vec<i64>) -> BoxFuture<Result<Vec<Result<bool, String>>, PluginError>> {
        let answers = batch.records().map(|record| self.answer(&record)).collect();
        Box::pin(async { Ok(answers) })
    }
}

pub(crate) fn text<'a>(item: &Item<'a>) -> &'a str {
    std::str::from_utf8(item.bytes).unwrap_or_default()
}

pub(crate) fn crash() -> PluginError {
    let cause = "it trapped".to_owned();
    PluginError::Crashed(Crash { trace: format!("{cause}\nat some place"), cause })
}
