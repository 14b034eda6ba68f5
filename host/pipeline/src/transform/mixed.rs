//! A chain in which guests take part.

use std::sync::Arc;

use super::chain::{Chain, StageError};
use super::passage::{Passage, Sent};
use super::{Predicate, Transform};
use crate::convert::ConvertError;
use crate::guest::{GuestFailure, Name};
use crate::ports::{Fate, PredicateTask, TransformTask, Transformed};
use crate::tolerance::Fault;

/// Works on a batch at a time, for a call into a sandbox has its price.
#[derive(Default)]
pub struct MixedChain {
    pub(super) segments: Vec<Segment>,
}

pub(super) enum Segment {
    /// Stages without guests, one after the other.
    Native(Chain),
    Mixed(MixedStage),
}

/// A stage with a guest, as the transform, as the predicate, or as both.
pub(super) struct MixedStage {
    pub(super) name: Name,
    pub(super) transform: Work,
    pub(super) guard: Option<Guard>,
}

pub(super) enum Work {
    Native(Box<dyn Transform>),
    Guest(Arc<dyn TransformTask>),
}

pub(super) struct Guard {
    pub(super) name: Name,
    pub(super) predicate: Test,
    pub(super) wanted: bool,
}

pub(super) enum Test {
    Native(Box<dyn Predicate>),
    Guest(Arc<dyn PredicateTask>),
}

impl MixedChain {
    /// Takes a batch through all stages. An error is the end of the task.
    pub(crate) async fn apply(&self, passage: &mut Passage) -> Result<(), GuestFailure> {
        for segment in &self.segments {
            match segment {
                Segment::Native(chain) => passage.apply(chain),
                Segment::Mixed(stage) => stage.apply(passage).await?,
            }
        }
        Ok(())
    }
}

impl MixedStage {
    async fn apply(&self, passage: &mut Passage) -> Result<(), GuestFailure> {
        let mut chosen = passage.live();
        if let Some(guard) = &self.guard {
            chosen = self.let_in(guard, passage, chosen).await?;
        }
        match &self.transform {
            Work::Native(transform) => {
                for index in chosen {
                    let Some(record) = passage.take(index) else { continue };
                    match transform.apply(record) {
                        Ok(record) => passage.put(index, record),
                        Err(error) => passage.fail(index, self.fault(error)),
                    }
                }
                Ok(())
            }
            Work::Guest(guest) => self.call(&**guest, passage, chosen).await,
        }
    }

    async fn call(
        &self,
        guest: &dyn TransformTask,
        passage: &mut Passage,
        chosen: Vec<usize>,
    ) -> Result<(), GuestFailure> {
        let Sent { batch, offset, from } = passage.send(chosen);
        if from.is_empty() {
            return Ok(());
        }
        let answer = guest.apply(batch, offset).await;
        let Transformed { fates, records } = answer.map_err(|error| self.name.failed("transform", error))?;
        let mut kept = Vec::with_capacity(records.count);
        for (index, fate) in from.into_iter().zip(fates) {
            match fate {
                Fate::Kept => kept.push(index),
                Fate::Dropped => passage.put(index, None),
                Fate::Failed(message) => passage.fail(index, self.fault(ConvertError::Data(message))),
            }
        }
        passage.receive(&kept, records, |error| self.fault(error));
        Ok(())
    }

    /// The records that the guard lets into the transform.
    async fn let_in(&self, guard: &Guard, passage: &mut Passage, live: Vec<usize>) -> Result<Vec<usize>, GuestFailure> {
        let mut chosen = Vec::with_capacity(live.len());
        let mut note = |passage: &mut Passage, index, answer: Result<bool, ConvertError>| match answer {
            Ok(answer) if answer == guard.wanted => chosen.push(index),
            Ok(_) => {}
            Err(error) => passage.fail(index, self.fault(error)),
        };
        match &guard.predicate {
            Test::Native(predicate) => {
                for index in live {
                    let Some(record) = passage.look(index) else { continue };
                    note(passage, index, predicate.test(&record));
                }
            }
            Test::Guest(guest) => {
                let Sent { batch, offset, from } = passage.send(live);
                if from.is_empty() {
                    return Ok(from);
                }
                let answers = guest.test(batch, offset).await;
                let answers = answers.map_err(|error| guard.name.failed("predicate", error))?;
                for (index, answer) in from.into_iter().zip(answers) {
                    note(passage, index, answer.map_err(ConvertError::Data));
                }
            }
        }
        Ok(chosen)
    }

    /// Of a record; in Connect as well a predicate's error is that of the transform behind it.
    fn fault(&self, source: ConvertError) -> Fault {
        let Name { alias, class } = self.name.clone();
        Fault::transforming(StageError { transform: alias, class, source })
    }
}
