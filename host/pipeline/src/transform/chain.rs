//! Built-in transforms one after the other, each perhaps behind a built-in predicate.

use bulkhead_model::RawConfig;

use super::plan::{self, GuardPlan, StagePlan};
use super::registry::{full_name, make_predicate, make_transform};
use super::{Predicate, Record, Transform};
use crate::convert::ConvertError;

/// Transforms that this worker brings; works on one record at a time and never waits.
#[derive(Default)]
pub struct Chain {
    stages: Vec<Stage>,
}

/// A transform failed; which one, by its alias in the configuration, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("transform `{transform}` failed")]
pub struct StageError {
    pub transform: String,
    /// The full name of its class.
    pub class: String,
    pub source: ConvertError,
}

pub(super) struct Stage {
    alias: String,
    class: String,
    transform: Box<dyn Transform>,
    guard: Option<Guard>,
}

struct Guard {
    predicate: Box<dyn Predicate>,
    wanted: bool,
}

impl Chain {
    /// From a connector's configuration, whose transforms and predicates are all built in.
    pub fn new(config: &RawConfig) -> Result<Self, ConvertError> {
        let stages = plan::stages(config)?.into_iter().map(Stage::new);
        Ok(Self { stages: stages.collect::<Result<_, _>>()? })
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.stages.is_empty()
    }

    /// What becomes of a record; none if a transform drops it.
    pub fn apply(&self, mut record: Record) -> Result<Option<Record>, StageError> {
        for stage in &self.stages {
            let failed = |source| StageError { transform: stage.alias.clone(), class: stage.class.clone(), source };
            match stage.apply(record).map_err(failed)? {
                Some(changed) => record = changed,
                None => return Ok(None),
            }
        }
        Ok(Some(record))
    }

    pub(super) fn push(&mut self, stage: Stage) {
        self.stages.push(stage);
    }
}

impl Stage {
    pub(super) fn new(plan: StagePlan) -> Result<Self, ConvertError> {
        let StagePlan { transform: plan, guard } = plan;
        let make = || {
            let guard = guard.map(Guard::new).transpose()?;
            Ok((guard, make_transform(&plan.class, &plan.config)?))
        };
        let (guard, transform) =
            make().map_err(|error: ConvertError| error.at(&format!("transform `{}`", plan.alias)))?;
        Ok(Self { alias: plan.alias, class: full_name(&plan.class), transform, guard })
    }

    fn apply(&self, record: Record) -> Result<Option<Record>, ConvertError> {
        if let Some(guard) = &self.guard
            && guard.predicate.test(&record)? != guard.wanted
        {
            return Ok(Some(record));
        }
        self.transform.apply(record)
    }
}

impl Guard {
    fn new(plan: GuardPlan) -> Result<Self, ConvertError> {
        let GuardPlan { predicate, wanted } = plan;
        let made = make_predicate(&predicate.class, &predicate.config);
        let predicate = made.map_err(|error| error.at(&format!("predicate `{}`", predicate.alias)))?;
        Ok(Self { predicate, wanted })
    }
}
