//! Drives a transformation or a predicate, for a component's exports and for native tests alike.

use std::cell::Cell;

use super::columns::Columns;
use super::{Outcome, Predicate, Transform, TransformRecord};
use crate::Result;
use crate::bindings::base::bulkhead::connect::types::RecordBatch;
use crate::bindings::predicate::exports::bulkhead::connect::predicate::Tested;
use crate::bindings::transform::exports::bulkhead::connect::transform::Transformed;
use crate::connector::Answer;
use crate::shown::Shown;
use crate::sink::SinkBatch;

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
                    Err(error) => failed.push(error.of_one("record", record.index())?),
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
                    tested.failed.push(error.of_one("record", record.index())?);
                }
            }
            Ok(UNCHECKED_TELLING.take().unwrap_or(tested))
        })
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
