use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

use super::block_on;
use super::seen::{Seen, registered_schemas, schema_definitions};
use crate::bindings::base::bulkhead::connect::types::{Failure, RecordBatch};
use crate::bindings::transform::exports::bulkhead::connect::transform::Transformed;
use crate::component::{start_predicate, start_transform};
use crate::config::RawConfig;
use crate::sink::SinkBatch;
use crate::source::Batch;
use crate::transform::{Predicate, PredicateDriver, Transform, TransformDriver};
use crate::{Result, logging};

/// Runs a transformation, as the worker would.
pub struct TransformRun<T> {
    driver: TransformDriver,
    transform: PhantomData<T>,
}

/// What became of a record.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Fate {
    Kept(Seen),
    Dropped,
    /// And why.
    Failed(String),
}

impl<T: Transform> TransformRun<T> {
    /// Starts a transformation with what a configuration would have below its alias. Panics if it doesn't start.
    pub fn start(config: impl Into<RawConfig>) -> Self {
        Self::try_start(config).unwrap_or_else(|error| panic!("the transformation doesn't start: {error}"))
    }

    /// The same, or says why it doesn't start.
    pub fn try_start(config: impl Into<RawConfig>) -> Result<Self> {
        logging::init();
        Ok(Self { driver: block_on(start_transform::<T>(config.into()))?, transform: PhantomData })
    }

    /// Takes records through it that are made as a source makes them: `run.apply(|batch| { batch.push("t").value("v"); })`.
    pub fn apply(&mut self, fill: impl FnOnce(&mut Batch)) -> Result<Vec<Fate>> {
        let records = filled(fill)?;
        let count = records.count;
        let Transformed { records, dropped, failed } = block_on(self.driver.apply(records, Vec::new()))?;
        let batch = SinkBatch::of_records(records, Vec::new(), registered_schemas()?);
        let mut kept = batch.iter().map(|record| Seen::of(&record, None));
        let fate = |index| {
            if dropped.contains(&index) {
                return Ok(Fate::Dropped);
            }
            match failed.iter().find(|failure| failure.index == index) {
                Some(Failure { message, .. }) => Ok(Fate::Failed(message.clone())),
                None => kept.next().expect("what isn't lost is kept").map(Fate::Kept),
            }
        };
        (0..count).map(fate).collect()
    }

    /// Takes one record for each text through it, and answers with their values, `dropped`, or why they failed. Panics if it
    /// fails as a whole.
    pub fn apply_texts<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) -> Vec<String> {
        let fates = self.apply(|batch| push_texts(batch, texts));
        let fates = fates.unwrap_or_else(|error| panic!("the transformation failed: {error}"));
        fates.iter().map(Fate::to_string).collect()
    }
}

/// Runs a predicate, as the worker would.
pub struct PredicateRun<P> {
    driver: PredicateDriver,
    predicate: PhantomData<P>,
}

impl<P: Predicate> PredicateRun<P> {
    /// Starts a predicate with what a configuration would have below its alias. Panics if it doesn't start.
    pub fn start(config: impl Into<RawConfig>) -> Self {
        logging::init();
        let driver = block_on(start_predicate::<P>(config.into()));
        let driver = driver.unwrap_or_else(|error| panic!("the predicate doesn't start: {error}"));
        Self { driver, predicate: PhantomData }
    }

    /// Asks about records that are made as a source makes them.
    pub fn test(&mut self, fill: impl FnOnce(&mut Batch)) -> Result<Vec<Result<bool, String>>> {
        let tested = block_on(self.driver.test(filled(fill)?, Vec::new()))?;
        let mut answers: Vec<_> = tested.answers.into_iter().map(Ok).collect();
        for Failure { index, message } in tested.failed {
            answers[index as usize] = Err(message);
        }
        Ok(answers)
    }

    /// Asks about one record for each text. Panics if there is no answer for one.
    pub fn test_texts<'a>(&mut self, texts: impl IntoIterator<Item = &'a str>) -> Vec<bool> {
        let answers = self.test(|batch| push_texts(batch, texts));
        let answers = answers.unwrap_or_else(|error| panic!("the predicate failed: {error}"));
        answers.into_iter().map(|answer| answer.unwrap_or_else(|why| panic!("no answer for a record: {why}"))).collect()
    }
}

fn push_texts<'a>(batch: &mut Batch, texts: impl IntoIterator<Item = &'a str>) {
    for text in texts {
        batch.push("topic").value(text);
    }
}

fn filled(fill: impl FnOnce(&mut Batch)) -> Result<RecordBatch> {
    let mut batch = Batch::new(Rc::new(Cell::new(usize::MAX)), usize::MAX / 2, Default::default());
    fill(&mut batch);
    let (produced, _) = batch.finish()?;
    Ok(RecordBatch { schemas: schema_definitions(), ..produced.records })
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept(record) => write!(f, "{}", record.value),
            Self::Dropped => f.write_str("dropped"),
            Self::Failed(why) => f.write_str(why),
        }
    }
}

impl<T> fmt::Debug for TransformRun<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TransformRun").finish_non_exhaustive()
    }
}

impl<P> fmt::Debug for PredicateRun<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PredicateRun").finish_non_exhaustive()
    }
}
