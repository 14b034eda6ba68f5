//! From a configuration to the transforms of a task.

use std::collections::HashMap;
use std::sync::Arc;

use bulkhead_model::plugin::{PluginCatalog, PluginKind};
use bulkhead_model::{RawConfig, TaskId};

use super::chain::{Chain, Stage};
use super::mixed::{Guard, MixedChain, MixedStage, Segment, Test, Work};
use super::passage::Passage;
use super::plan::{self, GuardPlan, StagePlan};
use super::registry::{full_name, is_predicate, is_transform, make_predicate, make_transform};
use crate::convert::ConvertError;
use crate::guest::{GuestFailure, Name, OpenError};
use crate::ports::{Aliased, Plugins, PredicateTask};

/// All that a configuration says of transforms and predicates.
pub enum Transforms {
    /// Without guests.
    Native(Chain),
    Mixed(MixedChain),
}

impl Transforms {
    /// Makes the transforms of a task, each guest in an instance of its own; a predicate is shared by the
    /// transforms that it guards.
    pub async fn open(config: &RawConfig, task: &TaskId, plugins: &impl Plugins) -> Result<Self, OpenError> {
        let stages = plan::stages(config)?;
        let opener = Opener { catalog: plugins.catalog(), plugins, task, connector: config };
        if !stages.iter().any(|stage| opener.has_guest(stage)) {
            let stages = stages.into_iter().map(Stage::new);
            let mut chain = Chain::default();
            stages.into_iter().try_for_each(|stage| stage.map(|stage| chain.push(stage)))?;
            return Ok(Self::Native(chain));
        }
        let (mut segments, mut predicates) = (Vec::new(), HashMap::new());
        for stage in stages {
            if opener.has_guest(&stage) {
                segments.push(Segment::Mixed(opener.stage(&stage, &mut predicates).await?));
                continue;
            }
            let stage = Stage::new(stage)?;
            match segments.last_mut() {
                Some(Segment::Native(chain)) => chain.push(stage),
                Some(Segment::Mixed(_)) | None => {
                    let mut chain = Chain::default();
                    chain.push(stage);
                    segments.push(Segment::Native(chain));
                }
            }
        }
        Ok(Self::Mixed(MixedChain { segments }))
    }

    /// Takes a batch through all of them. An error is the end of the task.
    pub(crate) async fn apply(&self, passage: &mut Passage) -> Result<(), GuestFailure> {
        match self {
            Self::Native(chain) if chain.is_empty() => Ok(()),
            Self::Native(chain) => {
                passage.apply(chain);
                Ok(())
            }
            Self::Mixed(chain) => chain.apply(passage).await,
        }
    }
}

/// The transforms and predicates of a configuration that aren't built in, each once.
pub fn guests(config: &RawConfig, catalog: &PluginCatalog) -> Vec<(PluginKind, Aliased)> {
    let mut guests = Vec::new();
    for StagePlan { transform, guard } in plan::stages(config).unwrap_or_default() {
        let predicate = guard.map(|guard| guard.predicate);
        let predicate = predicate.filter(|plan| is_guest_predicate(plan, catalog));
        let transform = Some(transform).filter(|plan| is_guest_transform(plan, catalog));
        let both = [(PluginKind::Predicate, predicate), (PluginKind::Transformation, transform)];
        for guest in both.into_iter().filter_map(|(kind, plan)| Some((kind, plan?))) {
            if !guests.contains(&guest) {
                guests.push(guest);
            }
        }
    }
    guests
}

fn is_guest_transform(plan: &Aliased, catalog: &PluginCatalog) -> bool {
    !is_transform(&plan.class) && catalog.knows(&plan.class, PluginKind::Transformation)
}

fn is_guest_predicate(plan: &Aliased, catalog: &PluginCatalog) -> bool {
    !is_predicate(&plan.class) && catalog.knows(&plan.class, PluginKind::Predicate)
}

impl From<Chain> for Transforms {
    fn from(chain: Chain) -> Self {
        Self::Native(chain)
    }
}

/// The guests among the predicates, by alias.
type Predicates = HashMap<String, Arc<dyn PredicateTask>>;

struct Opener<'a, P> {
    catalog: Arc<PluginCatalog>,
    plugins: &'a P,
    task: &'a TaskId,
    connector: &'a RawConfig,
}

impl<P: Plugins> Opener<'_, P> {
    fn has_guest(&self, stage: &StagePlan) -> bool {
        let guard = stage.guard.as_ref();
        guard.is_some_and(|guard| is_guest_predicate(&guard.predicate, &self.catalog))
            || is_guest_transform(&stage.transform, &self.catalog)
    }

    async fn stage(&self, stage: &StagePlan, predicates: &mut Predicates) -> Result<MixedStage, OpenError> {
        let plan = &stage.transform;
        let at = |error: ConvertError| error.at(&format!("transform `{}`", plan.alias));
        let guard = match &stage.guard {
            Some(guard) => Some(self.guard(guard, predicates, at).await?),
            None => None,
        };
        let (class, transform) = if is_guest_transform(plan, &self.catalog) {
            let class = self.catalog.full_name(&plan.class, PluginKind::Transformation).to_owned();
            let made = self.plugins.transform(self.task, plan, self.connector).await;
            let name = Name::of(plan, class.clone());
            (class, Work::Guest(made.map_err(|error| name.failed("transform", error))?))
        } else {
            (full_name(&plan.class), Work::Native(make_transform(&plan.class, &plan.config).map_err(at)?))
        };
        Ok(MixedStage { name: Name::of(plan, class), transform, guard })
    }

    async fn guard(
        &self,
        guard: &GuardPlan,
        predicates: &mut Predicates,
        at: impl Fn(ConvertError) -> ConvertError,
    ) -> Result<Guard, OpenError> {
        let GuardPlan { predicate: plan, wanted } = guard;
        let name = Name::of(plan, self.catalog.full_name(&plan.class, PluginKind::Predicate).to_owned());
        let predicate = if !is_guest_predicate(plan, &self.catalog) {
            let made = make_predicate(&plan.class, &plan.config);
            Test::Native(made.map_err(|error| at(error.at(&format!("predicate `{}`", plan.alias))))?)
        } else if let Some(made) = predicates.get(&plan.alias) {
            Test::Guest(Arc::clone(made))
        } else {
            let made = self.plugins.predicate(self.task, plan, self.connector).await;
            let made = made.map_err(|error| name.failed("predicate", error))?;
            predicates.insert(plan.alias.clone(), Arc::clone(&made));
            Test::Guest(made)
        };
        Ok(Guard { name, predicate, wanted: *wanted })
    }
}
