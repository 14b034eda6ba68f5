//! Drives a transformation or a predicate, for a component's exports and for native tests alike.

use std::cell::Cell;

use super::columns::Columns;
use super::{Outcome, Predicate, Transform, TransformRecord};
use crate::bindings::base::bulkhead::connect::types::{Failure, RecordBatch};
use crate::bindings::predicate::exports::bulkhead::connect::predicate::Tested;
use crate::bindings::transform::exports::bulkhead::connect::transform::Transformed;
use crate::connector::Answer;
use crate::data::Schema;
use crate::sink::{Schemas, SinkBatch};
use crate::{Error, ErrorKind, Result};

thread_local! {
    static UNCHECKED_ANSWER: Cell<Option<Transformed>> = const { Cell::new(None) };
    static UNCHECKED_TELLING: Cell<Option<Tested>> = const { Cell::new(None) };
}

/// Answers the call of `apply` under way with this, however broken: for tests of the worker.
#[doc(hidden)]
pub fn answer_unchecked(answer: Transformed) {
    UNCHECKED_ANSWER.set(Some(answer));
}

/// The same for `test`.
#[doc(hidden)]
pub fn tell_unchecked(tested: Tested) {
    UNCHECKED_TELLING.set(Some(tested));
}

/// A [`Transform`] of whatever type.
trait AnyTransform {
    fn apply<'a>(&'a mut self, batch: &'a SinkBatch) -> Answer<'a, Transformed>;
}

impl<T: Transform> AnyTransform for T {
    fn apply<'a>(&'a mut self, batch: &'a SinkBatch) -> Answer<'a, Transformed> {
        Box::pin(async move {
            let mut columns = Columns::new(batch.len());
            let (mut dropped, mut failed) = (Vec::new(), Vec::new());
            for record in batch {
                let mut record = TransformRecord::new(record);
                match Transform::apply(self, &mut record).await {
                    Ok(Outcome::Keep) => columns.push(&record)?,
                    Ok(Outcome::Drop) => dropped.push(record.index()),
                    Err(error) => failed.push(failure(record.index(), error)?),
                }
            }
            let answer = Transformed { records: columns.finish()?, dropped, failed };
            Ok(UNCHECKED_ANSWER.take().unwrap_or(answer))
        })
    }
}

/// A [`Predicate`] of whatever type.
trait AnyPredicate {
    fn test<'a>(&'a mut self, batch: &'a SinkBatch) -> Answer<'a, Tested>;
}

impl<P: Predicate> AnyPredicate for P {
    fn test<'a>(&'a mut self, batch: &'a SinkBatch) -> Answer<'a, Tested> {
        Box::pin(async move {
            let mut tested = Tested { answers: Vec::with_capacity(batch.len()), failed: Vec::new() };
            for record in batch {
                let record = TransformRecord::new(record);
                let answer = Predicate::test(self, &record).await;
                tested.answers.push(*answer.as_ref().unwrap_or(&false));
                if let Err(error) = answer {
                    tested.failed.push(failure(record.index(), error)?);
                }
            }
            Ok(UNCHECKED_TELLING.take().unwrap_or(tested))
        })
    }
}

/// An error of one record, if it is no more than that.
fn failure(index: u32, error: Error) -> Result<Failure> {
    match error.kind() {
        ErrorKind::Data => Ok(Failure { index, message: error.to_string() }),
        ErrorKind::Retriable | ErrorKind::Failed | ErrorKind::Config(_) => {
            Err(error.context(format!("record {index} of the batch")))
        }
    }
}

/// The schemas that the worker has shown; they keep its numbers when they go back.
#[derive(Default)]
struct Shown(Schemas);

impl Shown {
    fn lend(&mut self, mut records: RecordBatch, offset: Vec<i64>) -> Result<SinkBatch> {
        for definition in std::mem::take(&mut records.schemas) {
            let schema = Schema::from_nodes(definition.nodes)?;
            schema.set_id(definition.id);
            self.0.insert(definition.id, schema);
        }
        Ok(SinkBatch::of_records(records, offset, std::mem::take(&mut self.0)))
    }

    fn take_back(&mut self, batch: SinkBatch) {
        self.0 = batch.into_schemas();
    }
}

/// A transformation that was started.
pub(crate) struct TransformDriver {
    transform: Box<dyn AnyTransform>,
    shown: Shown,
}

impl TransformDriver {
    pub(crate) fn new(transform: impl Transform) -> Self {
        Self { transform: Box::new(transform), shown: Shown::default() }
    }

    pub(crate) async fn apply(&mut self, records: RecordBatch, offset: Vec<i64>) -> Result<Transformed> {
        let batch = self.shown.lend(records, offset)?;
        let applied = self.transform.apply(&batch).await;
        self.shown.take_back(batch);
        applied
    }
}

/// A predicate that was started.
pub(crate) struct PredicateDriver {
    predicate: Box<dyn AnyPredicate>,
    shown: Shown,
}

impl PredicateDriver {
    pub(crate) fn new(predicate: impl Predicate) -> Self {
        Self { predicate: Box::new(predicate), shown: Shown::default() }
    }

    pub(crate) async fn test(&mut self, records: RecordBatch, offset: Vec<i64>) -> Result<Tested> {
        let batch = self.shown.lend(records, offset)?;
        let tested = self.predicate.test(&batch).await;
        self.shown.take_back(batch);
        tested
    }
}
