//! What a configuration says of transforms and predicates, before any is made.

use bulkhead_model::RawConfig;
use bulkhead_model::config::{ConfigType, Typed};

use crate::convert::ConvertError;
use crate::ports::Aliased;

/// One of `transforms`, and what guards it.
pub(super) struct StagePlan {
    pub(super) transform: Aliased,
    pub(super) guard: Option<GuardPlan>,
}

/// Lets a record into a transform, or past it.
pub(super) struct GuardPlan {
    pub(super) predicate: Aliased,
    /// The answer that lets it in: false if negated.
    pub(super) wanted: bool,
}

/// `transforms` lists aliases, `transforms.<alias>.type` and what else begins so belongs to one; the same
/// with `predicates`.
pub(super) fn stages(config: &RawConfig) -> Result<Vec<StagePlan>, ConvertError> {
    let predicates = aliases(config, "predicates");
    let stages = aliases(config, "transforms").into_iter().map(|alias| {
        let stage = stage(&alias, config, &predicates);
        stage.map_err(|error| error.at(&format!("transform `{alias}`")))
    });
    stages.collect()
}

fn stage(alias: &str, all: &RawConfig, predicates: &[String]) -> Result<StagePlan, ConvertError> {
    let mut transform = aliased("transforms", alias, all)?;
    let own = &mut transform.config;
    let guard = match (own.remove("predicate"), own.remove("negate")) {
        (Some(predicate), negate) => Some(guard(predicate.trim(), negate.as_deref(), all, predicates)?),
        (None, Some(_)) => return Err(ConvertError::Config("`negate` needs a `predicate`".to_owned())),
        (None, None) => None,
    };
    Ok(StagePlan { transform, guard })
}

fn guard(alias: &str, negate: Option<&str>, all: &RawConfig, known: &[String]) -> Result<GuardPlan, ConvertError> {
    if !known.iter().any(|known| known == alias) {
        return Err(ConvertError::Config(format!("the predicate `{alias}` is not listed in `predicates`")));
    }
    let predicate = aliased("predicates", alias, all).map_err(|error| error.at(&format!("predicate `{alias}`")))?;
    Ok(GuardPlan { predicate, wanted: !is_true(negate)? })
}

fn aliased(list: &str, alias: &str, all: &RawConfig) -> Result<Aliased, ConvertError> {
    let mut config = all.with_prefix(&format!("{list}.{alias}."));
    let class = config.remove("type").ok_or_else(|| ConvertError::Config("`type` is missing".to_owned()))?;
    Ok(Aliased { alias: alias.to_owned(), class: class.trim().to_owned(), config })
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
