//! From a configuration to the transforms of a task.

use std::collections::HashMap;
use std::sync::Arc;

use bulkhead_model::plugin::{PluginCatalog, PluginKind, Unresolved};
use bulkhead_model::{RawConfig, TaskId};

use super::chain::{Chain, Stage};
use super::mixed::{Guard, GuestFailure, MixedChain, MixedStage, Name, Segment, Test, Work};
use super::plan::{self, GuardPlan, StagePlan};
use super::registry::{full_name, is_predicate, is_transform, make_predicate, make_transform};
use crate::convert::ConvertError;
use crate::ports::{Aliased, Plugins, PredicateTask};

/// All that a configuration says of transforms and predicates.
pub enum Transforms {
    /// Without guests.
    Native(Chain),
    Mixed(MixedChain),
}

/// Transforms can't be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransformsError {
    #[error("{0}")]
    Config(#[from] ConvertError),
    #[error("{0}")]
    Guest(#[from] GuestFailure),
}

impl Transforms {
    /// Makes the transforms of a task, each guest in an instance of its own; a predicate is shared by the
    /// transforms that it guards.
    pub async fn open(config: &RawConfig, task: &TaskId, plugins: &impl Plugins) -> Result<Self, TransformsError> {
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
    !is_transform(&plan.class) && is_installed(&plan.class, PluginKind::Transformation, catalog)
}

fn is_guest_predicate(plan: &Aliased, catalog: &PluginCatalog) -> bool {
    !is_predicate(&plan.class) && is_installed(&plan.class, PluginKind::Predicate, catalog)
}

/// Also if it isn't clear which is meant: the sandbox knows what to say then.
fn is_installed(class: &str, kind: PluginKind, catalog: &PluginCatalog) -> bool {
    catalog.resolve(class, &[kind]) != Err(Unresolved::Unknown)
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

    async fn stage(&self, stage: &StagePlan, predicates: &mut Predicates) -> Result<MixedStage, TransformsError> {
        let plan = &stage.transform;
        let at = |error: ConvertError| error.at(&format!("transform `{}`", plan.alias));
        let guard = match &stage.guard {
            Some(guard) => Some(self.guard(guard, predicates, at).await?),
            None => None,
        };
        let (class, transform) = if is_guest_transform(plan, &self.catalog) {
            let class = self.full_name(&plan.class, PluginKind::Transformation);
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
    ) -> Result<Guard, TransformsError> {
        let GuardPlan { predicate: plan, wanted } = guard;
        let name = Name::of(plan, self.full_name(&plan.class, PluginKind::Predicate));
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

    fn full_name(&self, class: &str, kind: PluginKind) -> String {
        let known = self.catalog.resolve(class, &[kind]);
        known.map_or_else(|_| class.to_owned(), |plugin| plugin.full_name(class).to_owned())
    }
}
