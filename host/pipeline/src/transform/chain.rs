//! All transforms of a connector, one after the other, each perhaps behind a predicate.

use bulkhead_model::RawConfig;
use bulkhead_model::config::{ConfigType, Typed};

use super::registry::{full_name, make_predicate, make_transform};
use super::{Predicate, Record, Transform};
use crate::convert::ConvertError;

/// What `transforms` and `predicates` of a configuration come to.
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

struct Stage {
    alias: String,
    class: String,
    transform: Box<dyn Transform>,
    guard: Option<Guard>,
}

/// Lets a record into a transform, or past it.
struct Guard {
    predicate: Box<dyn Predicate>,
    /// The answer that lets it in: false if negated.
    wanted: bool,
}

impl Chain {
    /// From a connector's configuration: `transforms` lists aliases, `transforms.<alias>.type` and what
    /// else begins so belongs to one; the same with `predicates`.
    pub fn new(config: &RawConfig) -> Result<Self, ConvertError> {
        let predicates = aliases(config, "predicates");
        let stages = aliases(config, "transforms").into_iter().map(|alias| {
            let own = config.with_prefix(&format!("transforms.{alias}."));
            let stage = Stage::new(alias.clone(), own, config, &predicates);
            stage.map_err(|error| error.at(&format!("transform `{alias}`")))
        });
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
}

impl Stage {
    /// `own` is the part of the configuration below the alias.
    fn new(alias: String, mut own: RawConfig, all: &RawConfig, predicates: &[String]) -> Result<Self, ConvertError> {
        let class = own.remove("type").ok_or_else(|| ConvertError::Config("`type` is missing".to_owned()))?;
        let (predicate, negate) = (own.remove("predicate"), own.remove("negate"));
        let guard = match (predicate, negate) {
            (Some(predicate), negate) => Some(Guard::new(&predicate, negate.as_deref(), all, predicates)?),
            (None, Some(_)) => return Err(ConvertError::Config("`negate` needs a `predicate`".to_owned())),
            (None, None) => None,
        };
        let transform = make_transform(class.trim(), &own)?;
        Ok(Self { alias, class: full_name(class.trim()), transform, guard })
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
    fn new(alias: &str, negate: Option<&str>, all: &RawConfig, known: &[String]) -> Result<Self, ConvertError> {
        let alias = alias.trim();
        if !known.iter().any(|known| known == alias) {
            return Err(ConvertError::Config(format!("the predicate `{alias}` is not listed in `predicates`")));
        }
        let mut own = all.with_prefix(&format!("predicates.{alias}."));
        let class = own.remove("type");
        let class = class.ok_or_else(|| ConvertError::Config(format!("predicate `{alias}`: `type` is missing")))?;
        let predicate = make_predicate(class.trim(), &own);
        let predicate = predicate.map_err(|error| error.at(&format!("predicate `{alias}`")))?;
        Ok(Self { predicate, wanted: !is_true(negate)? })
    }
}

fn is_true(negate: Option<&str>) -> Result<bool, ConvertError> {
    match ConfigType::Boolean.parse(negate.unwrap_or("false")) {
        Ok(Typed::Boolean(negate)) => Ok(negate),
        Ok(_) => Ok(false),
        Err(reason) => Err(ConvertError::Config(format!("`negate`: {reason}"))),
    }
}

/// The elements of a list, each once.
fn aliases(config: &RawConfig, key: &str) -> Vec<String> {
    let mut aliases = Vec::new();
    for alias in config.get(key).unwrap_or_default().split(',').map(str::trim) {
        if !alias.is_empty() && !aliases.iter().any(|other| other == alias) {
            aliases.push(alias.to_owned());
        }
    }
    aliases
}
